// Defines Credentials: what a request says about who sends it, kept fresh.
#pragma once

#include <optional>
#include <string>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/kube/client/config.h"
#include "lib/kube/client/exec_plugin.h"

namespace paceline::kube {

struct Identity {
  std::string authorization;  // The header's value; empty: none.
  FileOrData client_certificate, client_key;
};

// One owner at a time. Never blocks, but for reading a small file.
class Credentials {
 public:
  explicit Credentials(const Config& config);

  // Nothing: the plugin has to run (RunExecPlugin, elsewhere), then Adopt. Unauthenticated if a
  // token file cannot be read and never could. Both times are of now: the steady clock's decides
  // when to read again, the wall clock's whether a plugin's answer has expired.
  StatusOr<std::optional<Identity>> Current(Time steady, Time wall);
  void Adopt(ExecCredential credential);

  // After a 401: reads or runs again at the next Current. Whether that can help.
  bool Invalidate();

 private:
  StatusOr<std::string> Token(Time steady);

  const Config& config_;
  std::string token_;
  std::optional<Time> token_read_;
  std::optional<ExecCredential> exec_;
};

}  // namespace paceline::kube

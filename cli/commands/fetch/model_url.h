// Defines ModelServer: where a URL leads to that stands for the coordinator's plain port, and
// whether the job's token may be shown there (docs/adr/0092).
#pragma once

#include <string>

#include "lib/base/status.h"
#include "lib/kube/client/config.h"

namespace paceline::commands {

enum class PlainText {
  kOnThisMachine,  // What is shown over http does not leave loopback.
  kAnywhere,       // Whoever calls says that nobody listens in between.
};

struct ModelUrl {
  std::string url;                    // http or https, HOST[:PORT][/PATH].
  std::string certificate_authority;  // A file; empty: the system's.
  PlainText plain_text = PlainText::kOnThisMachine;
};

// A server that proves who it is, by a certificate of an authority that is trusted, or one of
// loopback, or, told so, any. InvalidArgument for what is no such URL, and for http to elsewhere;
// NotFound where the file of the authority cannot be read.
StatusOr<kube::Config> ModelServer(const ModelUrl& url);

}  // namespace paceline::commands

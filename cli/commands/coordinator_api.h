// Defines CoordinatorApi: asks a running job's coordinator, and tells it, wherever it runs.
#pragma once

#include <string>

#include "lib/base/status.h"
#include "lib/telemetry/http_get.h"

namespace paceline::commands {

// A value; thread-safe. Each way to find a coordinator is one function that makes it.
class CoordinatorApi {
 public:
  // Of the local run in `folder`. NotFound if there is no such run, or it has not begun to answer.
  static StatusOr<CoordinatorApi> OfRun(const std::string& folder);
  // The same, to change the job: shows the run's token, which its user alone can read. As OfRun's
  // errors, and AccessToken::Read's.
  static StatusOr<CoordinatorApi> ControlOfRun(const std::string& folder);
  // At http://HOST:PORT, or https://HOST:PORT with the operator's certificate in `tls_folder`,
  // which also tells the job: the coordinator must prove to be its parameter server.
  // InvalidArgument otherwise, and ReadTlsFolder's errors.
  static StatusOr<CoordinatorApi> OfUrl(const std::string& url, const std::string& tls_folder);

  // Errors are HttpSend's.
  StatusOr<std::string> Get(const std::string& path) const;
  Status Put(const std::string& path, const std::string& body) const;

 private:
  explicit CoordinatorApi(telemetry::HttpCall base) : base_(std::move(base)) {}

  telemetry::HttpCall base_;  // But for path, method and body.
};

// The newest run's folder under `runs`. NotFound if there is none.
StatusOr<std::string> NewestRun(const std::string& runs);

}  // namespace paceline::commands

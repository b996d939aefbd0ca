// Defines AccessToken: the secret that opens calls for which no certificate speaks.
//
// Example, in an answerer:
//   const AccessToken token("/paceline/token/token");
//   if (const Status welcome = token.Admit(request); !welcome.ok())
//     return HttpAnswer{.status = 403, .body = Message(welcome) + "\n"};
#pragma once

#include <string>
#include <string_view>

#include "lib/base/status.h"
#include "lib/telemetry/http_endpoint.h"

namespace paceline::telemetry {

inline constexpr const char* kTokenHeader = "X-Paceline-Token";
inline constexpr size_t kTokenBytesMin = 32;
inline constexpr size_t kTokenBytesMax = 4096;

// The token in a file: a mounted Secret, or one of a folder that is its user's alone. Immutable,
// thread-safe. The file is read again for each request: it may be replaced while the program runs.
class AccessToken {
 public:
  explicit AccessToken(std::string file) : file_(std::move(file)) {}

  // Whether `request` shows the token, as X-Paceline-Token or as Authorization: Bearer (which the
  // API server's proxy takes away). PermissionDenied if it shows none or another: the comparison
  // takes as long for a nearly right one as for any other of that length. Read's errors if the file
  // holds no token: nobody is let in then.
  Status Admit(const HttpRequest& request) const;

  // NotFound, naming the file, if it cannot be read; InvalidArgument if it holds no token:
  // kTokenBytesMin to kTokenBytesMax visible ASCII characters, with white space around them at
  // most.
  StatusOr<std::string> Read() const;

  const std::string& file() const { return file_; }

 private:
  std::string file_;
};

// A new token: 256 random bits as 64 hexadecimal digits. Unavailable if the system has none.
StatusOr<std::string> MakeToken();

// Makes `file` with the token in it, for its owner alone (0600). AlreadyExists if it is there:
// somebody else could be reading it. Unavailable, naming the file, if it cannot be written; none is
// left then.
Status WriteTokenFile(const std::string& file, std::string_view token);

}  // namespace paceline::telemetry

#include "lib/telemetry/access_token.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/random.h>
#include <unistd.h>

namespace paceline::telemetry {
namespace {

constexpr std::string_view kBearer = "Bearer ";
constexpr std::string_view kSpace = " \t\r\n";

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

bool IsToken(std::string_view text) {
  if (text.size() < kTokenBytesMin || text.size() > kTokenBytesMax) return false;
  for (const char letter : text) {
    if (letter <= ' ' || letter > '~') return false;
  }
  return true;
}

// Empty if there is none.
std::string_view Shown(const HttpRequest& request) {
  if (const auto found = request.headers.find("x-paceline-token"); found != request.headers.end())
    return Trimmed(found->second);
  const auto found = request.headers.find("authorization");
  if (found == request.headers.end()) return {};
  const std::string_view value = found->second;
  return value.starts_with(kBearer) ? Trimmed(value.substr(kBearer.size())) : std::string_view();
}

}  // namespace

Status AccessToken::Admit(const HttpRequest& request) const {
  PACELINE_ASSIGN_OR_RETURN(const std::string wanted, Read());
  const std::string_view shown = Shown(request);
  if (shown.empty()) {
    return PermissionDenied("{} {} needs a token: show it as {}", request.method, request.path,
                            kTokenHeader);
  }
  if (shown.size() != wanted.size() ||
      CRYPTO_memcmp(shown.data(), wanted.data(), wanted.size()) != 0) {
    return PermissionDenied("{} {}: the token is another one", request.method, request.path);
  }
  return OkStatus();
}

StatusOr<std::string> AccessToken::Read() const {
  errno = 0;
  std::ifstream file(file_, std::ios::binary);
  if (!file) return NotFound("cannot read the token {}: {}", file_, std::strerror(errno));
  std::stringstream text;
  text << file.rdbuf();
  const std::string whole = text.str();
  const std::string_view token = Trimmed(whole);
  if (IsToken(token)) return std::string(token);
  return InvalidArgument("{} holds no token: has {} bytes, want {} to {} visible characters", file_,
                         token.size(), kTokenBytesMin, kTokenBytesMax);
}

StatusOr<std::string> MakeToken() {
  std::array<unsigned char, 32> random{};
  if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
    return Unavailable("no random numbers: {}", std::strerror(errno));
  std::string token;
  for (const unsigned char byte : random) token += fmt::format("{:02x}", byte);
  return token;
}

Status WriteTokenFile(const std::string& file, std::string_view token) {
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    const int error = errno;
    if (error == EEXIST) return AlreadyExists("token file is there already: {}", file);
    return Unavailable("cannot write the token {}: {}", file, std::strerror(error));
  }
  const std::string line = std::string(token) + "\n";
  errno = ENOSPC;  // What a short write means.
  const bool is_written =
      write(descriptor, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  const int error = errno;
  close(descriptor);
  if (is_written) return OkStatus();
  unlink(file.c_str());
  return Unavailable("cannot write the token {}: {}", file, std::strerror(error));
}

}  // namespace paceline::telemetry

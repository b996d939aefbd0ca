#include "lib/kube/client/credentials.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "lib/base/base64.h"

namespace paceline::kube {
namespace {

constexpr Duration kTokenFilePeriod = Seconds(60);
constexpr Duration kExpiryMargin = Seconds(10);  // A request that is on its way must not be late.

std::string Trimmed(std::string text) {
  const size_t end = text.find_last_not_of(" \r\n\t");
  text.erase(end == std::string::npos ? 0 : end + 1);
  return text;
}

}  // namespace

Credentials::Credentials(const Config& config) : config_(config) {}

StatusOr<std::string> Credentials::Token(Time steady) {
  if (config_.token.file.empty()) return config_.token.data;
  if (token_read_ && steady - *token_read_ < kTokenFilePeriod) return token_;
  std::ifstream file;
  std::error_code ignored;  // A folder can be opened, and throws when it is read.
  if (!std::filesystem::is_directory(config_.token.file, ignored))
    file.open(config_.token.file, std::ios::binary);
  std::string text;
  if (file.is_open()) text = Trimmed(std::string(std::istreambuf_iterator<char>(file), {}));
  if (text.empty() && token_.empty()) {
    return Unauthenticated("token file cannot be read or is empty: {}", config_.token.file);
  }
  // Between two mounts of a projected token there may be none; the old one is still good.
  if (!text.empty()) token_ = std::move(text);
  token_read_ = steady;
  return token_;
}

StatusOr<std::optional<Identity>> Credentials::Current(Time steady, Time wall) {
  Identity identity{.client_certificate = config_.client_certificate,
                    .client_key = config_.client_key};
  std::string token;
  if (!config_.exec.command.empty()) {
    if (!exec_ || (exec_->expires && *exec_->expires - kExpiryMargin <= wall)) return std::nullopt;
    token = exec_->token;
    if (!exec_->client_certificate.empty()) {
      identity.client_certificate = {.data = exec_->client_certificate};
      identity.client_key = {.data = exec_->client_key};
    }
  } else {
    PACELINE_ASSIGN_OR_RETURN(token, Token(steady));
  }
  if (!token.empty()) {
    identity.authorization = "Bearer " + token;
  } else if (!config_.username.empty()) {
    identity.authorization = "Basic " + EncodeBase64(config_.username + ":" + config_.password);
  }
  return identity;
}

void Credentials::Adopt(ExecCredential credential) { exec_ = std::move(credential); }

bool Credentials::Invalidate() {
  if (!config_.exec.command.empty()) {
    exec_.reset();
    return true;
  }
  token_read_.reset();
  return !config_.token.file.empty();
}

}  // namespace paceline::kube

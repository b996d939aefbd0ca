#include "lib/base/base64.h"

#include <absl/strings/escaping.h>

namespace paceline {

std::string EncodeBase64(std::string_view bytes) {
  return absl::Base64Escape({bytes.data(), bytes.size()});
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  std::string bytes;
  if (!absl::Base64Unescape({text.data(), text.size()}, &bytes)) return std::nullopt;
  return bytes;
}

}  // namespace paceline

// Encodes bytes as base64 (RFC 4648, with padding) and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace paceline {

std::string EncodeBase64(std::string_view bytes);

// Nothing if `text` is not base64.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace paceline

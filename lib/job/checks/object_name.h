// Defines what names of Kubernetes' objects look like.
#pragma once

#include <string_view>

namespace paceline::job {

// RFC 1123. What most objects are named by: lower case letters, digits, '-' and '.', each part
// between dots beginning and ending with a letter or digit, 253 characters at most. Of a path, such
// as ../x, it is none.
bool IsObjectName(std::string_view name);

// A part of one: without dots, of whatever length.
bool IsDnsLabel(std::string_view name);

// IsObjectName as a schema says it, but for the length.
inline constexpr std::string_view kObjectNamePattern =
    "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

inline constexpr std::string_view kObjectNameRule =
    "must be the name of an object, lower case letters, digits, '-' and '.', 253 at most, each "
    "part between dots beginning and ending with a letter or digit";

inline constexpr std::string_view kLabelRule =
    "must be lower case letters, digits and '-', beginning and ending with a letter or digit";

}  // namespace paceline::job

#include "cli/local/references.h"

#include <algorithm>

namespace paceline::local {

std::string ExpandReferences(const std::string& text,
                             const std::vector<std::pair<std::string, std::string>>& variables) {
  std::string expanded;
  for (size_t at = 0; at < text.size(); ++at) {
    const char next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (text[at] != '$' || (next != '$' && next != '(')) {
      expanded += text[at];
      continue;
    }
    if (next == '$') {
      expanded += '$';
      ++at;
      continue;
    }
    const size_t end = text.find(')', at);
    if (end == std::string::npos) return expanded + text.substr(at);
    const std::string name = text.substr(at + 2, end - at - 2);
    const auto found = std::find_if(variables.rbegin(), variables.rend(),
                                    [&](const auto& variable) { return variable.first == name; });
    expanded += found == variables.rend() ? text.substr(at, end - at + 1) : found->second;
    at = end;
  }
  return expanded;
}

}  // namespace paceline::local

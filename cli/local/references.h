// Declares ExpandReferences: Kubernetes' $(NAME) in values and arguments of a container.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace paceline::local {

// Replaces $(NAME) by the variable of that name; $$ stands for $, and what names no variable stays
// as it is. Of two variables with one name the later counts.
std::string ExpandReferences(const std::string& text,
                             const std::vector<std::pair<std::string, std::string>>& variables);

}  // namespace paceline::local

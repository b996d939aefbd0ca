#include "lib/job/overrides.h"

#include <string>
#include <vector>

#include "lib/job/yaml.h"

namespace paceline::job {
namespace {

// Where the value goes, made if need be.
StatusOr<Node*> Descend(Node& root, std::string_view path, const std::vector<PathStep>& steps) {
  Node* node = &root;
  for (const PathStep& step : steps) {
    const auto wanted = step.index >= 0 ? Node::Kind::kList : Node::Kind::kMap;
    if (node->kind == Node::Kind::kNull) node->kind = wanted;
    if (node->kind != wanted) {
      return InvalidArgument("cannot set {}: what holds {} is not {} but {}", path,
                             step.index >= 0 ? fmt::format("[{}]", step.index) : step.key,
                             step.index >= 0 ? "a list" : "an object", Describe(*node));
    }
    if (step.index < 0) {
      node = &(*node)[step.key];
      continue;
    }
    const auto size = static_cast<int64_t>(node->elements.size());
    if (step.index > size) {
      return InvalidArgument("cannot set {}: index {} is beyond the list's end, which is {}", path,
                             step.index, size);
    }
    if (step.index == size) node->elements.emplace_back();
    node = &node->elements[step.index];
  }
  return node;
}

}  // namespace

Status ApplyOverride(Node& root, std::string_view override) {
  const size_t equals = override.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return InvalidArgument(
        "an override must be PATH=VALUE, such as spec.sync.scheme=SSP: got \"{}\"", override);
  }
  const std::string_view path = override.substr(0, equals);
  const std::vector<PathStep> steps = SplitPath(path);
  if (steps.empty()) {
    return InvalidArgument(
        "an override's path must look like spec.chaos.delays[0].seconds: got \"{}\"", path);
  }
  const std::string_view text = override.substr(equals + 1);
  if (text.find_first_not_of(' ') == std::string_view::npos) {
    return InvalidArgument(
        "override of {} has no value; null takes a field away, \"\" is an empty string", path);
  }
  Parsed parsed = ParseYaml(text);
  if (!parsed.errors.empty()) {
    return InvalidArgument("override of {}: {}: got \"{}\"", path, parsed.errors[0].message, text);
  }
  Node changed = root;
  PACELINE_ASSIGN_OR_RETURN(Node* const place, Descend(changed, path, steps));
  *place = std::move(parsed.root);
  root = std::move(changed);
  return OkStatus();
}

}  // namespace paceline::job

#include "lib/job/manifest/overrides.h"

#include <string>
#include <vector>

#include "lib/base/limits.h"
#include "lib/job/manifest/yaml.h"

namespace paceline::job {
namespace {

// Enough of it to know it by.
std::string Shortened(std::string_view text) {
  constexpr size_t kBytes = 200;
  if (text.size() <= kBytes) return std::string(text);
  return std::string(text.substr(0, kBytes)) + "...";
}

// Whether `steps` can be gone, with what is missing made.
Status CheckWay(const Node& root, std::string_view path, const std::vector<PathStep>& steps) {
  static const Node kAbsent;
  const Node* node = &root;
  for (const PathStep& step : steps) {
    const auto wanted = step.index >= 0 ? Node::Kind::kList : Node::Kind::kMap;
    if (node->kind != Node::Kind::kNull && node->kind != wanted) {
      return InvalidArgument("cannot set {}: what holds {} is not {} but {}", path,
                             step.index >= 0 ? fmt::format("[{}]", step.index) : step.key,
                             step.index >= 0 ? "a list" : "an object", Describe(*node));
    }
    if (step.index < 0) {
      const Node* const found = node->Find(step.key);
      node = found == nullptr ? &kAbsent : found;
      continue;
    }
    const auto size = static_cast<int64_t>(node->elements.size());
    if (step.index > size) {
      return InvalidArgument("cannot set {}: index {} is beyond the list's end, which is {}", path,
                             step.index, size);
    }
    node = step.index == size ? &kAbsent : &node->elements[step.index];
  }
  return OkStatus();
}

// Where the value goes, made if need be, on a way that was checked.
Node* Descend(Node& root, const std::vector<PathStep>& steps) {
  Node* node = &root;
  for (const PathStep& step : steps) {
    if (node->kind == Node::Kind::kNull)
      node->kind = step.index >= 0 ? Node::Kind::kList : Node::Kind::kMap;
    if (step.index < 0) {
      node = &(*node)[step.key];
      continue;
    }
    if (step.index == static_cast<int64_t>(node->elements.size())) node->elements.emplace_back();
    node = &node->elements[step.index];
  }
  return node;
}

// They are those of the override's own text, not of a manifest's.
void ForgetLines(Node& node) {
  node.line = 0;
  for (Node& element : node.elements) ForgetLines(element);
  for (Node::Member& member : node.members) {
    member.line = 0;
    ForgetLines(member.value);
  }
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
  if (steps.size() > limits::kManifestDepthMax) {
    return InvalidArgument("an override's path must have at most {} steps: got {}",
                           limits::kManifestDepthMax, steps.size());
  }
  const std::string_view text = override.substr(equals + 1);
  if (text.find_first_not_of(' ') == std::string_view::npos) {
    return InvalidArgument(
        "override of {} has no value; null takes a field away, \"\" is an empty string", path);
  }
  Parsed parsed = ParseYaml(text);
  if (!parsed.errors.empty()) {
    return InvalidArgument("override of {}: {}: got \"{}\"", path, parsed.errors[0].message,
                           Shortened(text));
  }
  PACELINE_RETURN_IF_ERROR(CheckWay(root, path, steps));
  ForgetLines(parsed.root);
  *Descend(root, steps) = std::move(parsed.root);
  return OkStatus();
}

}  // namespace paceline::job

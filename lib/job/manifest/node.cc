#include "lib/job/manifest/node.h"

#include <algorithm>

#include <fmt/format.h>

namespace paceline::job {

Node::Node() = default;
Node::Node(Kind k) : kind(k) {}
Node::Node(const Node&) = default;
Node::Node(Node&&) noexcept = default;
Node& Node::operator=(const Node&) = default;
Node& Node::operator=(Node&&) noexcept = default;
Node::~Node() = default;

Node Node::Bool(bool value) {
  Node node(Kind::kBool);
  node.boolean = value;
  return node;
}

Node Node::Integer(int64_t value) {
  Node node(Kind::kInteger);
  node.integer = value;
  return node;
}

Node Node::Float(double value) {
  Node node(Kind::kFloat);
  node.number = value;
  return node;
}

Node Node::String(std::string value) {
  Node node(Kind::kString);
  node.text = std::move(value);
  return node;
}

const Node* Node::Find(std::string_view key) const {
  for (const Member& member : members) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

Node* Node::Find(std::string_view key) {
  return const_cast<Node*>(static_cast<const Node*>(this)->Find(key));
}

Node& Node::operator[](std::string_view key) {
  if (Node* found = Find(key)) return *found;
  members.push_back({std::string(key), Node(), 0});
  return members.back().value;
}

namespace {

std::vector<const Node::Member*> ByKey(const std::vector<Node::Member>& members) {
  std::vector<const Node::Member*> sorted;
  sorted.reserve(members.size());
  for (const Node::Member& member : members) sorted.push_back(&member);
  std::sort(sorted.begin(), sorted.end(), [](const Node::Member* one, const Node::Member* other) {
    return one->key < other->key;
  });
  return sorted;
}

}  // namespace

bool operator==(const Node& a, const Node& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Node::Kind::kNull:
      return true;
    case Node::Kind::kBool:
      return a.boolean == b.boolean;
    case Node::Kind::kInteger:
      return a.integer == b.integer;
    case Node::Kind::kFloat:
      return a.number == b.number;
    case Node::Kind::kString:
      return a.text == b.text;
    case Node::Kind::kList:
      return a.elements == b.elements;
    case Node::Kind::kMap:
      break;
  }
  const std::vector<const Node::Member*> left = ByKey(a.members), right = ByKey(b.members);
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const Node::Member* one, const Node::Member* other) {
                      return one->key == other->key && one->value == other->value;
                    });
}

std::string Describe(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return "null";
    case Node::Kind::kBool:
      return node.boolean ? "true" : "false";
    case Node::Kind::kInteger:
      return fmt::format("{}", node.integer);
    case Node::Kind::kFloat:
      return fmt::format("{}", node.number);
    case Node::Kind::kString:
      return fmt::format("\"{}\"",
                         node.text.size() > 80 ? node.text.substr(0, 77) + "..." : node.text);
    case Node::Kind::kList:
      return "a list";
    case Node::Kind::kMap:
      return "an object";
  }
  return "";
}

namespace {

// Reads [12] or ["key"] at `at`, moving it past the bracket. False if malformed.
bool ReadBracket(std::string_view path, size_t& at, PathStep& step) {
  const size_t close = path[at + 1] == '"' ? path.find("\"]", at + 2) : path.find(']', at);
  if (close == std::string_view::npos) return false;
  if (path[at + 1] == '"') {
    step.key = path.substr(at + 2, close - at - 2);
    at = close + 2;
    return !step.key.empty();
  }
  const std::string_view digits = path.substr(at + 1, close - at - 1);
  if (digits.empty() || digits.size() > 6) return false;
  step.index = 0;
  for (char digit : digits) {
    if (digit < '0' || digit > '9') return false;
    step.index = step.index * 10 + (digit - '0');
  }
  at = close + 1;
  return true;
}

}  // namespace

std::vector<PathStep> SplitPath(std::string_view path) {
  std::vector<PathStep> steps;
  size_t at = 0;
  while (at < path.size()) {
    PathStep step;
    if (path[at] == '[') {
      if (at + 1 >= path.size() || steps.empty() || !ReadBracket(path, at, step)) return {};
    } else {
      if (!steps.empty()) {
        if (path[at] != '.') return {};
        ++at;
      }
      const size_t end = std::min(path.find_first_of(".[", at), path.size());
      step.key = path.substr(at, end - at);
      if (step.key.empty()) return {};
      at = end;
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

int LineOf(const Node& root, std::string_view path) {
  const Node* node = &root;
  int line = root.line;
  for (const PathStep& step : SplitPath(path)) {
    if (step.index >= 0) {
      if (step.index >= static_cast<int64_t>(node->elements.size())) return line;
      node = &node->elements[step.index];
      line = node->line;
      continue;
    }
    const auto member = std::find_if(node->members.begin(), node->members.end(),
                                     [&](const Node::Member& m) { return m.key == step.key; });
    if (member == node->members.end()) return line;
    line = member->line;
    node = &member->value;
  }
  return line;
}

}  // namespace paceline::job

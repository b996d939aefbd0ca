// Defines Node: a value of a manifest before it has a meaning, with the line it came from.
//
// YAML and JSON both become Nodes, overrides are applied to them, and what is opaque to us (pod
// templates) stays one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::job {

struct Node {
  enum class Kind { kNull, kBool, kInteger, kFloat, kString, kList, kMap };
  struct Member;

  // Defined where Member is complete.
  Node();
  explicit Node(Kind k);
  Node(const Node&);
  Node(Node&&) noexcept;
  Node& operator=(const Node&);
  Node& operator=(Node&&) noexcept;
  ~Node();

  static Node Bool(bool value);
  static Node Integer(int64_t value);
  static Node Float(double value);
  static Node String(std::string value);

  Kind kind = Kind::kNull;
  bool boolean = false;
  int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<Node> elements;   // kList.
  std::vector<Member> members;  // kMap, in the order of the text, each key once.
  int line = 0;                 // From 1; 0 for values that come from no text.

  // The value of `key`, or null if this is no map or has no such key.
  const Node* Find(std::string_view key) const;
  Node* Find(std::string_view key);
  // The value of `key`, appended as null if absent. Only for maps.
  Node& operator[](std::string_view key);
};

struct Node::Member {
  std::string key;
  Node value;
  int line = 0;  // Of the key.
};

// Equal meaning: lines and the order of keys do not count.
bool operator==(const Node& a, const Node& b);

// The value as one would say it in an error: 3, "three", true, null, a list, an object.
std::string Describe(const Node& node);

// The line of what `path` names, or of the nearest thing around it that exists.
int LineOf(const Node& root, std::string_view path);

// One part of a path: a key, or an index where the path says [3].
struct PathStep {
  std::string key;
  int64_t index = -1;  // >= 0: an index, and `key` is empty.
};

// Splits "spec.chaos.delays[0].seconds" or `metadata.labels["a.b/c"]`. Empty if the path is
// malformed.
std::vector<PathStep> SplitPath(std::string_view path);

}  // namespace paceline::job

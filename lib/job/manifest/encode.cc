#include "lib/job/manifest/encode.h"

#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "lib/base/json_text.h"
#include "lib/base/limits.h"
#include "lib/base/rfc3339.h"
#include "lib/job/manifest/fields.h"
#include "lib/job/manifest/shape.h"
#include "lib/job/manifest/size_check.h"
#include "lib/job/manifest/values/duration_field.h"
#include "lib/job/manifest/words.h"

namespace paceline::job {
namespace {

// Visits the fields of one object and writes them as a map.
class ObjectWriter {
 public:
  explicit ObjectWriter(Node& node) : node_(node) {}

  template <class T>
  void operator()(std::string_view name, T& value, const Note& note) {
    if constexpr (kIsOptional<T>) {
      if (!value.has_value()) return;
    }
    node_.members.push_back({std::string(name), Write(value, note), 0});
  }

  template <class T>
  static Node Write(T& value, const Note& note) {
    if constexpr (std::is_same_v<T, double>) {
      if (note.is_duration) return WriteDuration(value);
    }
    if constexpr (kIsOptional<T>) {
      return Write(*value, note);
    } else if constexpr (kIsList<T>) {
      Node list(Node::Kind::kList);
      for (auto& element : value) list.elements.push_back(Write(element, note));
      return list;
    } else if constexpr (kIsLeaf<T>) {
      return WriteLeaf(value);
    } else {
      Node map(Node::Kind::kMap);
      ObjectWriter writer(map);
      Fields(writer, value);
      if constexpr (std::is_same_v<T, Volume>) {
        for (const auto& [name, source] : value.others) map.members.push_back({name, source, 0});
      }
      return map;
    }
  }

 private:
  static Node WriteLeaf(int64_t value) { return Node::Integer(value); }
  static Node WriteLeaf(double value) { return Node::Float(value); }
  static Node WriteLeaf(bool value) { return Node::Bool(value); }
  static Node WriteLeaf(const std::string& value) { return Node::String(value); }
  static Node WriteLeaf(const Node& value) { return value; }
  static Node WriteLeaf(const QuorumField& value) {
    if (value.word) return Node::String(std::string(ToWord(*value.word)));
    return Node::Integer(value.workers);
  }
  static Node WriteLeaf(Time value) { return Node::String(FormatTime(value)); }
  static Node WriteLeaf(const StringMap& value) {
    Node map(Node::Kind::kMap);
    for (const auto& [key, text] : value) map.members.push_back({key, Node::String(text), 0});
    return map;
  }
  template <class E>
  requires std::is_enum_v<E>
  static Node WriteLeaf(E value) { return Node::String(std::string(ToWord(value))); }

  Node& node_;
};

// Fields takes its value by non-const reference, so that one function serves reading and writing.
template <class T>
Node WriteCopy(T value) {
  return ObjectWriter::Write(value, Note{});
}

}  // namespace

Node ToNode(const TrainingJob& job) {
  Node root = WriteCopy(job);
  root.members.insert(root.members.begin(),
                      {{"apiVersion", Node::String(std::string(kApiVersion)), 0},
                       {"kind", Node::String(std::string(kKind)), 0}});
  return root;
}

nlohmann::json ToJson(const TrainingJob& job) { return ToJson(ToNode(job)); }

nlohmann::json ToJson(const JobStatus& status) { return ToJson(WriteCopy(status)); }

nlohmann::json ToJson(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return nullptr;
    case Node::Kind::kBool:
      return node.boolean;
    case Node::Kind::kInteger:
      return node.integer;
    case Node::Kind::kFloat:
      return node.number;
    case Node::Kind::kString:
      return node.text;
    case Node::Kind::kList: {
      nlohmann::json list = nlohmann::json::array();
      for (const Node& element : node.elements) list.push_back(ToJson(element));
      return list;
    }
    case Node::Kind::kMap:
      break;
  }
  nlohmann::json map = nlohmann::json::object();
  for (const Node::Member& member : node.members) map[member.key] = ToJson(member.value);
  return map;
}

Node ToNode(const nlohmann::json& json) {
  if (json.is_boolean()) return Node::Bool(json.get<bool>());
  if (json.is_number_unsigned() &&
      json.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return Node::Float(static_cast<double>(json.get<uint64_t>()));
  }
  if (json.is_number_integer()) return Node::Integer(json.get<int64_t>());
  if (json.is_number_float()) return Node::Float(json.get<double>());
  if (json.is_string()) return Node::String(json.get<std::string>());
  if (json.is_array()) {
    Node list(Node::Kind::kList);
    for (const nlohmann::json& element : json) list.elements.push_back(ToNode(element));
    return list;
  }
  if (json.is_object()) {
    Node map(Node::Kind::kMap);
    for (const auto& [key, value] : json.items()) map.members.push_back({key, ToNode(value), 0});
    return map;
  }
  return Node();
}

Decoded FromJson(const nlohmann::json& json, UnknownFields unknown) {
  if (std::optional<FieldError> error = CheckSize(json)) return Decoded{{}, {*std::move(error)}};
  return Decode(ToNode(json), unknown);
}

Decoded FromJsonText(std::string_view text, UnknownFields unknown) {
  if (std::optional<FieldError> error = CheckLength(text, limits::kStoredJobBytesMax))
    return Decoded{{}, {*std::move(error)}};
  const nlohmann::json json = JsonOrNone(text);
  if (json.is_discarded()) return Decoded{{}, {{"", "not valid JSON", 0}}};
  return FromJson(json, unknown);
}

}  // namespace paceline::job

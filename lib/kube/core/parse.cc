#include "lib/kube/core/parse.h"

#include <simdjson.h>

namespace paceline::kube {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

// A parser keeps about 14 bytes for each of the largest text it has seen: one for more is not kept.
constexpr size_t kKeptBytesMax = 64 << 10;

template <class Wants>
Json BuildMembers(const element& source, const Wants& build);

// Everything below, as it is.
Json Build(const element& source, const Selection& selection) {
  switch (source.type()) {
    case element_type::OBJECT:
      return BuildMembers(source, [&](std::string_view name, const element& value, Json& to) {
        const Selection* const wanted = selection.Find(name);
        if (wanted != nullptr) to.emplace(name, Build(value, *wanted));
      });
    case element_type::ARRAY: {
      Json array = Json::array();
      const simdjson::dom::array values = source;
      for (const element value : values) array.push_back(Build(value, selection));
      return array;
    }
    case element_type::STRING:
      return Json(std::string_view(source));
    case element_type::INT64: {
      // As nlohmann's own parser has it: signed only where there is a sign.
      const int64_t number = int64_t(source);
      return number < 0 ? Json(number) : Json(static_cast<uint64_t>(number));
    }
    case element_type::UINT64:
      return Json(uint64_t(source));
    case element_type::DOUBLE:
      return Json(double(source));
    case element_type::BOOL:
      return Json(bool(source));
    case element_type::NULL_VALUE:
      return Json();
  }
  return Json();
}

template <class Wants>
Json BuildMembers(const element& source, const Wants& build) {
  Json object = Json::object();
  const simdjson::dom::object members = source;
  for (const auto member : members) build(member.key, member.value, object);
  return object;
}

Json BuildObject(const element& source, const Selection& selection) {
  if (!source.is_object()) return Build(source, {});
  return BuildMembers(source, [&](std::string_view name, const element& value, Json& to) {
    const Selection* const wanted = selection.Find(name);
    if (wanted == nullptr) return;
    if (name != "metadata" || !value.is_object()) {
      to.emplace(name, Build(value, *wanted));
      return;
    }
    to.emplace(name, BuildMembers(value, [&](std::string_view field, const element& of, Json& in) {
                 const Selection* const below =
                     field == "managedFields" ? nullptr : wanted->Find(field);
                 if (below != nullptr) in.emplace(field, Build(of, *below));
               }));
  });
}

Json BuildItems(const element& source, const Selection& selection) {
  Json items = Json::array();
  const simdjson::dom::array elements = source;
  for (const element item : elements) items.push_back(BuildObject(item, selection));
  return items;
}

// The member that holds what this is an envelope of: "object", "items", or none.
template <class Has>
std::string_view Content(const Has& has) {
  if (has("kind")) return has("items") ? "items" : "";
  return has("object") ? "object" : has("items") ? "items" : "";
}

Json BuildMessage(const element& source, const Selection& selection) {
  const std::string_view content = Content([&](std::string_view name) {
    return source.is_object() && source.at_key(name).error() == simdjson::SUCCESS;
  });
  if (content.empty()) return BuildObject(source, selection);
  return BuildMembers(source, [&](std::string_view name, const element& value, Json& to) {
    if (name == content && value.is_array()) {
      to.emplace(name, BuildItems(value, selection));
    } else {
      to.emplace(name, name == content ? BuildObject(value, selection) : Build(value, {}));
    }
  });
}

// What simdjson does not take: bad text, whose fault is to be named, and what is legal but beyond
// it, such as integers of more than 64 bits and deep nesting.
StatusOr<Json> ParseSlowly(std::string_view text, const Selection& selection) {
  PACELINE_ASSIGN_OR_RETURN(Json message, ParseJson(text));
  const std::string_view content =
      Content([&](std::string_view name) { return message.is_object() && message.contains(name); });
  const auto trim = [&](Json& object) {
    if (!object.is_object()) return;
    Keep(object, selection);
    if (const auto metadata = object.find("metadata");
        metadata != object.end() && metadata->is_object())
      metadata->erase("managedFields");
  };
  if (content.empty()) {
    trim(message);
  } else if (Json& held = message[std::string(content)]; held.is_array()) {
    for (Json& object : held) trim(object);
  } else {
    trim(held);
  }
  return message;
}

}  // namespace

struct MessageParser::State {
  simdjson::dom::parser parser;
};

MessageParser::MessageParser() = default;
MessageParser::MessageParser(MessageParser&&) noexcept = default;
MessageParser& MessageParser::operator=(MessageParser&&) noexcept = default;
MessageParser::~MessageParser() = default;

StatusOr<Json> MessageParser::Parse(std::string_view text, const Selection& selection) {
  if (state_ == nullptr || state_->parser.capacity() > kKeptBytesMax)
    state_ = std::make_unique<State>();
  element root;
  if (state_->parser.parse(text.data(), text.size()).get(root) != simdjson::SUCCESS)
    return ParseSlowly(text, selection);
  return BuildMessage(root, selection);
}

StatusOr<Json> ParseMessage(std::string_view text, const Selection& selection) {
  return MessageParser().Parse(text, selection);
}

}  // namespace paceline::kube

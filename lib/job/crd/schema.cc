#include "lib/job/crd/schema.h"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "lib/base/check.h"
#include "lib/job/checks/object_name.h"
#include "lib/job/crd/rules.h"
#include "lib/job/manifest/encode.h"
#include "lib/job/manifest/fields.h"
#include "lib/job/manifest/shape.h"
#include "lib/job/manifest/values/duration_field.h"
#include "lib/job/manifest/values/duration_text.h"

namespace paceline::job {
namespace {

using Json = nlohmann::ordered_json;

// Status is written whole by one writer: a default there would be a claim that nobody made.
enum class Part { kSpec, kStatus };

constexpr std::string_view kOpen = "x-kubernetes-preserve-unknown-fields";

Json OpaqueObject() { return {{"type", "object"}, {kOpen, true}}; }

Json Text(std::string_view description) {
  return {{"description", description}, {"type", "string"}};
}

// Of a pod template, what Paceline relies on; the rest is the API server's to judge when the pod is
// made.
Json PodTemplateSchema() {
  Json container = OpaqueObject();
  container["required"] = {"name"};
  container["properties"] = {{"name", Text("ps, worker or evaluator for Paceline's own")}};
  Json spec = OpaqueObject();
  spec["description"] =
      "as in a pod; containers ps, worker and evaluator are Paceline's and "
      "created if absent";
  spec["properties"] = {
      {"restartPolicy", Text("Never, or left out: every restart is Paceline's")},
      {"containers",
       {{"description",
         "as in a pod; of Paceline's own container image, resources, environment, "
         "probes and security context are yours where you say so"},
        {"type", "array"},
        {"items", container}}}};
  Json metadata = OpaqueObject();
  metadata["description"] = "labels and annotations of the pods";
  metadata["properties"] = {
      {"labels",
       {{"description", "labels of the pods; those that Paceline finds them by are laid over them"},
        {"type", "object"},
        {"additionalProperties", {{"type", "string"}}}}}};
  return {{"type", "object"}, {"properties", {{"metadata", metadata}, {"spec", spec}}}};
}

Json Typed(std::string_view type) { return {{"type", type}}; }

Json Typed(std::string_view type, const char* key, Json value) {
  Json schema = Typed(type);
  schema[key] = std::move(value);
  return schema;
}

template <class T>
Json TypeOf() {
  if constexpr (std::is_same_v<T, int64_t>) {
    return Typed("integer", "format", "int64");
  } else if constexpr (std::is_same_v<T, double>) {
    return Typed("number");
  } else if constexpr (std::is_same_v<T, bool>) {
    return Typed("boolean");
  } else if constexpr (std::is_enum_v<T>) {
    return Typed("string", "enum", Words(T{}));
  } else if constexpr (std::is_same_v<T, std::string>) {
    return Typed("string");
  } else if constexpr (std::is_same_v<T, Time>) {
    return Typed("string", "format", "date-time");
  } else if constexpr (std::is_same_v<T, QuorumField>) {
    return {{"anyOf", {{{"type", "integer"}}, {{"type", "string"}}}},
            {"x-kubernetes-int-or-string", true},
            {"pattern", fmt::format("^({})$", fmt::join(Words(QuorumWord{}), "|"))},
            {"maxLength", 3}};
  } else if constexpr (std::is_same_v<T, StringMap>) {
    return Typed("object", "additionalProperties", Typed("string"));
  } else {
    return OpaqueObject();
  }
}

template <class T>
void AddBounds(const Note& note, Json& schema) {
  if constexpr (kIsNumber<T> || std::is_same_v<T, QuorumField>) {
    const auto add = [&](const char* name, const std::optional<double>& bound) {
      if (!bound) return;
      if constexpr (std::is_same_v<T, double>) {
        schema[name] = *bound;
      } else {
        schema[name] = static_cast<int64_t>(*bound);
      }
    };
    add("minimum", note.min ? note.min : note.above);
    if (note.above) schema["exclusiveMinimum"] = true;
    add("maximum", note.max ? note.max : note.below);
    if (note.below) schema["exclusiveMaximum"] = true;
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (note.min) schema["minLength"] = 1;
    if (note.max) schema["maxLength"] = static_cast<int64_t>(*note.max);
    if (note.is_object_name) schema["pattern"] = kObjectNamePattern;
  }
}

// A whole number or a text, whose bounds are a rule.
template <class T>
Json DurationSchema(const T& value, const Note& note) {
  Json schema = {{"anyOf", {{{"type", "integer"}}, {{"type", "string"}}}},
                 {"x-kubernetes-int-or-string", true},
                 {"pattern", DurationPattern()},
                 {"minLength", kDurationBytesMin},
                 {"maxLength", kDurationBytesMax}};
  AddBounds<int64_t>(note, schema);
  schema["default"] = ToJson(WriteDuration(static_cast<double>(value)));
  std::vector<std::string> rules, words;
  const auto add = [&](std::string_view relation, std::string_view word,
                       const std::optional<double>& bound) {
    if (!bound) return;
    const std::string text = FormatDuration(NearestDuration(*bound));
    rules.push_back(fmt::format("duration(self) {} duration('{}')", relation, text));
    words.push_back(fmt::format("{} {}", word, text));
  };
  add(">=", "at least", note.min);
  add(">", "more than", note.above);
  add("<=", "at most", note.max);
  add("<", "less than", note.below);
  constexpr Grain kGrain = std::is_same_v<T, int64_t> ? Grain::kWholeSeconds : Grain::kNanoseconds;
  if (kGrain == Grain::kWholeSeconds) {  // An int of a duration is its nanoseconds.
    rules.push_back("int(duration(self)) % 1000000000 == 0");
  }
  schema["x-kubernetes-validations"] = Json::array(
      {{{"rule", fmt::format("type(self) != string || {}", fmt::join(rules, " && "))},
        {"message", fmt::format("must be {}: {}", DurationForm(kGrain), fmt::join(words, ", "))}}});
  return schema;
}

template <class T>
Json DefaultOf(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return ToWord(value);
  } else {
    return value;
  }
}

// Written out, although the API server would fill {}: rules are tried on the default as it stands.
Json DefaultsBelow(const Json& schema) {
  Json defaults = Json::object();
  for (const auto& [name, field] : schema["properties"].items()) {
    if (field.contains("default")) defaults[name] = field["default"];
  }
  return defaults;
}

class SchemaWriter {
 public:
  SchemaWriter(Part part, Json& object) : part_(part), object_(object) {}

  template <class T>
  void operator()(std::string_view name, T& value, const Note& note) {
    Add(name, note, Schema(value, name, note));
  }

 private:
  // What does not depend on the field's type is no template: a schema of each would be compiled.
  void Add(std::string_view name, const Note& note, const Json& of_type) {
    Json schema = {{"description", Description(note)}};
    schema.update(of_type);
    if (note.mutability == kImmutable) {
      schema["x-kubernetes-validations"].push_back(
          {{"rule", "self == oldSelf"}, {"message", "cannot change once the job exists"}});
    }
    object_["properties"][std::string(name)] = std::move(schema);
    if (note.presence == kRequired) object_["required"].push_back(name);
  }

  static Json ListOfItems(Json items, const Note& note) {
    items.erase("default");
    Json schema = Typed("array");
    if (note.items_max) schema["maxItems"] = *note.items_max;
    schema["items"] = std::move(items);
    return schema;
  }

  static void HoldOneSource(Json& schema) {
    schema[std::string(kOpen)] = true;
    schema["minProperties"] = 1;
    schema["maxProperties"] = 1;
  }

  void AddDefaults(const Note& note, Json& schema) const {
    if (part_ == Part::kSpec && note.presence != kRequired && !note.stays_absent &&
        !schema.contains("required"))
      schema["default"] = DefaultsBelow(schema);
  }

  static std::string Description(const Note& note) {
    return std::string(note.text) + (note.is_duration ? "; seconds, or a duration like 1h30m" : "");
  }

  template <class T>
  Json Schema(T& value, std::string_view name, const Note& note) {
    if constexpr (kIsNumber<T>) {
      if (note.is_duration) return DurationSchema(value, note);
    }
    if constexpr (kIsOptional<T>) {
      typename OptionalOf<T>::Type absent{};
      Json schema = Schema(absent, name, note);
      schema.erase("default");
      return schema;
    } else if constexpr (kIsList<T>) {
      typename ListOf<T>::Type element{};
      return ListOfItems(Schema(element, name, note), note);
    } else if constexpr (std::is_same_v<T, Node>) {
      return name == "template" ? PodTemplateSchema() : OpaqueObject();
    } else if constexpr (kIsLeaf<T>) {
      Json schema = TypeOf<T>();
      AddBounds<T>(note, schema);
      if constexpr (!std::is_same_v<T, Time> && !std::is_same_v<T, StringMap> &&
                    !std::is_same_v<T, QuorumField>) {
        if (part_ == Part::kSpec && note.presence != kRequired)
          schema["default"] = DefaultOf(value);
      }
      return schema;
    } else {
      return Object(value, note);
    }
  }

  template <class T>
  Json Object(T& value, const Note& note) {
    Json schema = Typed("object");
    if constexpr (std::is_same_v<T, Volume>) HoldOneSource(schema);  // Of whatever kind.
    SchemaWriter below(part_, schema);
    Fields(below, value);
    AddDefaults(note, schema);
    return schema;
  }

  const Part part_;
  Json& object_;
};

// The schema below `path`, such as "spec.chaos.delays[].kind".
Json& Find(Json& root, std::string_view path) {
  Json* found = &root;
  while (!path.empty()) {
    const std::string_view step = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(path.size(), step.size() + 1));
    const bool is_element = step.ends_with("[]");
    const std::string name(is_element ? step.substr(0, step.size() - 2) : step);
    PACELINE_CHECK(found->contains("properties") && (*found)["properties"].contains(name),
                   "no such field: {}", step);
    found = &(*found)["properties"][name];
    if (is_element) found = &(*found)["items"];
  }
  return *found;
}

template <class T>
Json PartSchema(Part part, std::string_view description) {
  Json schema = {{"description", description}, {"type", "object"}};
  SchemaWriter writer(part, schema);
  T value;
  Fields(writer, value);
  return schema;
}

}  // namespace

Json OpenApiSchema() {
  Json root = {
      {"description", "A PyTorch model that is trained data-parallel."},
      {"type", "object"},
      {"required", {"spec"}},
      {"properties",
       {{"apiVersion", Text("the version of this schema")},
        {"kind", Text("TrainingJob, as in every manifest of one")},
        {"metadata",
         {{"type", "object"},
          {"properties", {{"name", {{"type", "string"}, {"maxLength", kNameMax}}}}}}},
        {"spec", PartSchema<JobSpec>(Part::kSpec,
                                     "what is wanted: model, data, processes and how they train")},
        {"status", PartSchema<JobStatus>(Part::kStatus, "what is; written by Paceline alone")}}}};
  for (const ListKey& list : kListKeys) {
    Json& schema = Find(root, list.path);
    schema["x-kubernetes-list-type"] = "map";
    schema["x-kubernetes-list-map-keys"] = Json::array({list.key});
  }
  for (const Rule& rule : Rules()) {
    Json json = {{"rule", rule.rule}, {"message", rule.message}};
    if (!rule.got.empty()) {
      json["messageExpression"] =
          "\"" + std::string(rule.message) + ": got \" + " + std::string(rule.got);
    }
    if (!rule.field.empty()) json["fieldPath"] = "." + std::string(rule.field);
    Find(root, rule.path)["x-kubernetes-validations"].push_back(std::move(json));
  }
  return root;
}

}  // namespace paceline::job

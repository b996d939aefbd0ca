#include "lib/job/manifest/decode.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/rfc3339.h"
#include "lib/job/manifest/error_list.h"
#include "lib/job/manifest/fields.h"
#include "lib/job/manifest/known_names.h"
#include "lib/job/manifest/shape.h"
#include "lib/job/manifest/values/duration_field.h"
#include "lib/job/manifest/values/duration_text.h"
#include "lib/job/manifest/words.h"

namespace paceline::job {
namespace {

struct Errors : ErrorList {
  UnknownFields unknown = UnknownFields::kRefuse;
  std::vector<std::string> ignored;
};

void Fail(Errors& errors, const std::string& path, const Node& node, std::string_view right) {
  errors.Add({path, fmt::format("must be {}: got {}", right, Describe(node)), node.line});
}

void Read(const Node& node, const std::string& path, int64_t& value, Errors& errors) {
  constexpr double kExact = 9007199254740992.0;  // Up to here each whole number has its own double.
  if (node.kind == Node::Kind::kInteger) {
    value = node.integer;
  } else if (node.kind == Node::Kind::kFloat && std::trunc(node.number) == node.number &&
             std::abs(node.number) <= kExact) {
    value = static_cast<int64_t>(node.number);
  } else {
    Fail(errors, path, node, "a whole number");
  }
}

void Read(const Node& node, const std::string& path, double& value, Errors& errors) {
  if (node.kind == Node::Kind::kInteger) {
    value = static_cast<double>(node.integer);
  } else if (node.kind == Node::Kind::kFloat && std::isfinite(node.number)) {
    value = node.number;
  } else {
    Fail(errors, path, node, "a number");
  }
}

void Read(const Node& node, const std::string& path, bool& value, Errors& errors) {
  if (node.kind != Node::Kind::kBool) return Fail(errors, path, node, "true or false");
  value = node.boolean;
}

void Read(const Node& node, const std::string& path, std::string& value, Errors& errors) {
  if (node.kind == Node::Kind::kString) {
    value = node.text;
  } else if (node.kind == Node::Kind::kList || node.kind == Node::Kind::kMap) {
    Fail(errors, path, node, "a string");
  } else {
    Fail(errors, path, node, "a string (put it into quotes)");
  }
}

void Read(const Node& node, const std::string& path, Time& value, Errors& errors) {
  const std::optional<Time> time =
      node.kind == Node::Kind::kString ? ParseTime(node.text) : std::nullopt;
  if (!time) return Fail(errors, path, node, "a time such as \"2026-01-31T09:30:00Z\"");
  value = *time;
}

void Read(const Node& node, const std::string& path, StringMap& value, Errors& errors) {
  if (node.kind != Node::Kind::kMap) return Fail(errors, path, node, "an object");
  for (const Node::Member& member : node.members) {
    Read(member.value, Join(path, member.key), value[member.key], errors);
  }
}

void Read(const Node& node, const std::string& path, Node& value, Errors& errors) {
  if (node.kind != Node::Kind::kMap) return Fail(errors, path, node, "an object");
  value = node;
}

void Read(const Node& node, const std::string& path, QuorumField& value, Errors& errors) {
  if (node.kind == Node::Kind::kString) {
    value.word = FromWord<QuorumWord>(node.text);
    if (value.word) return;
  } else if (node.kind == Node::Kind::kInteger) {
    value.workers = node.integer;
    return;
  }
  Fail(errors, path, node, "All, DBW or a whole number");
}

template <class E>
requires std::is_enum_v<E>
void Read(const Node& node, const std::string& path, E& value, Errors& errors) {
  const auto words = Words(E{});
  if (node.kind == Node::Kind::kString) {
    if (const std::optional<E> found = FromWord<E>(node.text)) {
      value = *found;
      return;
    }
    const std::string_view near =
        errors.IsFull() ? std::string_view() : NearestName(node.text, words);
    if (!near.empty()) {
      errors.Add({path,
                  fmt::format("must be one of {}: got {}; did you mean {}?", fmt::join(words, ", "),
                              Describe(node), near),
                  node.line});
      return;
    }
  }
  Fail(errors, path, node, fmt::format("one of {}", fmt::join(words, ", ")));
}

template <class T>
void ReadObject(const Node& node, const std::string& path, T& value, Errors& errors);

// A field of time.
template <class T>
void ReadSeconds(const Node& node, const std::string& path, T& value, Errors& errors) {
  if (IsWholeNumber(node)) return Read(node, path, value, errors);
  constexpr bool kIsWhole = std::is_same_v<T, int64_t>;
  const StatusOr<Duration> read =
      ReadDuration(node, kIsWhole ? Grain::kWholeSeconds : Grain::kNanoseconds);
  if (!read.ok()) return errors.Add({path, Message(read.status()), node.line});
  value = static_cast<T>(SecondsOf(*read));
}

template <class T>
void ReadAny(const Node& node, const std::string& path, T& value, const Note& note,
             Errors& errors) {
  if constexpr (kIsNumber<T>) {
    if (note.is_duration) return ReadSeconds(node, path, value, errors);
  }
  if constexpr (kIsOptional<T>) {
    ReadAny(node, path, value.emplace(), note, errors);
  } else if constexpr (kIsList<T>) {
    if (node.kind != Node::Kind::kList) return Fail(errors, path, node, "a list");
    value.clear();
    for (size_t i = 0; i < node.elements.size(); ++i) {
      ReadAny(node.elements[i], fmt::format("{}[{}]", path, i), value.emplace_back(), note, errors);
    }
  } else if constexpr (kIsLeaf<T>) {
    Read(node, path, value, errors);
  } else {
    ReadObject(node, path, value, errors);
  }
}

// Visits the fields of one object: reads those that are there and remembers all names.
class ObjectReader {
 public:
  ObjectReader(const Node& node, const std::string& path, Errors& errors)
      : node_(node), path_(path), errors_(errors) {}

  template <class T>
  void operator()(std::string_view name, T& value, const Note& note) {
    names_.push_back(name);
    const Node* found = node_.Find(name);
    if (found != nullptr && found->kind != Node::Kind::kNull) {
      ReadAny(*found, Join(path_, name), value, note, errors_);
    } else if (note.presence == Presence::kRequired) {
      errors_.Add({Join(path_, name), fmt::format("is required: {}", note.text), node_.line});
    }
  }

  // Reads what is none of the fields as objects that are opaque to us.
  void TakeUnknown(std::map<std::string, Node>& others) {
    for (const Node::Member& member : node_.members) {
      const bool is_field = std::find(names_.begin(), names_.end(), member.key) != names_.end();
      if (is_field || member.value.kind == Node::Kind::kNull) continue;
      Read(member.value, Join(path_, member.key), others[member.key], errors_);
    }
  }

  void RefuseUnknown(std::span<const std::string_view> ignored) {
    for (const Node::Member& member : node_.members) {
      const auto is_it = [&](std::string_view name) { return name == member.key; };
      if (std::any_of(names_.begin(), names_.end(), is_it)) continue;
      if (std::any_of(ignored.begin(), ignored.end(), is_it)) continue;
      if (errors_.unknown == UnknownFields::kIgnore) {
        if (errors_.ignored.size() < limits::kManifestErrorsMax)
          errors_.ignored.push_back(Join(path_, member.key));
        continue;
      }
      std::string hint = errors_.IsFull() ? "" : Hint(member.key);
      errors_.Add({Join(path_, member.key), "is not known; " + std::move(hint), member.line});
    }
  }

 private:
  std::string Hint(const std::string& key) const {
    if (const std::string_view near = NearestName(key, names_); !near.empty()) {
      return fmt::format("did you mean {}?", Join(path_, near));
    }
    std::vector<std::string> elsewhere = PathsEndingIn(key);
    const auto is_below = [&](const std::string& path) { return path.starts_with(path_ + "."); };
    if (std::any_of(elsewhere.begin(), elsewhere.end(), is_below))
      std::erase_if(elsewhere, std::not_fn(is_below));
    if (!elsewhere.empty() && elsewhere.size() <= 3) {
      return fmt::format("did you mean {}?", fmt::join(elsewhere, " or "));
    }
    const std::string known = fmt::format("known here: {}", fmt::join(names_, ", "));
    return path_.empty() ? known : fmt::format("known in {}: {}", path_, fmt::join(names_, ", "));
  }

  const Node& node_;
  const std::string& path_;
  Errors& errors_;
  std::vector<std::string_view> names_;
};

template <class T>
void ReadObject(const Node& node, const std::string& path, T& value, Errors& errors) {
  if (node.kind != Node::Kind::kMap) return Fail(errors, path, node, "an object");
  ObjectReader reader(node, path, errors);
  Fields(reader, value);
  if constexpr (std::is_same_v<T, Metadata>) {
    reader.RefuseUnknown(kIgnoredMetadata);
  } else if constexpr (std::is_same_v<T, TrainingJob>) {
    constexpr std::string_view kHeader[] = {"apiVersion", "kind"};
    reader.RefuseUnknown(kHeader);
  } else if constexpr (std::is_same_v<T, Volume>) {
    reader.TakeUnknown(value.others);
  } else {
    reader.RefuseUnknown({});
  }
}

void CheckHeader(const Node& root, std::string_view name, std::string_view wanted, Errors& errors) {
  const Node* found = root.Find(name);
  if (found == nullptr || found->kind == Node::Kind::kNull) {
    errors.Add({std::string(name), fmt::format("is required: {}", wanted), root.line});
  } else if (found->kind != Node::Kind::kString || found->text != wanted) {
    Fail(errors, std::string(name), *found, wanted);
  }
}

std::string DescribeMember(const Node& root, std::string_view name) {
  const Node* found = root.Find(name);
  return found == nullptr ? "nothing" : Describe(*found);
}

}  // namespace

StringMap DecodeTexts(const Node& node, const std::string& path, std::vector<FieldError>& errors) {
  StringMap texts;
  Errors found;
  Read(node, path, texts, found);
  for (FieldError& error : found.Take()) errors.push_back(std::move(error));
  return texts;
}

Decoded Decode(const Node& root, UnknownFields unknown) {
  Decoded decoded;
  if (root.kind != Node::Kind::kMap) {
    decoded.errors.push_back(
        {"",
         fmt::format(
             "a manifest must be an object with apiVersion, kind, metadata and spec: got {}",
             Describe(root)),
         root.line});
    return decoded;
  }
  Errors errors;
  errors.unknown = unknown;
  CheckHeader(root, "apiVersion", kApiVersion, errors);
  CheckHeader(root, "kind", kKind, errors);
  if (errors.size() == 2) {  // Another kind of object, whose fields would all be unknown.
    const std::string message = fmt::format(
        "not a TrainingJob: apiVersion must be {} and kind {}: got {} and {}", kApiVersion, kKind,
        DescribeMember(root, "apiVersion"), DescribeMember(root, "kind"));
    decoded.errors = {{"", message, root.line}};
    return decoded;
  }
  ReadObject(root, "", decoded.job, errors);
  decoded.errors = errors.Take();
  decoded.ignored = std::move(errors.ignored);
  return decoded;
}

}  // namespace paceline::job

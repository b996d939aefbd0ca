#include <string>

#include <fmt/format.h>

#include "lib/job/checks/checks.h"
#include "lib/job/checks/object_name.h"
#include "lib/job/manifest/fields.h"
#include "lib/job/manifest/shape.h"
#include "lib/job/manifest/values/duration_field.h"

namespace paceline::job {
namespace {

class BoundsChecker {
 public:
  BoundsChecker(std::string path, Findings& findings)
      : path_(std::move(path)), findings_(findings) {}

  template <class T>
  void operator()(std::string_view name, T& value, const Note& note) {
    Check(Join(path_, name), value, note);
  }

 private:
  template <class T>
  void Check(const std::string& path, T& value, const Note& note) {
    if constexpr (kIsOptional<T>) {
      if (value) Check(path, *value, note);
    } else if constexpr (kIsList<T>) {
      if (note.items_max && value.size() > *note.items_max) {
        findings_.Add(path, fmt::format("must have at most {} elements: got {}", *note.items_max,
                                        value.size()));
      }
      for (size_t i = 0; i < value.size(); ++i)
        Check(fmt::format("{}[{}]", path, i), value[i], note);
    } else if constexpr (kIsNumber<T>) {
      CheckNumber(path, value, note);
    } else if constexpr (std::is_same_v<T, QuorumField>) {
      if (!value.word) CheckNumber(path, value.workers, note);
    } else if constexpr (std::is_same_v<T, std::string>) {
      CheckText(path, value, note);
    } else if constexpr (!kIsLeaf<T>) {
      BoundsChecker below(path, findings_);
      Fields(below, value);
    }
  }

  template <class T>
  void CheckNumber(const std::string& path, T value, const Note& note) {
    const auto number = static_cast<double>(value);
    if (note.min && number < *note.min) {
      AddNumber(path, "at least", *note.min, value, note);
    } else if (note.max && number > *note.max) {
      AddNumber(path, "at most", *note.max, value, note);
    } else if (note.above && number <= *note.above) {
      AddNumber(path, "more than", *note.above, value, note);
    } else if (note.below && number >= *note.below) {
      AddNumber(path, "less than", *note.below, value, note);
    }
  }

  template <class T>
  void AddNumber(const std::string& path, std::string_view relation, double bound, T value,
                 const Note& note) {
    std::string got = fmt::format("{}", value);
    if constexpr (std::is_same_v<T, double>) {
      if (note.is_duration) got = Shown(WriteDuration(value));
    }
    findings_.Add(path, fmt::format("must be {} {}{}: got {}", relation, bound,
                                    note.is_duration ? "s" : "", got));
  }

  // As it stands in a manifest.
  static std::string Shown(const Node& node) {
    return node.kind == Node::Kind::kString ? node.text : Describe(node);
  }

  void CheckText(const std::string& path, const std::string& text, const Note& note) {
    if (note.min && text.empty()) {
      findings_.Add(path, "must not be empty");
    } else if (note.max && static_cast<double>(text.size()) > *note.max) {
      findings_.Add(
          path, fmt::format("must be at most {} characters long: got {}", *note.max, text.size()));
    } else if (note.is_object_name && !IsObjectName(text)) {
      findings_.Add(path, fmt::format("{}: got {}", kObjectNameRule, Describe(Node::String(text))));
    }
  }

  std::string path_;
  Findings& findings_;
};

}  // namespace

void CheckBounds(const TrainingJob& job, Findings& findings) {
  TrainingJob copy = job;  // Fields takes its value by non-const reference.
  BoundsChecker checker("", findings);
  Fields(checker, copy);
}

}  // namespace paceline::job

#include "lib/job/crd/docs_table.h"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/job/manifest/fields.h"
#include "lib/job/manifest/shape.h"

namespace paceline::job {
namespace {

constexpr std::string_view kPageIntroduction =
    "# TrainingJob, field by field\n"
    "\n"
    "`apiVersion: paceline.dev/v1alpha1`, `kind: TrainingJob`. This page is written from the "
    "program's own notes on its\n"
    "fields (`lib/job/manifest/fields/`); a test keeps it so. An empty default means that the "
    "field is "
    "absent unless given;\n"
    "*required* ones must be given where their object is. Fields marked *fixed* cannot change once "
    "the job exists; `spec.output` and the\n"
    "volumes of `spec.checkpoint` only while it is suspended: pods that run would keep the old "
    "ones, "
    "and pods that are made\n"
    "again get the new ones.\n"
    "*Seconds or duration*: a whole number of seconds, or a duration such as `1h30m`, `90s`, "
    "`1.5h` or `500ms`: hours, minutes,\n"
    "seconds and milliseconds in this order, each at most once and with up to six decimals. A "
    "number with a fraction is refused:\n"
    "instead of `0.5` write `500ms`. *Whole seconds or duration*: the same, and a duration must "
    "come to whole seconds.\n"
    "In a pod template null means that a field is left out, of what Paceline would fill in too; a "
    "template's\n"
    "fields go before the cluster's defaults "
    "([kubernetes.md](kubernetes.md#defaults-for-all-jobs)).\n"
    "A complete manifest with comments: `deploy/samples/digits.yaml`.\n"
    "\n"
    "What the conditions in its status mean and when they change: [conditions.md](conditions.md).\n"
    "\n"
    "Rules between fields are checked by `paceline validate`, which reports all errors at once, "
    "and "
    "on a cluster by the\n"
    "API server (`deploy/crd/trainingjobs.yaml`). Blocks of schemes, optimizers and schedules "
    "other than the "
    "chosen one are kept and\n"
    "ignored, so that a scheme can be tried by changing one word; a block that nobody wrote has "
    "all its\n"
    "defaults, and an API server does not store it.\n";

template <class T>
std::string TypeInWords() {
  if constexpr (kIsOptional<T>) {
    return TypeInWords<typename OptionalOf<T>::Type>();
  } else if constexpr (kIsList<T>) {
    return "list of " + TypeInWords<typename ListOf<T>::Type>();
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return "whole number";
  } else if constexpr (std::is_same_v<T, double>) {
    return "number";
  } else if constexpr (std::is_same_v<T, bool>) {
    return "true, false";
  } else if constexpr (std::is_enum_v<T>) {
    return fmt::format("{}", fmt::join(Words(T{}), ", "));
  } else if constexpr (std::is_same_v<T, std::string>) {
    return "string";
  } else if constexpr (std::is_same_v<T, QuorumField>) {
    return fmt::format("{} or whole number", fmt::join(Words(QuorumWord{}), ", "));
  } else if constexpr (std::is_same_v<T, Time>) {
    return "time";
  } else if constexpr (std::is_same_v<T, StringMap>) {
    return "strings by name";
  } else {
    return "object";
  }
}

template <class T>
std::string TypeInWords(const Note& note) {
  if (!note.is_duration) return TypeInWords<T>();
  const std::string number = TypeInWords<T>();
  return number == TypeInWords<int64_t>() ? "whole seconds or duration" : "seconds or duration";
}

template <class T>
std::string DefaultInWords(const T& value) {
  if constexpr (kIsNumber<T>) {
    return fmt::format("{}", value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(ToWord(value));
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value;
  } else {
    return "";
  }
}

std::string BoundsOf(const Note& note, bool is_text) {
  std::vector<std::string> bounds;
  if (is_text) {
    if (note.min) bounds.push_back("not empty");
    if (note.max) bounds.push_back(fmt::format("<= {} characters", *note.max));
    if (note.is_object_name) bounds.emplace_back("name of an object");
    return fmt::format("{}", fmt::join(bounds, ", "));
  }
  if (note.items_max) bounds.push_back(fmt::format("at most {}", *note.items_max));
  if (note.min) bounds.push_back(fmt::format(">= {}", *note.min));
  if (note.above) bounds.push_back(fmt::format("> {}", *note.above));
  if (note.max) bounds.push_back(fmt::format("<= {}", *note.max));
  if (note.below) bounds.push_back(fmt::format("< {}", *note.below));
  return fmt::format("{}", fmt::join(bounds, ", "));
}

template <class T>
inline constexpr bool kIsText =
    std::is_same_v<T, std::string> || std::is_same_v<T, std::optional<std::string>>;

// Appends a row for each field of an object and of the objects below.
class RowWriter {
 public:
  RowWriter(std::string path, std::string& page, Mutability around)
      : path_(std::move(path)), page_(page), around_(around) {}

  template <class T>
  void operator()(std::string_view name, T& value, const Note& note) {
    const std::string path = Join(path_, name);
    const Mutability mutability = around_ == kImmutable ? kImmutable : note.mutability;
    const std::string fallback = note.presence == kRequired ? "*required*" : DefaultInWords(value);
    page_ += fmt::format("| `{}` | {} | {} | {} | {}{} |\n", path, TypeInWords<T>(note), fallback,
                         BoundsOf(note, kIsText<T>), note.text,
                         mutability == kImmutable ? "; *fixed*" : "");
    Below<T>(path, mutability);
  }

 private:
  template <class T>
  void Below(const std::string& path, Mutability mutability) {
    if constexpr (kIsOptional<T>) {
      Below<typename OptionalOf<T>::Type>(path, mutability);
    } else if constexpr (kIsList<T>) {
      Below<typename ListOf<T>::Type>(path + "[]", mutability);
    } else if constexpr (!kIsLeaf<T>) {
      RowWriter below(path, page_, mutability);
      T value;
      Fields(below, value);
    }
  }

  std::string path_;
  std::string& page_;
  Mutability around_;
};

// One section for each field of metadata, spec or status that has fields of its own; one table for
// the rest.
template <class T>
void WriteSection(std::string_view title, const std::string& path, std::string& page,
                  Mutability around) {
  page += fmt::format(
      "\n## {}\n\n| Field | Type | Default | Bounds | Meaning |\n|---|---|---|---|---|\n", title);
  RowWriter writer(path, page, around);
  T value;
  Fields(writer, value);
}

class SectionWriter {
 public:
  explicit SectionWriter(std::string& page) : page_(page) {}

  template <class T>
  void operator()(std::string_view name, T&, const Note& note) {
    const std::string path = Join("spec", name);
    const std::string title =
        fmt::format("{}: {}{}", path, note.text, note.mutability == kImmutable ? " (fixed)" : "");
    if constexpr (kIsOptional<T>) {
      WriteSection<typename OptionalOf<T>::Type>(title, path, page_, note.mutability);
    } else {
      WriteSection<T>(title, path, page_, note.mutability);
    }
  }

 private:
  std::string& page_;
};

}  // namespace

std::string DocsPage() {
  std::string page(kPageIntroduction);
  WriteSection<Metadata>("metadata", "metadata", page, Mutability::kMutable);
  SectionWriter sections(page);
  JobSpec spec;
  Fields(sections, spec);
  WriteSection<JobStatus>("status: what is; written by Paceline alone", "status", page,
                          Mutability::kMutable);
  return page;
}

}  // namespace paceline::job

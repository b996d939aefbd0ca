// Defines Note: what is said about a field of the manifest, once, for everybody who needs to know.
//
// Every struct of the manifest has, in its namespace,
//   template <class V> void Fields(V& visit, T& value)
// which calls visit(name, member, Note) for each field in the order of the docs. Decoder, encoder,
// bounds check, docs table and CRD skeleton are visitors. A field's default is not in its note: it
// is the member's value in a T{}.
#pragma once

#include <optional>
#include <string_view>

namespace paceline::job {

enum class Presence { kOptional, kRequired };
enum class Mutability { kMutable, kImmutable };

struct Note {
  std::string_view text;  // What the field means; no full stop at its end.
  Presence presence = Presence::kOptional;
  Mutability mutability = Mutability::kMutable;  // After creation. Holds for all below the field.
  std::optional<double> min;    // The smallest number; the shortest string; of lists, each element.
  std::optional<double> max;    // The same, largest.
  std::optional<double> above;  // A bound that is itself too small.
  std::optional<double> below;  // A bound that is itself too large.
  std::optional<size_t> items_max;  // The longest list.
  // Of a number: a time in seconds, which may be written as a duration too (duration_field.h).
  bool is_duration = false;
  // Of a text: the name of an object of the cluster (lib/job/checks/object_name.h).
  bool is_object_name = false;
  // Of a block that most jobs have no use for, such as the knobs of one choice among several: where
  // nobody wrote it, an API server leaves it absent, which means all its defaults (docs/adr/0021).
  bool stays_absent = false;
};

inline constexpr Presence kRequired = Presence::kRequired;
inline constexpr Mutability kImmutable = Mutability::kImmutable;

// Bounds that keep arithmetic on a job's numbers far from overflow.
inline constexpr double kCountMax = 1e9;
inline constexpr double kSecondsMax = 1e9;  // About 31 years.
inline constexpr double kProcessesMax = 10000;
inline constexpr double kThreadsMax = 1024;
inline constexpr size_t kGroupsMax = 32;
inline constexpr size_t kCommandMax = 256;  // Words of a command line.
inline constexpr size_t kPatternsMax = 64;
inline constexpr double kPatternMax = 200;
inline constexpr double kGroupNameMax = 30;
inline constexpr double kMetricMax = 63;
inline constexpr double kTensorNameMax = 200;
inline constexpr size_t kInputsMax = 16;
inline constexpr double kPathMax = 4096;  // Linux' PATH_MAX.

}  // namespace paceline::job

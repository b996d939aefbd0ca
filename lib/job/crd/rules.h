// Defines what of the CustomResourceDefinition is written by hand: rules between fields in CEL,
// keys of lists, the name's length. Everything else follows from the fields' notes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace paceline::job {

// A rule that one of lib/job's checks, or ValidateChange, has too; a test feeds both the same
// manifests.
struct Rule {
  std::string_view path;      // Of the schema that it stands at: "spec.workers", "" for the top.
  std::string_view field;     // Below `path`: the field to blame; empty: the object.
  std::string_view rule;      // CEL over `self`, true where all is well; of changes, `oldSelf` too.
  std::string_view message;   // What would be right; fixed words.
  std::string_view got = {};  // CEL text: the words found. Numbers as text cost too much.
};
std::span<const Rule> Rules();

struct ListKey {
  std::string_view path;
  std::string_view key;
};
inline constexpr ListKey kListKeys[] = {{"spec.workers.groups", "name"},
                                        {"status.conditions", "type"},
                                        {"status.workers", "name"},
                                        {"status.workerGroups", "name"},
                                        {"status.avoidedNodes", "name"}};

// The longest name that leaves room for "-evaluator" in a pod's name of 63 characters.
inline constexpr int64_t kNameMax = 53;

}  // namespace paceline::job

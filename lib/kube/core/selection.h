// Defines Selection: which parts of an object are worth reading.
//
// Example:
//   const Selection of_pods({"/metadata", "/spec/nodeName", "/status/containerStatuses/state"});
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "lib/kube/core/json.h"

namespace paceline::kube {

// A value like a string. Immutable once it is made: any thread may read it.
class Selection {
 public:
  Selection() = default;  // Everything.
  // What these JSON pointers name, with everything below it. A pointer goes through an array into
  // each of its elements: it names no index. "" among them selects everything.
  Selection(std::initializer_list<std::string_view> pointers);

  bool IsEverything() const { return members_.empty(); }
  // What is wanted of the member of this name; nullptr if it is not wanted at all.
  const Selection* Find(std::string_view member) const;

 private:
  void Add(std::string_view pointer);

  std::map<std::string, Selection, std::less<>> members_;  // Empty: everything.
};

// Drops from a value all that is not selected.
void Keep(Json& value, const Selection& selection);

}  // namespace paceline::kube

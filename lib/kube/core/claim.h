// Judges which objects a controller that selects by labels may call its own.
//
// Example:
//   switch (JudgeClaim(owner, selector, *pod)) {
//     case Claim::kAdopt:    // Read `owner` from the server first: it may be going, or be another
//     one. case Claim::kRelease:  // Its labels were changed: somebody wants to look at it in
//     peace.
//     ...
//   }
#pragma once

#include <string_view>

#include "lib/kube/core/json.h"
#include "lib/kube/core/label_selector.h"

namespace paceline::kube {

enum class Claim {
  kOwned,    // Ours, and the labels match.
  kAdopt,    // Nobody's, and the labels match.
  kRelease,  // Ours, but the labels match no longer.
  kForeign,  // Another controller's, or the labels do not match.
};
std::string_view ToString(Claim claim);  // "owned", "adopt", "release", "foreign"

// `owner` is the object as last read, with its uid. Nothing that is being deleted is adopted, and
// an owner that is being deleted adopts nothing. An empty selector claims nothing.
Claim JudgeClaim(const Json& owner, const LabelSelector& selector, const Json& object);

}  // namespace paceline::kube

#include "lib/kube/core/claim.h"

#include "lib/kube/core/metadata.h"
#include "lib/kube/core/owner_reference.h"

namespace paceline::kube {

std::string_view ToString(Claim claim) {
  switch (claim) {
    case Claim::kOwned:
      return "owned";
    case Claim::kAdopt:
      return "adopt";
    case Claim::kRelease:
      return "release";
    case Claim::kForeign:
      break;
  }
  return "foreign";
}

Claim JudgeClaim(const Json& owner, const LabelSelector& selector, const Json& object) {
  const bool matches = !selector.IsEmpty() && Namespace(owner) == Namespace(object) &&
                       selector.Matches(Labels(object));
  const std::optional<OwnerReference> controller = ControllerOf(object);
  if (controller) {
    if (controller->uid != Uid(owner)) return Claim::kForeign;
    return matches ? Claim::kOwned : Claim::kRelease;
  }
  const bool may_adopt = matches && !IsBeingDeleted(owner) && !IsBeingDeleted(object);
  return may_adopt ? Claim::kAdopt : Claim::kForeign;
}

}  // namespace paceline::kube

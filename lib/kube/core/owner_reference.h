// Defines OwnerReference: who an object belongs to, and is deleted with.
//
// Example:
//   PACELINE_RETURN_IF_ERROR(SetController(owner, pod));
//   const std::optional<OwnerReference> controller = ControllerOf(pod);
//   if (controller && controller->uid == Uid(owner)) { ... }
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/kube/core/json.h"

namespace paceline::kube {

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;
  bool block_owner_deletion = false;
  friend bool operator==(const OwnerReference&, const OwnerReference&) = default;
};

// To `owner` as its controller, which blocks its foreground deletion. `owner` has apiVersion, kind,
// name and uid.
OwnerReference ControllerReference(const Json& owner);

Json ToJson(const OwnerReference& reference);
std::vector<OwnerReference> OwnerReferences(const Json& object);
std::optional<OwnerReference> ControllerOf(const Json& object);
bool IsControlledBy(const Json& object, const std::string& owner_uid);

// Makes `owner` the controller of `object`; no change if it is already. FailedPrecondition if
// another object is, InvalidArgument if `owner` has no uid or lives in another namespace; `object`
// is then unchanged.
Status SetController(const Json& owner, Json& object);

// Takes away the reference to the owner with that uid; whether there was one.
bool RemoveOwner(Json& object, const std::string& owner_uid);

}  // namespace paceline::kube

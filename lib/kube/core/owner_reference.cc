#include "lib/kube/core/owner_reference.h"

#include "lib/kube/core/metadata.h"

namespace paceline::kube {
namespace {

OwnerReference FromJson(const Json& reference) {
  return {.api_version = StringAt(reference, "/apiVersion"),
          .kind = StringAt(reference, "/kind"),
          .name = StringAt(reference, "/name"),
          .uid = StringAt(reference, "/uid"),
          .controller = IsTrueAt(reference, "/controller"),
          .block_owner_deletion = IsTrueAt(reference, "/blockOwnerDeletion")};
}

const Json* Controller(const Json& object) {
  const Json* const references = Find(object, "/metadata/ownerReferences");
  if (references == nullptr || !references->is_array()) return nullptr;
  for (const Json& reference : *references) {
    if (IsTrueAt(reference, "/controller")) return &reference;
  }
  return nullptr;
}

}  // namespace

OwnerReference ControllerReference(const Json& owner) {
  return {.api_version = StringAt(owner, "/apiVersion"),
          .kind = StringAt(owner, "/kind"),
          .name = Name(owner),
          .uid = Uid(owner),
          .controller = true,
          .block_owner_deletion = true};
}

Json ToJson(const OwnerReference& reference) {
  Json json = {{"apiVersion", reference.api_version},
               {"kind", reference.kind},
               {"name", reference.name},
               {"uid", reference.uid}};
  if (reference.controller) json["controller"] = true;
  if (reference.block_owner_deletion) json["blockOwnerDeletion"] = true;
  return json;
}

std::vector<OwnerReference> OwnerReferences(const Json& object) {
  std::vector<OwnerReference> references;
  const Json* found = Find(object, "/metadata/ownerReferences");
  if (found == nullptr || !found->is_array()) return references;
  for (const Json& reference : *found) references.push_back(FromJson(reference));
  return references;
}

std::optional<OwnerReference> ControllerOf(const Json& object) {
  const Json* const reference = Controller(object);
  if (reference == nullptr) return std::nullopt;
  return FromJson(*reference);
}

bool IsControlledBy(const Json& object, const std::string& owner_uid) {
  const Json* const reference = Controller(object);
  return reference != nullptr && StringAt(*reference, "/uid") == owner_uid;
}

Status SetController(const Json& owner, Json& object) {
  const OwnerReference wanted = ControllerReference(owner);
  if (wanted.uid.empty() || wanted.kind.empty() || wanted.api_version.empty()) {
    return InvalidArgument("owner lacks apiVersion, kind or uid: {}", KeyOf(owner));
  }
  if (!Namespace(owner).empty() && Namespace(owner) != Namespace(object)) {
    return InvalidArgument("owner is in another namespace: {} cannot own {}", KeyOf(owner),
                           KeyOf(object));
  }
  if (const std::optional<OwnerReference> controller = ControllerOf(object)) {
    if (controller->uid == wanted.uid) return OkStatus();
    return FailedPrecondition("{} is controlled by another object: {} {} {}", KeyOf(object),
                              controller->kind, controller->name, controller->uid);
  }
  RemoveOwner(object, wanted.uid);
  Json& references = object["metadata"]["ownerReferences"];
  if (!references.is_array()) references = Json::array();
  references.push_back(ToJson(wanted));
  return OkStatus();
}

bool RemoveOwner(Json& object, const std::string& owner_uid) {
  const Json* found = Find(object, "/metadata/ownerReferences");
  if (found == nullptr || !found->is_array()) return false;
  Json kept = Json::array();
  for (const Json& reference : *found) {
    if (StringAt(reference, "/uid") != owner_uid) kept.push_back(reference);
  }
  if (kept.size() == found->size()) return false;
  object["metadata"]["ownerReferences"] = std::move(kept);
  return true;
}

}  // namespace paceline::kube

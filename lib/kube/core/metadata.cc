#include "lib/kube/core/metadata.h"

#include <algorithm>

#include "lib/base/rfc3339.h"

namespace paceline::kube {
namespace {

constexpr char kLastApplied[] = "kubectl.kubernetes.io/last-applied-configuration";

StringMap StringsAt(const Json& object, std::string_view pointer) {
  StringMap strings;
  const Json* found = Find(object, pointer);
  if (found == nullptr || !found->is_object()) return strings;
  for (const auto& [key, value] : found->items()) {
    if (value.is_string()) strings.emplace(key, value.get<std::string>());
  }
  return strings;
}

std::string EntryAt(const Json& object, std::string_view pointer, const std::string& name) {
  const Json* found = Find(object, pointer);
  if (found == nullptr || !found->is_object()) return "";
  const auto entry = found->find(name);
  return entry != found->end() && entry->is_string() ? entry->get<std::string>() : "";
}

// The member as an object, whatever it was before.
Json& ObjectAt(Json& parent, const char* name) {
  if (!parent.is_object()) parent = Json::object();
  Json& member = parent[name];
  if (!member.is_object()) member = Json::object();
  return member;
}

Json* Finalizers(Json& object) { return const_cast<Json*>(Find(object, "/metadata/finalizers")); }

}  // namespace

ObjectKey KeyOf(const Json& object) { return {Namespace(object), Name(object)}; }
std::string Name(const Json& object) { return StringAt(object, "/metadata/name"); }
std::string Namespace(const Json& object) { return StringAt(object, "/metadata/namespace"); }
std::string Uid(const Json& object) { return StringAt(object, "/metadata/uid"); }
std::string ResourceVersion(const Json& object) {
  return StringAt(object, "/metadata/resourceVersion");
}
int64_t Generation(const Json& object) { return IntegerAt(object, "/metadata/generation"); }
StringMap Labels(const Json& object) { return StringsAt(object, "/metadata/labels"); }
StringMap Annotations(const Json& object) { return StringsAt(object, "/metadata/annotations"); }
std::string Label(const Json& object, const std::string& name) {
  return EntryAt(object, "/metadata/labels", name);
}
std::string Annotation(const Json& object, const std::string& name) {
  return EntryAt(object, "/metadata/annotations", name);
}
std::optional<Time> CreationTime(const Json& object) {
  return ParseTime(StringAt(object, "/metadata/creationTimestamp"));
}
std::optional<Time> DeletionTime(const Json& object) {
  return ParseTime(StringAt(object, "/metadata/deletionTimestamp"));
}
bool IsBeingDeleted(const Json& object) {
  return !StringAt(object, "/metadata/deletionTimestamp").empty();
}

void SetLabel(Json& object, const std::string& name, const std::string& value) {
  ObjectAt(ObjectAt(object, "metadata"), "labels")[name] = value;
}
void SetAnnotation(Json& object, const std::string& name, const std::string& value) {
  ObjectAt(ObjectAt(object, "metadata"), "annotations")[name] = value;
}

bool HasFinalizer(const Json& object, std::string_view finalizer) {
  const Json* finalizers = Find(object, "/metadata/finalizers");
  return finalizers != nullptr && finalizers->is_array() &&
         std::find(finalizers->begin(), finalizers->end(), finalizer) != finalizers->end();
}

bool AddFinalizer(Json& object, const std::string& finalizer) {
  if (HasFinalizer(object, finalizer)) return false;
  Json& finalizers = ObjectAt(object, "metadata")["finalizers"];
  if (!finalizers.is_array()) finalizers = Json::array();
  finalizers.push_back(finalizer);
  return true;
}

bool RemoveFinalizer(Json& object, std::string_view finalizer) {
  if (!HasFinalizer(object, finalizer)) return false;
  Json& finalizers = *Finalizers(object);
  finalizers.erase(std::remove(finalizers.begin(), finalizers.end(), finalizer), finalizers.end());
  return true;
}

void DropManagedFields(Json& object) {
  if (!object.is_object()) return;
  const auto metadata = object.find("metadata");
  if (metadata == object.end() || !metadata->is_object()) return;
  metadata->erase("managedFields");
  const auto annotations = metadata->find("annotations");
  if (annotations == metadata->end() || !annotations->is_object()) return;
  annotations->erase(kLastApplied);
  if (annotations->empty()) metadata->erase("annotations");
}

}  // namespace paceline::kube

// Reads and writes metadata of objects held as JSON.
//
// Absent fields read as empty; nothing here throws, whatever the object looks like.
//
// Example:
//   if (IsBeingDeleted(object) && HasFinalizer(object, "example.com/cleanup")) { ... }
//   SetLabel(pod, "app.kubernetes.io/name", "digits");
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/time.h"
#include "lib/kube/core/json.h"
#include "lib/kube/core/object_key.h"

namespace paceline::kube {

using StringMap = std::map<std::string, std::string>;

ObjectKey KeyOf(const Json& object);
std::string Name(const Json& object);
std::string Namespace(const Json& object);
std::string Uid(const Json& object);
std::string ResourceVersion(const Json& object);  // Opaque: compare for equality only.
int64_t Generation(const Json& object);
StringMap Labels(const Json& object);
StringMap Annotations(const Json& object);
std::string Label(const Json& object, const std::string& name);       // "" where absent.
std::string Annotation(const Json& object, const std::string& name);  // "" where absent.
std::optional<Time> CreationTime(const Json& object);                 // From the Unix epoch.
std::optional<Time> DeletionTime(const Json& object);
bool IsBeingDeleted(const Json& object);

void SetLabel(Json& object, const std::string& name, const std::string& value);
void SetAnnotation(Json& object, const std::string& name, const std::string& value);

bool HasFinalizer(const Json& object, std::string_view finalizer);
// Whether that changed the object.
bool AddFinalizer(Json& object, const std::string& finalizer);
bool RemoveFinalizer(Json& object, std::string_view finalizer);

// Drops `metadata.managedFields` and kubectl's last-applied annotation, often half of an object.
void DropManagedFields(Json& object);

}  // namespace paceline::kube

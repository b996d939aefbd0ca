#include "operator/objects/metadata.h"

#include <cstdint>

#include <fmt/format.h>

#include "operator/objects/names.h"

namespace paceline::controller {
namespace {

// FNV-1a, 64 bits: the same on every machine and in every version.
uint64_t Hash(std::string_view text) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

const Json* Find(const Json& object, std::initializer_list<std::string_view> path) {
  const Json* at = &object;
  for (const std::string_view key : path) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(std::string(key));
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at;
}

}  // namespace

Json OwnerReference(const job::TrainingJob& job) {
  return {
      {"apiVersion", job::kApiVersion},       {"kind", job::kKind}, {"name", job.metadata.name},
      {"uid", job.metadata.uid.value_or("")}, {"controller", true}, {"blockOwnerDeletion", true}};
}

Json ChildMetadata(const job::TrainingJob& job, const std::string& name,
                   const std::map<std::string, std::string>& labels) {
  return {{"name", name},
          {"namespace", job.metadata.name_space},
          {"labels", labels},
          {"ownerReferences", Json::array({OwnerReference(job)})}};
}

bool IsControlledBy(const Json& object, const std::string& uid) {
  const Json* owners = Find(object, {"metadata", "ownerReferences"});
  if (uid.empty() || owners == nullptr || !owners->is_array()) return false;
  for (const Json& owner : *owners) {
    if (!owner.is_object() || !owner.value("controller", false)) continue;
    return owner.value("uid", "") == uid;
  }
  return false;
}

void MarkWanted(Json& object) {
  Json& annotations = object["metadata"]["annotations"];
  if (!annotations.is_object()) annotations = Json::object();
  annotations.erase(std::string(kWantedAnnotation));
  annotations[std::string(kWantedAnnotation)] = fmt::format("{:016x}", Hash(object.dump()));
}

bool IsAsWanted(const Json& existing, const Json& wanted) {
  const std::string key(kWantedAnnotation);
  const Json* is = Find(existing, {"metadata", "annotations", key});
  const Json* should = Find(wanted, {"metadata", "annotations", key});
  return is != nullptr && should != nullptr && *is == *should;
}

}  // namespace paceline::controller

#include "operator/objects/metadata.h"

#include <fmt/format.h>

#include "lib/base/hash.h"
#include "lib/base/json_text.h"
#include "lib/kube/core/metadata.h"
#include "lib/kube/core/owner_reference.h"
#include "operator/objects/names.h"

namespace paceline::controller {

Json OwnerReference(const job::TrainingJob& job) {
  return kube::ToJson(kube::OwnerReference{.api_version = std::string(job::kApiVersion),
                                           .kind = std::string(job::kKind),
                                           .name = job.metadata.name,
                                           .uid = job.metadata.uid.value_or(""),
                                           .controller = true,
                                           .block_owner_deletion = true});
}

Json ChildMetadata(const job::TrainingJob& job, const std::string& name,
                   const std::map<std::string, std::string>& labels) {
  return {{"name", name},
          {"namespace", job.metadata.name_space},
          {"labels", labels},
          {"ownerReferences", Json::array({OwnerReference(job)})}};
}

bool IsControlledBy(const Json& object, const std::string& uid) {
  return !uid.empty() && kube::IsControlledBy(object, uid);
}

void MarkWanted(Json& object) {
  Json& annotations = object["metadata"]["annotations"];
  if (!annotations.is_object()) annotations = Json::object();
  annotations.erase(std::string(kWantedAnnotation));
  annotations[std::string(kWantedAnnotation)] = fmt::format("{:016x}", HashText(JsonText(object)));
}

bool IsAsWanted(const Json& existing, const Json& wanted) {
  const std::string should = kube::Annotation(wanted, std::string(kWantedAnnotation));
  return !should.empty() && kube::Annotation(existing, std::string(kWantedAnnotation)) == should;
}

}  // namespace paceline::controller

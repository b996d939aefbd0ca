#include "operator/controller/own_child.h"

#include <utility>

#include <fmt/format.h>

#include "lib/kube/core/api_error.h"
#include "lib/kube/core/metadata.h"
#include "operator/controller/resources.h"
#include "operator/objects/mend.h"

namespace paceline::controller {

StatusOr<FoundChild> FindChild(kube::Client& client, const job::TrainingJob& job,
                               const kube::Resource& resource, const std::string& name,
                               FormerJob& former) {
  const kube::ObjectKey key{job.metadata.name_space, name};
  StatusOr<kube::Json> live = client.Call(kube::Get(resource, key));
  if (IsNotFound(live.status())) return FoundChild{};
  PACELINE_RETURN_IF_ERROR(live.status());
  const Ownership ownership = OwnershipOf(job, *live);
  if (ownership == Ownership::kForeign) {
    return FailedPrecondition("{} {} is there and belongs to somebody else; rename it or the job",
                              resource.kind, key);
  }
  const bool is_going = ownership == Ownership::kOrphaned && kube::IsBeingDeleted(*live);
  if (ownership == Ownership::kFormer || is_going) {
    AddTo(former, resource, name);
    return FoundChild{.live = nullptr, .is_in_the_way = true};
  }
  return FoundChild{.live = *std::move(live)};
}

Status MendChild(kube::Client& client, const kube::Resource& resource, const kube::Json& live,
                 const kube::Json& wanted) {
  const std::optional<kube::Json> patch = PatchTowards(live, wanted);
  if (!patch) return OkStatus();
  return client
      .Call(kube::MergePatch(resource, kube::KeyOf(live), *patch,
                             {.field_manager = kFieldManager, .answer = kube::Answer::kNothing}))
      .status();
}

void AddTo(FormerJob& former, const kube::Resource& resource, const std::string& name) {
  former.others.insert(fmt::format("{} {}", resource.kind, name));
}

}  // namespace paceline::controller

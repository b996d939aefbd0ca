#include "operator/controller/pods/pod_changes.h"

#include <algorithm>
#include <chrono>
#include <variant>

#include "lib/kube/core/api_error.h"
#include "lib/kube/core/metadata.h"
#include "operator/controller/resources.h"
#include "operator/objects/metadata.h"
#include "operator/objects/names.h"
#include "operator/objects/pods/pod.h"

namespace paceline::controller {
namespace {

using kube::Json;
using kube::ObjectKey;

// What a plan wants gone: what it stops, and what is left of a process that it starts again.
struct Removal {
  kube::ObjectPtr pod;
  std::optional<int> grace_period_seconds;  // Absent: the pod's own.
};

kube::ObjectPtr Named(const std::vector<kube::ObjectPtr>& pods, const std::string& name) {
  const auto found = std::find_if(pods.begin(), pods.end(),
                                  [&](const auto& pod) { return kube::Name(*pod) == name; });
  return found == pods.end() ? nullptr : *found;
}

Removal RemovalFor(const job::Action& action, const std::vector<kube::ObjectPtr>& pods) {
  if (const auto* start = std::get_if<job::Start>(&action))
    return {.pod = Named(pods, start->name), .grace_period_seconds = 0};
  const auto& stop = std::get<job::Stop>(action);
  return {.pod = Named(pods, stop.name),
          .grace_period_seconds =
              stop.grace <= Duration::zero() ? std::optional<int>(0) : std::nullopt};
}

// A template's fields are for the API server to know: what it left out, nobody would see.
kube::Request CreatePod(const Json& pod, bool dry_run) {
  return kube::Create(kube::Pods(), pod,
                      {.field_manager = kFieldManager,
                       .dry_run = dry_run,
                       .is_strict = true,
                       .answer = kube::Answer::kNothing});
}

// A field that no pod has, or a value that none may have. Webhooks that know no dry run are a bad
// request, too.
bool IsOfTheTemplate(const Status& status) {
  return kube::IsInvalid(status) || (IsInvalidArgument(status) &&
                                     Message(status).find("strict decoding") != std::string::npos);
}

}  // namespace

PodChanges::PodChanges(kube::Client* client, ObjectOptions options)
    : client_(client), options_(std::move(options)) {}

Status PodChanges::Apply(const job::TrainingJob& job, const std::vector<job::Action>& actions,
                         const std::vector<kube::ObjectPtr>& pods, JobRecord& record,
                         Time now) const {
  PACELINE_RETURN_IF_ERROR(DeleteAll(actions, pods, record));
  return CreateAll(job, actions, record, now);
}

Status PodChanges::TryTemplates(const job::TrainingJob& job,
                                const std::vector<job::Action>& actions,
                                const PodDefaults& defaults) const {
  std::vector<kube::Request> requests;
  std::vector<std::string> paths;
  for (const job::Action& action : actions) {
    const auto* start = std::get_if<job::Start>(&action);
    if (start == nullptr || !TemplateOf(job.spec, *start)) continue;
    std::string path = TemplatePath(job.spec, *start);
    if (std::find(paths.begin(), paths.end(), path) != paths.end()) continue;
    paths.push_back(std::move(path));
    const Json pod = BuildPod(job, *start, WithDefaults(options_, defaults, start->role));
    requests.push_back(CreatePod(pod, true));
  }
  const std::vector<StatusOr<Json>> answers = client_->CallAll(std::move(requests));
  for (size_t i = 0; i < answers.size(); ++i) {
    const Status& status = answers[i].status();
    if (!IsOfTheTemplate(status)) continue;
    return InvalidArgument("{}{}: {}", paths[i],
                           defaults.IsEmpty() ? "" : ", with the operator's --pod-defaults",
                           Message(status));
  }
  return OkStatus();
}

Status PodChanges::DeleteAll(const std::vector<job::Action>& actions,
                             const std::vector<kube::ObjectPtr>& pods, JobRecord& record) const {
  std::vector<kube::Request> requests;
  std::vector<ObjectKey> keys;
  for (const job::Action& action : actions) {
    if (const auto* stop = std::get_if<job::Stop>(&action)) record.gone_pods.Take(stop->name);
    const Removal removal = RemovalFor(action, pods);
    if (removal.pod == nullptr) continue;
    const std::string uid = kube::Uid(*removal.pod);
    keys.push_back(kube::KeyOf(*removal.pod));
    record.gone_pods.Expect(uid);
    if (!record.unseen.Has(keys.back().name))
      record.expectations.ExpectDeletion(record.key, keys.back(), uid);
    requests.push_back(
        kube::Delete(kube::Pods(), keys.back(),
                     {.uid = uid, .grace_period_seconds = removal.grace_period_seconds}));
  }
  Status first;
  const std::vector<StatusOr<Json>> answers = client_->CallAll(std::move(requests));
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].ok()) continue;
    record.expectations.Drop(record.key, keys[i]);
    // Conflict: another pod has taken the name since; it will be seen.
    const Status& status = answers[i].status();
    if (IsNotFound(status) || kube::IsConflict(status)) continue;
    if (first.ok()) first = status;
  }
  return first;
}

Status PodChanges::CreateAll(const job::TrainingJob& job, const std::vector<job::Action>& actions,
                             JobRecord& record, Time now) const {
  std::vector<kube::Request> requests;
  std::vector<ObjectKey> keys;
  for (const job::Action& action : actions) {
    const auto* start = std::get_if<job::Start>(&action);
    if (start == nullptr) continue;
    const Json pod = BuildPod(
        job, *start, WithDefaults(options_, record.defaults.value_or(PodDefaults{}), start->role));
    keys.push_back(kube::KeyOf(pod));
    record.expectations.ExpectCreation(record.key, keys.back());
    requests.push_back(CreatePod(pod, false));
  }
  Status first;
  const std::vector<StatusOr<Json>> answers = client_->CallAll(std::move(requests));
  for (size_t i = 0; i < answers.size(); ++i) {
    const std::string& name = keys[i].name;
    record.refused.erase(name);
    if (answers[i].ok()) {
      record.gone_pods.Take(name);
      record.refused_pods.Made(name, now);
      continue;
    }
    record.expectations.Drop(record.key, keys[i]);
    Status status = answers[i].status();
    const bool is_there = IsAlreadyExists(status);
    if (is_there || kube::IsForbidden(status) || kube::IsInvalid(status))
      record.refused.insert(name);
    if (is_there) status = CheckOwner(job, keys[i], record);
    if (status.ok()) {
      record.refused_pods.Made(name, now);
    } else {
      record.refused_pods.Refused(name);
    }
    if (first.ok()) first = status;
  }
  return first;
}

// OK if the pod that is there already is the job's, and the view lags behind and will show it.
Status PodChanges::CheckOwner(const job::TrainingJob& job, const ObjectKey& pod,
                              JobRecord& record) const {
  const StatusOr<Json> live = client_->Call(kube::Get(kube::Pods(), pod));
  if (IsNotFound(live.status())) return Aborted("pod {} went away just now", pod);
  PACELINE_RETURN_IF_ERROR(live.status());
  const Ownership ownership = OwnershipOf(job, *live);
  if (ownership == Ownership::kOurs) {
    if (!record.unseen.Add(job, *live)) return OkStatus();
    return Aborted("pod {} is there and has lost the label {}", pod, kJobLabel);
  }
  if (ownership == Ownership::kFormer)
    return Aborted("pod {} of a former job is not gone yet", pod);
  return FailedPrecondition("Pod {} is there and belongs to somebody else; rename it or the job",
                            pod);
}

}  // namespace paceline::controller

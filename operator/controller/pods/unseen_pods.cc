#include "operator/controller/pods/unseen_pods.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "lib/kube/core/api_error.h"
#include "lib/kube/core/metadata.h"
#include "operator/objects/metadata.h"
#include "operator/objects/names.h"

namespace paceline::controller {
namespace {

using kube::Json;

bool IsUnseen(const job::TrainingJob& job, const Json& pod) {
  return IsControlledBy(pod, job.metadata.uid.value_or("")) &&
         kube::Label(pod, std::string(kJobLabel)).empty();
}

bool MayChange(const Json& pod) {
  const std::string phase = kube::StringAt(pod, "/status/phase");
  return kube::IsBeingDeleted(pod) || (phase != "Succeeded" && phase != "Failed");
}

std::vector<StatusOr<Json>> Read(kube::Client& client, const job::TrainingJob& job,
                                 const std::vector<std::string>& names) {
  std::vector<kube::Request> requests;
  for (const std::string& name : names)
    requests.push_back(kube::Get(kube::Pods(), {job.metadata.name_space, name}));
  return client.CallAll(std::move(requests));
}

}  // namespace

bool UnseenPods::Add(const job::TrainingJob& job, Json pod) {
  if (!IsUnseen(job, pod)) return false;
  const std::string name = kube::Name(pod);
  by_name_[name] = std::make_shared<const Json>(std::move(pod));
  return true;
}

StatusOr<bool> UnseenPods::Find(kube::Client& client, const job::TrainingJob& job,
                                const std::vector<std::string>& names) {
  bool is_found = false;
  for (StatusOr<Json>& pod : Read(client, job, names)) {
    if (IsNotFound(pod.status())) continue;
    PACELINE_RETURN_IF_ERROR(pod.status());
    is_found = Add(job, *std::move(pod)) || is_found;
  }
  return is_found;
}

StatusOr<std::vector<kube::ObjectPtr>> UnseenPods::Refresh(
    kube::Client& client, const job::TrainingJob& job, const std::vector<kube::ObjectPtr>& seen) {
  std::vector<kube::ObjectPtr> gone;
  if (by_name_.empty()) return gone;
  for (const kube::ObjectPtr& pod : seen) by_name_.erase(kube::Name(*pod));
  std::vector<std::string> names;
  for (const auto& [name, pod] : by_name_) names.push_back(name);
  std::vector<StatusOr<Json>> answers = Read(client, job, names);
  for (size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].ok() && !IsNotFound(answers[i].status())) return answers[i].status();
    const auto known = by_name_.extract(names[i]).mapped();
    if (!answers[i].ok() || kube::Uid(*answers[i]) != kube::Uid(*known)) gone.push_back(known);
    if (answers[i].ok()) Add(job, *std::move(answers[i]));
  }
  return gone;
}

void UnseenPods::AddTo(std::vector<kube::ObjectPtr>& pods) const {
  for (const auto& [name, pod] : by_name_) pods.push_back(pod);
}

bool UnseenPods::AreAwaited() const {
  return std::any_of(by_name_.begin(), by_name_.end(),
                     [](const auto& entry) { return MayChange(*entry.second); });
}

}  // namespace paceline::controller

#include "operator/controller/pods/mislabelled_pods.h"

#include <map>
#include <utility>

#include "lib/kube/core/api_error.h"
#include "lib/kube/core/metadata.h"
#include "operator/objects/pods/pod_labels.h"

namespace paceline::controller {

Status ReplaceMislabelled(kube::Client& client, const job::TrainingJob& job,
                          const std::vector<OwnPod>& pods, JobRecord& record,
                          const std::function<void(const std::string& text)>& tell) {
  std::map<std::string, std::string> told;
  std::vector<kube::Request> requests;
  std::vector<kube::ObjectKey> keys;
  for (const OwnPod& own : pods) {
    const bool is_unseen = record.unseen.Has(own.process.name);
    const LabelsVerdict verdict = JudgeLabels(job, *own.pod, own.process);
    if (verdict.text.empty()) continue;
    const std::string uid = kube::Uid(*own.pod);
    if (record.told_labels[uid] != verdict.text) tell(verdict.text);
    told[uid] = verdict.text;
    if (!verdict.must_go) continue;
    keys.push_back(kube::KeyOf(*own.pod));
    if (!is_unseen) record.expectations.ExpectDeletion(record.key, keys.back(), uid);
    requests.push_back(kube::Delete(kube::Pods(), keys.back(), {.uid = uid}));
  }
  record.told_labels = std::move(told);
  Status first;
  const std::vector<StatusOr<kube::Json>> answers = client.CallAll(std::move(requests));
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].ok()) continue;
    record.expectations.Drop(record.key, keys[i]);
    const Status& status = answers[i].status();
    if (IsNotFound(status) || kube::IsConflict(status)) continue;  // It went away by itself.
    if (first.ok()) first = status;
  }
  return first;
}

}  // namespace paceline::controller

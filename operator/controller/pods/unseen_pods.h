// Defines UnseenPods: pods of a job that the view does not show, since somebody has taken the label
// by which it selects. They are read by their names, and nothing tells when they change.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/job/manifest/training_job.h"
#include "lib/kube/client/client.h"
#include "lib/kube/runtime/informer.h"

namespace paceline::controller {

// Of one job; used by one thread at a time. Can be lost: whoever is about to make a pod of that
// name finds it again.
class UnseenPods {
 public:
  // Whether `pod`, as it was read just now, is the job's and one that the view will not show. It is
  // kept then.
  bool Add(const job::TrainingJob& job, kube::Json pod);
  // Reads those of these names. Whether one was added. The API server's errors.
  StatusOr<bool> Find(kube::Client& client, const job::TrainingJob& job,
                      const std::vector<std::string>& names);
  // Reads all again, and forgets those that `seen` shows. Returns those that are there no more, as
  // they were last. The API server's errors.
  StatusOr<std::vector<kube::ObjectPtr>> Refresh(kube::Client& client, const job::TrainingJob& job,
                                                 const std::vector<kube::ObjectPtr>& seen);

  bool Has(const std::string& name) const { return by_name_.contains(name); }
  void AddTo(std::vector<kube::ObjectPtr>& pods) const;
  // Whether there is one that may change by itself.
  bool AreAwaited() const;

 private:
  std::map<std::string, kube::ObjectPtr> by_name_;  // Whole.
};

}  // namespace paceline::controller

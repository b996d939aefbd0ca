// Judges what somebody has changed of the labels and annotations that a pod of a job was made with.
// Labels that tools share, as app.kubernetes.io/managed-by, may say what they like.
#pragma once

#include <string>

#include "lib/job/manifest/training_job.h"
#include "lib/job/state/observation.h"
#include "operator/objects/metadata.h"

namespace paceline::controller {

struct LabelsVerdict {
  // What there is to tell: "pod digits-worker-3: label paceline.dev/role is gone; it is deleted and
  // made anew". Empty: nothing.
  std::string text;
  // By its labels others find it: the operator, the Service, the NetworkPolicy. Without them it is
  // replaced, as far as it has not ended, since no pod is patched.
  bool must_go = false;
};

// `process`: what SeenPod reads in `pod`. Of one that is being deleted there is nothing to tell. A
// pod without a group is of the group that its role has (names.h).
LabelsVerdict JudgeLabels(const job::TrainingJob& job, const Json& pod,
                          const job::SeenProcess& process);

}  // namespace paceline::controller

// Tells of a job's pods whose labels somebody has changed, and has those replaced that others do
// not find by them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/job/manifest/training_job.h"
#include "lib/kube/client/client.h"
#include "operator/controller/job_record.h"
#include "operator/controller/pods/own_pod.h"

namespace paceline::controller {

// Each of them is told of once, by `tell`, and then asked to end, with the time that it has for
// that. It is a pod that somebody else has deleted from then on: the planner has it made anew. The
// first error; what could be done is done, and the rest is tried again by the next call.
Status ReplaceMislabelled(kube::Client& client, const job::TrainingJob& job,
                          const std::vector<OwnPod>& pods, JobRecord& record,
                          const std::function<void(const std::string& text)>& tell);

}  // namespace paceline::controller

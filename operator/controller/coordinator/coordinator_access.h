// Finds a job's coordinator in the cluster.
#pragma once

#include <string>
#include <vector>

#include "lib/job/manifest/training_job.h"
#include "lib/kube/client/config.h"
#include "lib/kube/runtime/informer.h"
#include "operator/controller/pods/own_pod.h"
#include "operator/controller/secrets/certificates.h"

namespace paceline::controller {

// The coordinator's pod while it runs and has an address; null otherwise.
kube::ObjectPtr RunningCoordinator(const std::vector<OwnPod>& pods);

// Where that pod answers, the name that its certificate must have ("ps-0.digits.research"), and
// with which credential it is asked; plain HTTP and a token for a job with security.mtls Disabled.
StatusOr<kube::Config> ServerOf(const job::TrainingJob& job, const kube::Json& pod,
                                const std::string& seed, Certificates& certificates,
                                KnownCertificates& known);

// The job's last state, which a coordinator leaves as its termination message. NotFound if it has
// left none.
StatusOr<std::string> CoordinatorsLastWord(const std::vector<OwnPod>& pods);

}  // namespace paceline::controller

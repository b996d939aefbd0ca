#include "operator/controller/coordinator_access.h"

#include "lib/job/process_name.h"
#include "lib/kube/core/json.h"
#include "lib/kube/core/metadata.h"
#include "operator/objects/names.h"
#include "operator/objects/seen_pod.h"

namespace paceline::controller {
namespace {

kube::ObjectPtr CoordinatorPod(const job::TrainingJob& job,
                               const std::vector<kube::ObjectPtr>& pods) {
  const std::string name = job::ProcessName(job.metadata.name, job::Role::kParameterServer, 0);
  for (const kube::ObjectPtr& pod : pods) {
    if (kube::Name(*pod) == name) return pod;
  }
  return nullptr;
}

}  // namespace

kube::ObjectPtr RunningCoordinator(const job::TrainingJob& job,
                                   const std::vector<kube::ObjectPtr>& pods) {
  const kube::ObjectPtr pod = CoordinatorPod(job, pods);
  if (pod == nullptr || !PodAddress(*pod)) return nullptr;
  const auto process = SeenPod(job, *pod);
  return process && process->state == job::ProcessState::kRunning ? pod : nullptr;
}

StatusOr<CoordinatorAddress> AddressOf(const job::TrainingJob& job, const kube::Json& pod,
                                       Certificates& certificates) {
  CoordinatorAddress address{.host = PodAddress(pod).value_or(""), .port = kMetricsPort};
  if (job.spec.security.mtls == job::Toggle::kDisabled) return address;
  PACELINE_ASSIGN_OR_RETURN(const Certificates::Ensured ensured, certificates.Ensure(job));
  address.port = kApiPort;
  address.tls_name = TlsName(job, TlsRole::kServer);
  address.own = ensured.own;
  return address;
}

StatusOr<std::string> CoordinatorsLastWord(const job::TrainingJob& job,
                                           const std::vector<kube::ObjectPtr>& pods) {
  const kube::ObjectPtr pod = CoordinatorPod(job, pods);
  if (pod == nullptr) return NotFound("no pod of the coordinator");
  const kube::Json* statuses = kube::Find(*pod, "/status/containerStatuses");
  if (statuses == nullptr || !statuses->is_array()) return NotFound("no container has ended");
  for (const kube::Json& status : *statuses) {
    if (kube::StringAt(status, "/name") != ContainerName(job::Role::kParameterServer)) continue;
    const std::string message = kube::StringAt(status, "/state/terminated/message");
    if (!message.empty()) return message;
  }
  return NotFound("the coordinator has left no last word");
}

}  // namespace paceline::controller

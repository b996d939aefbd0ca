#include "operator/controller/coordinator_access.h"

#include "lib/kube/core/json.h"
#include "operator/objects/names.h"
#include "operator/objects/seen_pod.h"

namespace paceline::controller {
namespace {

const OwnPod* Coordinator(const std::vector<OwnPod>& pods) {
  for (const OwnPod& own : pods) {
    if (own.process.role == job::Role::kParameterServer && own.process.index == 0) return &own;
  }
  return nullptr;
}

}  // namespace

kube::ObjectPtr RunningCoordinator(const std::vector<OwnPod>& pods) {
  const OwnPod* const own = Coordinator(pods);
  if (own == nullptr || own->process.state != job::ProcessState::kRunning) return nullptr;
  return PodAddress(*own->pod) ? own->pod : nullptr;
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

StatusOr<std::string> CoordinatorsLastWord(const std::vector<OwnPod>& pods) {
  const OwnPod* const own = Coordinator(pods);
  if (own == nullptr) return NotFound("no pod of the coordinator");
  const kube::Json* statuses = kube::Find(*own->pod, "/status/containerStatuses");
  if (statuses == nullptr || !statuses->is_array()) return NotFound("no container has ended");
  for (const kube::Json& status : *statuses) {
    if (kube::StringAt(status, "/name") != ContainerName(job::Role::kParameterServer)) continue;
    const std::string message = kube::StringAt(status, "/state/terminated/message");
    if (!message.empty()) return message;
  }
  return NotFound("the coordinator has left no last word");
}

}  // namespace paceline::controller

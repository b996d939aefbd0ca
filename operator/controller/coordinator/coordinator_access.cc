#include "operator/controller/coordinator/coordinator_access.h"

#include "lib/kube/core/json.h"
#include "operator/objects/names.h"
#include "operator/objects/secrets.h"
#include "operator/objects/seen/seen_pod.h"

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

StatusOr<kube::Config> ServerOf(const job::TrainingJob& job, const kube::Json& pod,
                                const std::string& seed, Certificates& certificates,
                                KnownCertificates& known) {
  const std::string address = PodAddress(pod).value_or("");
  const bool is_ipv6 = address.find(':') != std::string::npos;
  const std::string host = is_ipv6 ? fmt::format("[{}]", address) : address;
  kube::Config server;
  server.is_direct = true;  // A pod is never behind a proxy.
  if (job.spec.security.mtls == job::Toggle::kDisabled) {
    server.server = fmt::format("http://{}:{}", host, kApiPort);
    PACELINE_ASSIGN_OR_RETURN(server.token.data, TokenFrom(seed, job));
    return server;
  }
  PACELINE_ASSIGN_OR_RETURN(const OwnCredential own, certificates.Own(job, seed, known));
  server.server = fmt::format("https://{}:{}", host, kApiPort);
  server.tls_server_name = TlsName(job, {tls::Role::kPs, 0});
  server.certificate_authority.data = own.authority_certificate;
  server.client_certificate.data = own.credential.certificate;
  server.client_key.data = own.credential.key;
  return server;
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

// Defines ClusterJob: a TrainingJob of a Kubernetes cluster, as one of its users sees and changes
// it.
//
// Example:
//   PACELINE_ASSIGN_OR_RETURN(ClusterJob cluster, ClusterJob::Open({.name_space = "team-a"},
//   "digits")); StatusOr<kube::Json> object = cluster.Read(); StatusOr<std::string> state =
//   cluster.AskCoordinator();   // The body of GET /v1/job.
#pragma once

#include <memory>
#include <string>

#include "lib/base/status.h"
#include "lib/job/ports.h"
#include "lib/kube/client/client.h"
#include "lib/kube/core/json.h"
#include "lib/kube/core/object_key.h"
#include "lib/kube/core/request.h"

namespace paceline::commands {

// Which cluster, as kubectl's flags of these names say it. Empty: KUBECONFIG, ~/.kube/config or the
// pod's service account; the current context; that one's namespace.
struct ClusterOptions {
  std::string kubeconfig;
  std::string context;
  std::string name_space;

  int coordinator_port = job::kMetricsPort;  // Of its pod; others only where there are no pods.

  bool is_empty() const { return kubeconfig.empty() && context.empty() && name_space.empty(); }
};

// One owner at a time. Errors are those of lib/kube, which name the object, and of a refusal the
// verb and the resource that the user may not use.
class ClusterJob {
 public:
  // Sends nothing yet. NotFound or InvalidArgument for a configuration that names no cluster.
  static StatusOr<ClusterJob> Open(const ClusterOptions& options, const std::string& name);

  const kube::ObjectKey& key() const { return key_; }

  // The object. NotFound says so in words of its own: no such job, or no such kind of object.
  StatusOr<kube::Json> Read() const;
  // What GET /v1/job of its coordinator answers, through the API server's proxy to the pod.
  // PermissionDenied tells what is missing; Unavailable, or whatever the API server says, where
  // there is no pod that answers.
  StatusOr<std::string> AskCoordinator() const;
  // What opens its model, from the Secret that its operator made. NotFound, PermissionDenied.
  StatusOr<std::string> ReadModelToken() const;
  // One attempt at so many bytes of its model, as its coordinator serves it, through the same
  // proxy.
  StatusOr<std::string> ReadModelPiece(const std::string& token, uint64_t from, uint64_t bytes,
                                       Duration deadline) const;
  // That somebody has all of it. Aborted if that is not its digest.
  Status ConfirmModel(const std::string& token, const std::string& sha256) const;
  // A JSON merge patch. InvalidArgument with the API server's words if it breaks a rule.
  Status Patch(const kube::Json& patch) const;

 private:
  // To that path of its coordinator's plain port.
  kube::Request ProxyRequest(const char* path) const;
  StatusOr<std::string> Send(kube::Request request) const;
  ClusterJob(std::unique_ptr<kube::Client> client, kube::ObjectKey key, int coordinator_port)
      : client_(std::move(client)), key_(std::move(key)), coordinator_port_(coordinator_port) {}

  std::unique_ptr<kube::Client> client_;
  kube::ObjectKey key_;
  int coordinator_port_;
};

}  // namespace paceline::commands

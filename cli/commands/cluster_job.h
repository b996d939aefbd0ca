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
#include "lib/kube/client/config.h"
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
  std::string coordinator_pod() const;
  int coordinator_port() const { return coordinator_port_; }

  // The object. NotFound says so in words of its own: no such job, or no such kind of object.
  StatusOr<kube::Json> Read() const;
  // What GET /v1/job of its coordinator answers, through the API server's proxy to the pod.
  // PermissionDenied tells what is missing; Unavailable, or whatever the API server says, where
  // there is no pod that answers.
  StatusOr<std::string> AskCoordinator() const;
  // What opens its model, from the Secret that its operator made. NotFound, PermissionDenied.
  StatusOr<std::string> ReadModelToken() const;
  // One attempt at a request to its coordinator's plain port, whose path is the coordinator's own,
  // through the same proxy. Anything but 200 is an error, kube::ApiErrorOf tells of which.
  StatusOr<std::string> SendByProxy(kube::Request request) const;
  // The same to whatever stands for that port elsewhere, with the credentials of `server` alone.
  StatusOr<std::string> SendTo(kube::Config server, kube::Request request) const;
  // A JSON merge patch. InvalidArgument with the API server's words if it breaks a rule.
  Status Patch(const kube::Json& patch) const;

 private:
  ClusterJob(std::unique_ptr<kube::Client> client, kube::ObjectKey key, int coordinator_port)
      : client_(std::move(client)), key_(std::move(key)), coordinator_port_(coordinator_port) {}

  std::unique_ptr<kube::Client> client_;
  kube::ObjectKey key_;
  int coordinator_port_;
};

}  // namespace paceline::commands

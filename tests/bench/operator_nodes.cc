#include "tests/bench/operator_nodes.h"

#include <fmt/format.h>
#include <signal.h>

#include "lib/kube/core/metadata.h"
#include "operator/objects/pods/image_nodes.h"

namespace paceline::bench {

using kube::Json;
using kube::testing::ChildProcess;

StatusOr<std::unique_ptr<FakeNodes>> FakeNodes::Start(operator_test::World& world, int nodes) {
  PACELINE_ASSIGN_OR_RETURN(const std::string scheduler,
                            kube::testing::FindProgram("kube-scheduler"));
  PACELINE_ASSIGN_OR_RETURN(const std::string kwok, kube::testing::FindProgram("kwok"));
  const std::string folder = world.server().folder();
  const std::string kubeconfig = "--kubeconfig=" + world.server().kubeconfig();
  auto made = std::make_unique<FakeNodes>();
  PACELINE_ASSIGN_OR_RETURN(
      made->scheduler_,
      ChildProcess::Start({scheduler, kubeconfig, "--leader-elect=false", "--secure-port=0"},
                          folder + "/scheduler.log"));
  // Pods get addresses on which nothing listens: who calls them is refused at once.
  PACELINE_ASSIGN_OR_RETURN(
      made->kwok_, ChildProcess::Start({kwok, kubeconfig, "--manage-all-nodes",
                                        "--cidr=127.8.0.1/16", "--node-lease-duration-seconds=40"},
                                       folder + "/kwok.log"));
  for (int i = 0; i < nodes; ++i) {
    const Json node = {{"apiVersion", "v1"},
                       {"kind", "Node"},
                       {"metadata",
                        {{"name", fmt::format("fake-{}", i)},
                         {"annotations", {{"kwok.x-k8s.io/node", "fake"}}},
                         {"labels",
                          {{"type", "kwok"},
                           {"kubernetes.io/os", "linux"},
                           {"kubernetes.io/arch", controller::OwnArchitecture()}}}}}};
    PACELINE_RETURN_IF_ERROR(world.client().Call(kube::Create(kube::Nodes(), node)).status());
    // The taint of a node that is not ready is what a controller would take away.
    PACELINE_RETURN_IF_ERROR(world.client()
                                 .Call(kube::MergePatch(kube::Nodes(), kube::KeyOf(node),
                                                        {{"spec", {{"taints", nullptr}}}}))
                                 .status());
  }
  return made;
}

void FakeNodes::Hold() { kill(scheduler_->pid(), SIGSTOP); }
void FakeNodes::Release() { kill(scheduler_->pid(), SIGCONT); }

}  // namespace paceline::bench

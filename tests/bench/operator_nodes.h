// Defines FakeNodes: a real scheduler, and nodes by kwok, which say that they run pods.
#pragma once

#include <memory>

#include "lib/base/status.h"
#include "lib/kube/testing/child_process.h"
#include "tests/operator/world.h"

namespace paceline::bench {

// One owner; not thread-safe.
class FakeNodes {
 public:
  // Nodes with room for everything. NotFound without kube-scheduler or kwok.
  static StatusOr<std::unique_ptr<FakeNodes>> Start(operator_test::World& world, int nodes);

  // Until Release no pod gets a node: what scheduling costs the server is then not taken out of
  // the time of whoever is slower in making pods.
  void Hold();
  void Release();

 private:
  std::unique_ptr<kube::testing::ChildProcess> scheduler_, kwok_;
};

}  // namespace paceline::bench

// A cluster for one test program, and an operator in it that runs as its own service account.
//
// etcd and kube-apiserver are real. There are no nodes: what a kubelet would say of a pod is
// written by the test, into the pod's status, through the same API.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lib/base/testing/eventually.h"
#include "lib/kube/client/client.h"
#include "lib/kube/testing/api_server.h"
#include "tests/support/shell.h"

namespace paceline::operator_test {

using kube::Json;

using testing::Eventually;

// One for the test program: the API server with Paceline's CRD and roles.
class World {
 public:
  // Null if the binaries are missing and may be, with the reason printed.
  static World* Get();

  kube::testing::ApiServer& server() { return *server_; }
  kube::Client& client() { return *client_; }  // As cluster-admin.
  std::string Kubectl(const std::string& arguments) const;
  // Of what may fail.
  testing::Said TryKubectl(const std::string& arguments) const;
  // A kubeconfig of the operator's service account.
  std::string OperatorKubeconfig() const { return operator_kubeconfig_; }
  // Of one that may work in `name_space` only and lives in `home`, as deploy/rbac-namespaced says.
  std::string ConfinedKubeconfig(const std::string& home, const std::string& name_space);
  std::string NewNamespace();

 private:
  explicit World(kube::testing::ApiServer* server);
  std::string KubectlCommand(const std::string& arguments) const;
  std::string TokenKubeconfig(const std::string& home);

  kube::testing::ApiServer* server_;
  std::unique_ptr<kube::Client> client_;
  std::string operator_kubeconfig_;
  int namespaces_ = 0;
};

// A running paceline-operator; its log is printed if the test has failed by then.
class OperatorProcess {
 public:
  // `kubeconfig`: empty for the one of the operator of all namespaces.
  OperatorProcess(World& world, const std::vector<std::string>& arguments,
                  const std::string& kubeconfig = "");
  ~OperatorProcess();  // SIGTERM, then SIGKILL.

  void Signal(int number);
  // How it ended, as a shell says it; nothing if it still runs after `timeout_seconds`.
  std::optional<int> WaitForEnd(double timeout_seconds);
  // Until its log contains `text`.
  bool WaitForText(const std::string& text, double timeout_seconds = 60) const;
  std::string Log() const;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  std::string log_path_;
};

}  // namespace paceline::operator_test

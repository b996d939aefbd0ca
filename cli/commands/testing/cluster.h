// What tests of commands for a cluster's job share: a real API server with one job.
//
// There is no kubelet: pods are what the test writes into their status, and the coordinator's is
// this machine, on which the test answers. The API server's way to a pod is the real one.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/commands/cluster_job.h"
#include "cli/commands/fetch/fetch.h"
#include "lib/kube/client/client.h"
#include "lib/kube/core/json.h"
#include "lib/kube/testing/api_server.h"
#include "lib/telemetry/http_endpoint.h"

namespace paceline::commands {

inline constexpr double kPatienceSeconds = 60;

const kube::Resource& TrainingJobs();

// An address of this machine that is not loopback, to which the API server refuses to go; empty:
// it has none.
std::string OwnAddress();

struct Answered {
  int code = 0;
  std::string out;
  std::string err;
};

template <class F>
Answered Captured(const F& command) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const int code = command();
  return {code, ::testing::internal::GetCapturedStdout(), ::testing::internal::GetCapturedStderr()};
}

// The job "digits" in a namespace of the test's own.
class ClusterTest : public ::testing::Test {
 protected:
  void SetUp() override;

  void MakeJob();
  // What the operator would write.
  void SetStatus(const kube::Json& status);
  // The coordinator's pod, at that address.
  void MakePod(const std::string& address);
  // Who may do what `rules` say, in the namespace.
  std::string KubeconfigOf(const std::string& user, const kube::Json& rules);

  ClusterOptions Cluster() const {
    return {.kubeconfig = kubeconfig_.empty() ? server_->kubeconfig() : kubeconfig_,
            .name_space = ns_,
            .coordinator_port = port_};
  }

  kube::testing::ApiServer* server_ = nullptr;
  std::unique_ptr<kube::Client> client_;
  std::string ns_;
  std::string kubeconfig_;  // Empty: the administrator's.
  int port_ = 1;

 private:
  void InstallDefinition();
};

// A coordinator that serves a model, as far as the API server and the command see one.
class Serving {
 public:
  explicit Serving(size_t bytes);
  int port() const { return endpoint_->port(); }
  const std::string& content() const { return content_; }
  const std::string& sha256() const { return sha256_; }
  std::string Confirmed();                  // Stops it.
  std::atomic<int> breaks_after = 1 << 30;  // Pieces; then there are none any more.
  std::atomic<int> first = -1;              // Where the first piece began.
  std::atomic<int> asked = 0;               // Requests of all kinds.

 private:
  telemetry::HttpAnswer Give(const telemetry::HttpRequest& request);

  std::string content_;
  std::string sha256_;
  std::string confirmed_;
  std::unique_ptr<telemetry::HttpEndpoint> endpoint_;
};

// Programs that a fetch finds in PATH are those of the test alone: none, unless it writes some into
// programs().
class FetchTest : public ClusterTest {
 protected:
  void SetUp() override;
  void TearDown() override;

  // The model, the coordinator's pod at `address`, and what opens it.
  void Serve(const std::string& address = OwnAddress());
  void SetModel(kube::Json model);
  Answered FetchIt() { return FetchBy({}); }
  Answered FetchBy(FetchOptions options);
  std::string path() const { return folder_ + "/got.safetensors"; }
  std::string programs() const { return folder_ + "/bin"; }

  Serving serving_{3000000};
  std::string folder_;
};

}  // namespace paceline::commands

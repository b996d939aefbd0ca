#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "lib/base/base64.h"
#include "lib/base/testing/eventually.h"
#include "lib/base/testing/places.h"
#include "lib/kube/core/json.h"
#include "lib/kube/testing/child_process.h"
#include "tests/bench/operator_contender.h"
#include "tests/support/shell.h"

namespace paceline::bench {
namespace {

using kube::Json;
using kube::testing::ChildProcess;

constexpr char kNamespace[] = "kubeflow";
constexpr char kWebhookSecret[] = "training-operator-webhook-cert";
constexpr char kUser[] = "training-operator";
constexpr double kReadySeconds = 60;
// Where the program wants its certificates: one half of it says /tmp, the other the folder for
// temporary files, and no option can change that.
constexpr char kServingCertificates[] = "/tmp/k8s-webhook-server/serving-certs";

// What has to be there before it starts: it fills the Secret, and the configuration's CA.
constexpr char kPrepared[] = R"(
apiVersion: v1
kind: Namespace
metadata: {name: kubeflow}
---
apiVersion: v1
kind: Secret
metadata: {name: training-operator-webhook-cert, namespace: kubeflow}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: validator.training-operator.kubeflow.org}
webhooks: []
)";

kube::Resource TfJobs() {
  return {.group = "kubeflow.org", .version = "v1", .kind = "TFJob", .plural = "tfjobs"};
}

Json Replicas(int count) {
  const Json container = {{"name", "tensorflow"},
                          {"image", "kubeflow/tf-mnist-with-summaries:latest"},
                          {"command", {"python", "/var/tf_mnist/mnist_with_summaries.py"}}};
  return {{"replicas", count},
          {"restartPolicy", "Never"},
          {"template", {{"spec", {{"containers", Json::array({container})}}}}}};
}

class TrainingOperator : public Contender {
 public:
  TrainingOperator(std::unique_ptr<ChildProcess> process, std::string log)
      : process_(std::move(process)), log_(std::move(log)) {}
  ~TrainingOperator() override {
    process_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(kServingCertificates, ignored);
  }

  std::string name() const override { return "kubeflow"; }
  pid_t pid() const override { return process_->pid(); }
  std::string user() const override { return kUser; }
  kube::Resource resource() const override { return TfJobs(); }
  kube::Json LeftAlone(kube::Json) const override { return nullptr; }
  std::string Log() const override {
    std::stringstream text;
    text << std::ifstream(log_).rdbuf();
    return text.str();
  }

  Json Manifest(const JobShape& shape) const override {
    return {
        {"apiVersion", "kubeflow.org/v1"},
        {"kind", "TFJob"},
        {"metadata", {{"name", shape.name}}},
        {"spec",
         {{"runPolicy", {{"suspend", shape.is_suspended}}},
          {"tfReplicaSpecs", {{"PS", Replicas(kServers)}, {"Worker", Replicas(shape.workers)}}}}}};
  }

 private:
  std::unique_ptr<ChildProcess> process_;
  std::string log_;
};

// In a pod the kubelet would put the Secret's files there.
Status MountCertificates(kube::Client& client) {
  std::error_code error;
  std::filesystem::create_directories(kServingCertificates, error);
  if (error) return Unavailable("cannot make {}: {}", kServingCertificates, error.message());
  const auto mounted = [&] {
    const auto secret = client.Call(kube::Get(kube::Secrets(), {kNamespace, kWebhookSecret}));
    const Json* data = secret.ok() ? kube::Find(*secret, "/data") : nullptr;
    if (data == nullptr || !data->is_object() || data->empty()) return false;
    for (const auto& [name, text] : data->items()) {
      std::ofstream(fmt::format("{}/{}", kServingCertificates, name))
          << DecodeBase64(text.get<std::string>()).value_or("");
    }
    return true;
  };
  if (testing::Eventually(mounted, kReadySeconds)) return OkStatus();
  return DeadlineExceeded("it has made no certificates after {} s", kReadySeconds);
}

}  // namespace

StatusOr<std::unique_ptr<Contender>> StartTrainingOperator(operator_test::World& world) {
  PACELINE_ASSIGN_OR_RETURN(const std::string program,
                            kube::testing::FindProgram("training-operator"));
  testing::Said source = testing::TryShell(
      fmt::format("{}/tests/cluster/cluster source training-operator 2>/dev/null", InSource()));
  while (source.text.ends_with('\n')) source.text.pop_back();
  if (source.code != 0) return NotFound("its Go module is not there, which has its manifests");
  const std::string folder = world.server().folder();
  std::ofstream(folder + "/kubeflow.yaml") << kPrepared;
  world.Kubectl(
      fmt::format("apply --server-side -f {0}/manifests/base/crds/kubeflow.org_tfjobs.yaml "
                  "-f {1}/kubeflow.yaml",
                  source.text, folder));
  world.Kubectl("wait --for=condition=Established crd/tfjobs.kubeflow.org --timeout=60s");
  PACELINE_ASSIGN_OR_RETURN(const auto user, world.server().MakeUser(kUser, {"system:masters"}));
  const std::string log = folder + "/training-operator.log";
  PACELINE_ASSIGN_OR_RETURN(
      auto process, ChildProcess::Start(
                        {"/usr/bin/env", "TMPDIR=/tmp", program, "--kubeconfig=" + user.kubeconfig,
                         "--enable-scheme=tfjob", "--metrics-bind-address=0",
                         "--health-probe-bind-address=0", "--zap-log-level=info"},
                        log));
  auto started = std::make_unique<TrainingOperator>(std::move(process), log);
  PACELINE_RETURN_IF_ERROR(MountCertificates(world.client()));
  const auto works = [&] { return started->Log().find("Starting workers") != std::string::npos; };
  if (!testing::Eventually(works, kReadySeconds))
    return DeadlineExceeded("it does not work after {} s: {}", kReadySeconds, started->Log());
  return started;
}

}  // namespace paceline::bench

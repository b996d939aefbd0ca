// paceline top, fetch and ctl of a cluster's job, on a real API server.
//
// There is no kubelet: pods are what the test writes into their status, and the coordinator's is
// this machine, on which the test answers. The API server's way to a pod is the real one.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>

#include "cli/commands/ctl.h"
#include "cli/commands/fetch.h"
#include "cli/commands/top.h"
#include "lib/base/testing/eventually.h"
#include "lib/base/testing/places.h"
#include "lib/job/manifest/encode.h"
#include "lib/job/manifest/yaml.h"
#include "lib/kube/core/metadata.h"
#include "lib/kube/testing/api_server.h"
#include "lib/process/read_file.h"
#include "lib/store/sha256.h"
#include "lib/telemetry/http_endpoint.h"

namespace paceline::commands {
namespace {

using kube::Json;
using ::testing::HasSubstr;

constexpr double kPatienceSeconds = 60;

const kube::Resource& TrainingJobs() {
  static const kube::Resource jobs{.group = "paceline.dev",
                                   .version = "v1alpha1",
                                   .kind = "TrainingJob",
                                   .plural = "trainingjobs"};
  return jobs;
}

Json JobObject(const std::string& name_space) {
  return {{"apiVersion", "paceline.dev/v1alpha1"},
          {"kind", "TrainingJob"},
          {"metadata", {{"name", "digits"}, {"namespace", name_space}}},
          {"spec",
           {{"model", {{"torchScript", "cnn.pt"}}},
            {"data", {{"train", "train.safetensors"}}},
            {"training",
             {{"globalBatchSize", 64},
              {"learningRate", {{"base", 0.05}}},
              {"stop", {{"maxEpochs", 15}}}}},
            {"workers", {{"replicas", 4}, {"maxReplicas", 8}}}}}};
}

// An address of this machine that is not loopback, to which the API server refuses to go.
std::string OwnAddress() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return "";
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> holder(list, &freeifaddrs);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    const bool is_usable = one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET &&
                           (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0;
    if (!is_usable) continue;
    char text[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text,
              sizeof text);
    return text;
  }
  return "";
}

constexpr const char* kState =
    R"({"phase":"training","step":120,"epochProgress":2.5,"percent":50,"etaSeconds":30,"loss":0.25,)"
    R"("seconds":60,"samplesPerSecond":2913,"committedSamples":7000,"samplesBefore":0,)"
    R"("nonFinitePushes":0,"rollBacks":0,"lastRollBack":"","checkpoint":{"problem":"","note":""},)"
    R"("sync":{"scheme":"SSP","changing":false},"workers":[{"index":0,"isMember":true,"steps":60,)"
    R"("samples":3500,"computeShare":0.8,"waitShare":0.1,"communicationShare":0.1}]})";

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

class ClusterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PACELINE_API_SERVER_OR_SKIP(server);
    server_ = &server;
    client_ = kube::Client::Create(kube::LoadKubeconfig(server.kubeconfig()).value()).value();
    InstallDefinition();
    ns_ = kube::Name(
        client_->Call(kube::Create(kube::Namespaces(), {{"metadata", {{"generateName", "top-"}}}}))
            .value());
  }

  void InstallDefinition() {
    const std::string text = process::ReadFile(InSource("deploy/crd/trainingjobs.yaml")).value();
    const Json definition = job::ToJson(job::ParseYaml(text).root);
    Status served;
    const auto is_served = [&] {  // About a second after the definition is there.
      (void)client_->Call(kube::Create(kube::CustomResourceDefinitions(), definition));
      served = client_->Call(kube::Create(TrainingJobs(), JobObject("default"), {.dry_run = true}))
                   .status();
      return served.ok();
    };
    ASSERT_TRUE(paceline::testing::Eventually(is_served, kPatienceSeconds)) << served;
  }

  void MakeJob() { ASSERT_TRUE(client_->Call(kube::Create(TrainingJobs(), JobObject(ns_))).ok()); }
  // What the operator would write.
  void SetStatus(const Json& status) {
    const auto written = client_->Call(kube::MergePatch(
        TrainingJobs(), {ns_, "digits"}, {{"status", status}}, {.subresource = "status"}));
    ASSERT_TRUE(written.ok()) << written.status();
  }
  // The coordinator's pod, at that address.
  void MakePod(const std::string& address) {
    const Json pod = {
        {"metadata", {{"name", "digits-ps-0"}, {"namespace", ns_}}},
        {"spec", {{"containers", Json::array({{{"name", "ps"}, {"image", "ps:1"}}})}}}};
    ASSERT_TRUE(client_->Call(kube::Create(kube::Pods(), pod)).ok());
    const Json status = {
        {"phase", "Running"}, {"podIP", address}, {"podIPs", Json::array({{{"ip", address}}})}};
    const auto written = client_->Call(kube::MergePatch(
        kube::Pods(), {ns_, "digits-ps-0"}, {{"status", status}}, {.subresource = "status"}));
    ASSERT_TRUE(written.ok()) << written.status();
  }

  // Who may do what `rules` say, in the namespace.
  std::string KubeconfigOf(const std::string& user, const Json& rules) {
    const auto files = server_->MakeUser(user, {});
    EXPECT_TRUE(files.ok()) << files.status();
    const std::string rbac = "rbac.authorization.k8s.io";
    const Json named = {{"namespace", ns_}, {"name", user}};
    EXPECT_TRUE(
        client_->Call(kube::Create(kube::Roles(), {{"metadata", named}, {"rules", rules}})).ok());
    const Json binding = {
        {"metadata", named},
        {"roleRef", {{"apiGroup", rbac}, {"kind", "Role"}, {"name", user}}},
        {"subjects", Json::array({{{"kind", "User"}, {"name", user}, {"apiGroup", rbac}}})}};
    EXPECT_TRUE(client_->Call(kube::Create(kube::RoleBindings(), binding)).ok());
    return files->kubeconfig;
  }

  ClusterOptions Cluster() const {
    return {.kubeconfig = kubeconfig_.empty() ? server_->kubeconfig() : kubeconfig_,
            .name_space = ns_,
            .coordinator_port = port_};
  }
  Answered TopOnce(const std::string& job = "digits") {
    return Captured([&] { return Top({.job = job, .cluster = Cluster(), .is_once = true}); });
  }
  Answered Set(std::vector<std::string> arguments) {
    return Captured(
        [&] { return CtlSet({.arguments = std::move(arguments), .cluster = Cluster()}); });
  }
  Json Spec() { return client_->Call(kube::Get(TrainingJobs(), {ns_, "digits"})).value()["spec"]; }

  kube::testing::ApiServer* server_ = nullptr;
  std::unique_ptr<kube::Client> client_;
  std::string ns_;
  std::string kubeconfig_;  // Empty: the administrator's.
  int port_ = 1;
};

TEST_F(ClusterTest, TopShowsWhatTheCoordinatorSays) {
  const std::string address = OwnAddress();
  if (address.empty()) GTEST_SKIP() << "this machine has no address but loopback";
  const auto endpoint = telemetry::HttpEndpoint::Start(
      {.host = "0.0.0.0", .routes = {{"/v1/job", [](const telemetry::HttpRequest&) {
                                        return telemetry::HttpAnswer{.body = kState};
                                      }}}});
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  port_ = (*endpoint)->port();
  MakeJob();
  SetStatus({{"state", "Running"}});
  MakePod(address);
  const Answered top = TopOnce();
  EXPECT_EQ(top.code, 0) << top.err;
  EXPECT_EQ(
      top.out,
      ns_ +
          "/digits: Running\n"
          "50 %  step 120  epoch 2.5  loss 0.2500  2,913 samples/s  ETA 0:30  SSP\n"
          "WORKER  STATE    DEVICE  THREADS  STEPS  SAMPLES  BATCH  COMPUTE  WAIT  COMMUNICATION\n"
          "     0  working                      60    3,500      0     80 %  10 %           10 "
          "%\n");

  // The least that a user needs: the job, and this port of this pod.
  const Json read_job = {
      {"apiGroups", {"paceline.dev"}}, {"resources", {"trainingjobs"}}, {"verbs", {"get"}}};
  const Json ask = {{"apiGroups", {""}},
                    {"resources", {"pods/proxy"}},
                    {"resourceNames", {"digits-ps-0:" + std::to_string(port_)}},
                    {"verbs", {"get"}}};
  kubeconfig_ = KubeconfigOf("watcher", Json::array({read_job, ask}));
  EXPECT_EQ(TopOnce().code, 0);
  kubeconfig_ = KubeconfigOf("reader", Json::array({read_job}));
  const Answered refused = TopOnce();
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr(R"(User "reader" cannot get resource "pods/proxy")"));
  kubeconfig_ = KubeconfigOf("nobody", Json::array());
  EXPECT_THAT(TopOnce().err, HasSubstr(R"(User "nobody" cannot get resource "trainingjobs")"));
}

TEST_F(ClusterTest, WithoutACoordinatorTopShowsTheStatus) {
  const Answered missing = TopOnce();
  EXPECT_EQ(missing.code, 2);
  EXPECT_EQ(missing.err, "paceline: no TrainingJob digits in namespace " + ns_ + "\n");

  MakeJob();
  SetStatus({{"state", "Unschedulable"}});
  const Answered waiting = TopOnce();
  EXPECT_EQ(waiting.code, 1);
  EXPECT_EQ(waiting.out, ns_ + "/digits: Unschedulable\n");
  EXPECT_THAT(waiting.err, HasSubstr("its coordinator does not answer: "));
  EXPECT_THAT(waiting.err, HasSubstr(R"(pods "digits-ps-0)"));

  MakePod(OwnAddress());  // Nobody listens there.
  EXPECT_THAT(TopOnce().err, HasSubstr("its coordinator does not answer: "));

  const auto condition = [](const char* type, const char* reason, const char* message) {
    return Json{{"type", type},
                {"status", "True"},
                {"reason", reason},
                {"message", message},
                {"observedGeneration", 1},
                {"lastTransitionTime", "2026-01-01T12:00:00Z"}};
  };
  SetStatus({{"state", "Suspended"},
             {"conditions", Json::array({condition("Suspended", "Suspended", "on demand")})}});
  const Answered suspended = TopOnce();
  EXPECT_EQ(suspended.code, 0) << suspended.err;
  EXPECT_EQ(suspended.out, ns_ + "/digits: Suspended\nSuspended: on demand\n");

  SetStatus({{"state", "Succeeded"},
             {"conditions", Json::array({condition("Succeeded", "TrainingSucceeded", "done")})}});
  // Ends by itself, as the job has.
  const Answered over = Captured([&] { return Top({.job = "digits", .cluster = Cluster()}); });
  EXPECT_EQ(over.code, 0) << over.err;
  EXPECT_THAT(over.out, HasSubstr("TrainingSucceeded: done\n"));
}

// A coordinator that serves a model, as far as the API server and the command see one.
class Serving {
 public:
  explicit Serving(size_t bytes) : content_(bytes, '\0') {
    for (size_t i = 0; i < bytes; ++i) content_[i] = static_cast<char>(i * 7 + i / 251);
    store::Sha256 sum;
    sum.Add(std::as_bytes(std::span(content_)));
    sha256_ = sum.Finish();
    endpoint_ =
        telemetry::HttpEndpoint::Start(
            {.host = "0.0.0.0",
             .routes = {{"/v1/model", [this](const auto& request) { return Give(request); }},
                        {"/v1/model",
                         [this](const telemetry::HttpRequest& request) {
                           confirmed_ = Json::parse(request.body)["sha256"];
                           return Admitted(request, {});
                         },
                         "POST"}}})
            .value();
  }
  int port() const { return endpoint_->port(); }
  const std::string& content() const { return content_; }
  const std::string& sha256() const { return sha256_; }
  std::string Confirmed() {
    endpoint_->Stop();
    return confirmed_;
  }
  std::atomic<int> breaks_after = 1 << 30;  // Pieces; then there are none any more.
  std::atomic<int> first = -1;              // Where the first piece began.

 private:
  static telemetry::HttpAnswer Admitted(const telemetry::HttpRequest& request,
                                        telemetry::HttpAnswer answer) {
    const auto token = request.headers.find("x-paceline-token");
    if (token != request.headers.end() && token->second == "s3cret+/=") return answer;
    return {.status = 403, .body = "another token"};
  }
  telemetry::HttpAnswer Give(const telemetry::HttpRequest& request) {
    const auto from = std::stoul(request.query.at("from"));
    const auto bytes = std::stoul(request.query.at("bytes"));
    int unset = -1;
    first.compare_exchange_strong(unset, static_cast<int>(from));
    if (breaks_after-- <= 0) return {.status = 404, .body = "gone"};
    return Admitted(request, {.content_type = "application/octet-stream",
                              .body = content_.substr(from, bytes)});
  }

  std::string content_;
  std::string sha256_;
  std::string confirmed_;
  std::unique_ptr<telemetry::HttpEndpoint> endpoint_;
};

class FetchTest : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    if (IsSkipped()) return;
    if (OwnAddress().empty()) GTEST_SKIP() << "this machine has no address but loopback";
    folder_ = ::testing::TempDir() + "fetch_" + ns_;
    std::filesystem::create_directories(folder_);
    port_ = serving_.port();
    MakeJob();
  }
  ~FetchTest() override { std::filesystem::remove_all(folder_); }

  void Serve() {
    SetModel({{"state", "Available"}, {"until", "2100-01-01T00:00:00Z"}});
    MakePod(OwnAddress());
    const Json secret = {{"metadata", {{"name", "digits-token"}, {"namespace", ns_}}},
                         {"stringData", {{"token", "s3cret+/="}}}};
    ASSERT_TRUE(client_->Call(kube::Create(kube::Secrets(), secret)).ok());
  }
  void SetModel(Json model) {
    model["sizeBytes"] = serving_.content().size();
    model["sha256"] = serving_.sha256();
    SetStatus({{"state", "Succeeded"}, {"model", model}});
  }
  Answered FetchIt() {
    return Captured([&] { return Fetch({.job = "digits", .cluster = Cluster(), .to = path()}); });
  }
  std::string path() const { return folder_ + "/got.safetensors"; }

  Serving serving_{3000000};
  std::string folder_;
};

TEST_F(FetchTest, TheModelComesThroughTheApiServerAndTheJobIsTold) {
  Serve();
  // The least that a user needs: the job, its model's Secret, and this port of this pod.
  const Json pod = {{"apiGroups", {""}},
                    {"resources", {"pods/proxy"}},
                    {"resourceNames", {"digits-ps-0:" + std::to_string(port_)}},
                    {"verbs", {"get", "create"}}};
  const Json read_job = {
      {"apiGroups", {"paceline.dev"}}, {"resources", {"trainingjobs"}}, {"verbs", {"get"}}};
  const Json secret = {{"apiGroups", {""}},
                       {"resources", {"secrets"}},
                       {"resourceNames", {"digits-token"}},
                       {"verbs", {"get"}}};
  kubeconfig_ = KubeconfigOf("stranger", Json::array({read_job, pod}));
  const Answered refused = FetchIt();
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr(R"(User "stranger" cannot get resource "secrets")"));
  kubeconfig_ = KubeconfigOf("fetcher", Json::array({read_job, pod, secret}));
  const Answered fetched = FetchIt();
  EXPECT_EQ(fetched.code, 0) << fetched.err;
  EXPECT_THAT(fetched.out, HasSubstr("3000000 bytes, SHA-256 " + serving_.sha256()));
  EXPECT_EQ(process::ReadFile(path()).value(), serving_.content());
  EXPECT_EQ(serving_.Confirmed(), serving_.sha256());
}

TEST_F(FetchTest, WhatWasCutOffGoesOnWhereItWas) {
  Serve();
  serving_.breaks_after = 1;
  const Answered cut_off = FetchIt();
  EXPECT_NE(cut_off.code, 0);
  EXPECT_THAT(cut_off.err, HasSubstr(" have come and are kept, call again to go on"));
  EXPECT_FALSE(std::filesystem::exists(path()));
  serving_.breaks_after = 1 << 30;
  serving_.first = -1;
  const Answered fetched = FetchIt();
  EXPECT_EQ(fetched.code, 0) << fetched.err;
  EXPECT_GT(serving_.first, 0);
  EXPECT_EQ(process::ReadFile(path()).value(), serving_.content());
}

TEST_F(FetchTest, WhatIsThereAlreadyIsConfirmedOrLeftAsItIs) {
  Serve();
  std::ofstream(path()) << "somebody else's";
  const Answered other = FetchIt();
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("is there already and is another file"));
  EXPECT_EQ(process::ReadFile(path()).value(), "somebody else's");
  std::ofstream(path(), std::ios::binary) << serving_.content();
  EXPECT_EQ(FetchIt().code, 0);
  EXPECT_EQ(serving_.first, -1);
  EXPECT_EQ(serving_.Confirmed(), serving_.sha256());
}

TEST_F(FetchTest, WhereThereIsNothingToFetchItSaysWhy) {
  SetStatus({{"state", "Running"}});
  const Answered early = FetchIt();
  EXPECT_EQ(early.code, 1);
  EXPECT_THAT(early.err, HasSubstr("digits is Running: its model is not there yet"));
  SetModel({{"state", "OnVolume"}, {"where", "claim out, model.safetensors"}});
  EXPECT_THAT(FetchIt().err, HasSubstr("its model lies on claim out, model.safetensors"));
  SetModel({{"state", "Lost"}, {"message", "digits-ps-0 was evicted"}});
  EXPECT_THAT(FetchIt().err, HasSubstr("its model is Lost: digits-ps-0 was evicted"));
}

TEST_F(ClusterTest, CtlSetPatchesTheJob) {
  MakeJob();
  const Answered set = Set({"digits", "sync.scheme=SSP", "spec.sync.ssp.staleness=2"});
  EXPECT_EQ(set.code, 0) << set.err;
  EXPECT_EQ(set.out, "taken over: spec.sync.scheme=SSP\ntaken over: spec.sync.ssp.staleness=2\n");
  EXPECT_EQ(Spec()["sync"]["scheme"], "SSP");
  EXPECT_EQ(Spec()["sync"]["ssp"]["staleness"], 2);
  EXPECT_THAT(Set({"digits", "sync.scheme=SSP"}).out, HasSubstr("is so already"));
}

TEST_F(ClusterTest, WhatIsRefusedChangesNothing) {
  EXPECT_EQ(Set({"digits", "sync.scheme=SSP"}).code, 2);  // There is no such job.
  MakeJob();
  const Json before = Spec();
  const Answered wrong = Set({"digits", "workers.replicas=9"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("spec.workers.maxReplicas"));
  const Answered fixed = Set({"digits", "training.seed=7"});  // The API server's to say.
  EXPECT_EQ(fixed.code, 2);
  EXPECT_THAT(fixed.err, HasSubstr("spec.training"));
  EXPECT_EQ(Set({"sync.scheme=SSP"}).code, 2);
  EXPECT_EQ(Set({"digits"}).code, 2);
  kubeconfig_ = KubeconfigOf("reader", Json::array({{{"apiGroups", {"paceline.dev"}},
                                                     {"resources", {"trainingjobs"}},
                                                     {"verbs", {"get"}}}}));
  const Answered forbidden = Set({"digits", "sync.scheme=SSP"});
  EXPECT_EQ(forbidden.code, 2);
  EXPECT_THAT(forbidden.err, HasSubstr(R"(User "reader" cannot patch resource "trainingjobs")"));
  EXPECT_EQ(Spec(), before);
}

TEST_F(ClusterTest, AClusterWithoutPacelineIsNamedSo) {
  ASSERT_TRUE(
      client_
          ->Call(kube::Delete(kube::CustomResourceDefinitions(), {"", "trainingjobs.paceline.dev"}))
          .ok());
  Answered top;
  EXPECT_TRUE(paceline::testing::Eventually(
      [&] {
        top = TopOnce();
        return top.err.find("not installed") != std::string::npos;
      },
      kPatienceSeconds))
      << top.err;
  EXPECT_EQ(top.code, 2);
  EXPECT_THAT(top.err, HasSubstr("the cluster knows no TrainingJobs"));
}

}  // namespace
}  // namespace paceline::commands

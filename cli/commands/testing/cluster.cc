#include "cli/commands/testing/cluster.h"

#include <cstdlib>
#include <filesystem>
#include <span>
#include <utility>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include "lib/base/testing/eventually.h"
#include "lib/base/testing/places.h"
#include "lib/job/manifest/encode.h"
#include "lib/job/manifest/yaml.h"
#include "lib/kube/core/metadata.h"
#include "lib/process/read_file.h"
#include "lib/store/sha256.h"

namespace paceline::commands {
namespace {

using kube::Json;

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

telemetry::HttpAnswer Admitted(const telemetry::HttpRequest& request,
                               telemetry::HttpAnswer answer) {
  const auto token = request.headers.find("x-paceline-token");
  if (token != request.headers.end() && token->second == "s3cret+/=") return answer;
  return {.status = 403, .body = "another token"};
}

}  // namespace

const kube::Resource& TrainingJobs() {
  static const kube::Resource jobs{.group = "paceline.dev",
                                   .version = "v1alpha1",
                                   .kind = "TrainingJob",
                                   .plural = "trainingjobs"};
  return jobs;
}

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

void ClusterTest::SetUp() {
  PACELINE_API_SERVER_OR_SKIP(server);
  server_ = &server;
  client_ = kube::Client::Create(kube::LoadKubeconfig(server.kubeconfig()).value()).value();
  InstallDefinition();
  ns_ = kube::Name(
      client_->Call(kube::Create(kube::Namespaces(), {{"metadata", {{"generateName", "top-"}}}}))
          .value());
}

void ClusterTest::InstallDefinition() {
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

void ClusterTest::MakeJob() {
  ASSERT_TRUE(client_->Call(kube::Create(TrainingJobs(), JobObject(ns_))).ok());
}

void ClusterTest::SetStatus(const Json& status) {
  const auto written = client_->Call(kube::MergePatch(
      TrainingJobs(), {ns_, "digits"}, {{"status", status}}, {.subresource = "status"}));
  ASSERT_TRUE(written.ok()) << written.status();
}

void ClusterTest::MakePod(const std::string& address) {
  const Json pod = {{"metadata", {{"name", "digits-ps-0"}, {"namespace", ns_}}},
                    {"spec", {{"containers", Json::array({{{"name", "ps"}, {"image", "ps:1"}}})}}}};
  ASSERT_TRUE(client_->Call(kube::Create(kube::Pods(), pod)).ok());
  const Json status = {
      {"phase", "Running"}, {"podIP", address}, {"podIPs", Json::array({{{"ip", address}}})}};
  const auto written = client_->Call(kube::MergePatch(
      kube::Pods(), {ns_, "digits-ps-0"}, {{"status", status}}, {.subresource = "status"}));
  ASSERT_TRUE(written.ok()) << written.status();
}

std::string ClusterTest::KubeconfigOf(const std::string& user, const Json& rules) {
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

Serving::Serving(size_t bytes) : content_(bytes, '\0') {
  for (size_t i = 0; i < bytes; ++i) content_[i] = static_cast<char>(i * 7 + i / 251);
  store::Sha256 sum;
  sum.Add(std::as_bytes(std::span(content_)));
  sha256_ = sum.Finish();
  endpoint_ = telemetry::HttpEndpoint::Start(
                  {.host = "0.0.0.0",
                   .routes = {{"/v1/model", [this](const auto& request) { return Give(request); }},
                              {"/v1/model",
                               [this](const telemetry::HttpRequest& request) {
                                 ++asked;
                                 confirmed_ = Json::parse(request.body)["sha256"];
                                 return Admitted(request, {});
                               },
                               "POST"}}})
                  .value();
}

std::string Serving::Confirmed() {
  endpoint_->Stop();
  return confirmed_;
}

telemetry::HttpAnswer Serving::Give(const telemetry::HttpRequest& request) {
  ++asked;
  const auto from = std::stoul(request.query.at("from"));
  const auto bytes = std::stoul(request.query.at("bytes"));
  int unset = -1;
  first.compare_exchange_strong(unset, static_cast<int>(from));
  if (breaks_after-- <= 0) return {.status = 404, .body = "gone"};
  return Admitted(
      request, {.content_type = "application/octet-stream", .body = content_.substr(from, bytes)});
}

void FetchTest::SetUp() {
  ClusterTest::SetUp();
  if (IsSkipped()) return;
  if (OwnAddress().empty()) GTEST_SKIP() << "this machine has no address but loopback";
  folder_ = ::testing::TempDir() + "fetch_" + ns_;
  std::filesystem::create_directories(programs());
  port_ = serving_.port();
  MakeJob();
}

void FetchTest::TearDown() {
  if (folder_.empty()) return;
  std::filesystem::remove_all(folder_);
}

void FetchTest::Serve(const std::string& address) {
  SetModel({{"state", "Available"}, {"until", "2100-01-01T00:00:00Z"}});
  MakePod(address);
  const Json secret = {{"metadata", {{"name", "digits-token"}, {"namespace", ns_}}},
                       {"stringData", {{"token", "s3cret+/="}}}};
  ASSERT_TRUE(client_->Call(kube::Create(kube::Secrets(), secret)).ok());
}

void FetchTest::SetModel(Json model) {
  model["sizeBytes"] = serving_.content().size();
  model["sha256"] = serving_.sha256();
  SetStatus({{"state", "Succeeded"}, {"model", model}});
}

Answered FetchTest::FetchBy(FetchOptions options) {
  options.job = "digits";
  options.cluster = Cluster();
  options.to = path();
  const std::string path = std::getenv("PATH") == nullptr ? "" : std::getenv("PATH");
  setenv("PATH", programs().c_str(), 1);
  Answered answered = Captured([&] { return Fetch(options); });
  setenv("PATH", path.c_str(), 1);
  return answered;
}

}  // namespace paceline::commands

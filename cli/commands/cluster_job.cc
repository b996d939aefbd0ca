#include "cli/commands/cluster_job.h"

#include <future>
#include <utility>

#include "lib/base/base64.h"
#include "lib/base/limits.h"
#include "lib/job/manifest/training_job.h"
#include "lib/job/process_name.h"
#include "lib/job/state/model_place.h"
#include "lib/kube/core/api_error.h"
#include "lib/kube/core/request.h"

namespace paceline::commands {
namespace {

constexpr Duration kDeadline = Seconds(10);
constexpr Duration kAskDeadline = Seconds(5);

kube::Resource TrainingJobs() {
  const std::string_view group = job::kApiVersion.substr(0, job::kApiVersion.find('/'));
  return {.group = std::string(group),
          .version = std::string(job::kApiVersion.substr(group.size() + 1)),
          .kind = std::string(job::kKind),
          .plural = "trainingjobs"};
}

// Not found may mean the job, its namespace, or that the cluster has never heard of such objects.
Status ExplainNotFound(const Status& status, const kube::ObjectKey& key) {
  const auto error = kube::ApiErrorOf(status);
  if (error && error->name == key.name)
    return NotFound("no TrainingJob {} in namespace {}", key.name, key.name_space);
  return NotFound("the cluster knows no TrainingJobs: Paceline is not installed there ({})",
                  Message(status));
}

// A redirect leads to another server than the one that was asked: its answer counts for nothing.
StatusOr<std::string> BodyOf(StatusOr<kube::Response> response) {
  if (!response.ok()) return response.status();
  if (response->code >= 400)
    return kube::ToStatus(kube::ParseApiError(response->code, response->body));
  if (response->code == 200) return std::move(response->body);
  const auto location = response->headers.find("location");
  return FailedPrecondition("no coordinator answers there: got {}{}, want 200", response->code,
                            location == response->headers.end() ? "" : " to " + location->second);
}

}  // namespace

StatusOr<ClusterJob> ClusterJob::Open(const ClusterOptions& options, const std::string& name) {
  kube::ConfigSource source = kube::ConfigSource::FromEnvironment();
  if (!options.kubeconfig.empty()) source.kubeconfig = options.kubeconfig;
  source.context = options.context;
  PACELINE_ASSIGN_OR_RETURN(kube::Config config, kube::LoadConfig(source));
  kube::ObjectKey key{options.name_space.empty() ? config.name_space : options.name_space, name};
  PACELINE_ASSIGN_OR_RETURN(
      std::unique_ptr<kube::Client> client,
      kube::Client::Create(std::move(config), {.user_agent = "paceline", .deadline = kDeadline}));
  return ClusterJob(std::move(client), std::move(key), options.coordinator_port);
}

StatusOr<kube::Json> ClusterJob::Read() const {
  StatusOr<kube::Json> object = client_->Call(kube::Get(TrainingJobs(), key_));
  if (IsNotFound(object.status())) return ExplainNotFound(object.status(), key_);
  return object;
}

std::string ClusterJob::coordinator_pod() const {
  return job::ProcessName(key_.name, job::Role::kParameterServer, 0);
}

StatusOr<std::string> ClusterJob::SendByProxy(kube::Request request) const {
  const kube::Request pod = kube::Get(
      kube::Pods(), {key_.name_space, fmt::format("{}:{}", coordinator_pod(), coordinator_port_)},
      "proxy");
  request.path = pod.path + request.path;
  request.resource = pod.resource;
  return BodyOf(client_->CallRaw(std::move(request)));
}

StatusOr<std::string> ClusterJob::SendTo(kube::Config server, kube::Request request) const {
  // Outlives a client that ends while it answers.
  const auto answered = std::make_shared<std::promise<StatusOr<kube::Response>>>();
  const kube::CallHandle handle = client_->StartElsewhere(
      std::move(server), std::move(request), limits::kHttpAnswerBytesMax,
      [answered](StatusOr<kube::Response> response) { answered->set_value(std::move(response)); });
  return BodyOf(answered->get_future().get());
}

StatusOr<std::string> ClusterJob::AskCoordinator() const {
  kube::Request request{.path = "/v1/job", .verb = "get", .deadline = kAskDeadline};
  return SendByProxy(std::move(request));  // Not repeatable: who asks, asks again.
}

StatusOr<std::string> ClusterJob::ReadModelToken() const {
  const std::string name = job::TokenSecretName(key_.name);
  PACELINE_ASSIGN_OR_RETURN(const kube::Json secret,
                            client_->Call(kube::Get(kube::Secrets(), {key_.name_space, name})));
  const std::string token =
      DecodeBase64(kube::StringAt(secret, std::string("/data/") + job::kTokenKey)).value_or("");
  if (!token.empty()) return token;
  return NotFound("Secret {} of namespace {} has no data.{}", name, key_.name_space,
                  job::kTokenKey);
}

Status ClusterJob::Patch(const kube::Json& patch) const {
  return client_
      ->Call(kube::MergePatch(TrainingJobs(), key_, patch, {.answer = kube::Answer::kNothing}))
      .status();
}

}  // namespace paceline::commands

#include "cli/commands/cluster_job.h"

#include <utility>

#include "lib/base/base64.h"
#include "lib/base/json_text.h"
#include "lib/job/manifest/training_job.h"
#include "lib/job/process_name.h"
#include "lib/job/state/model_place.h"
#include "lib/kube/core/api_error.h"
#include "lib/kube/core/request.h"
#include "lib/telemetry/access_token.h"

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

kube::Request ClusterJob::ProxyRequest(const char* path) const {
  const std::string pod = job::ProcessName(key_.name, job::Role::kParameterServer, 0);
  kube::Request request = kube::Get(
      kube::Pods(), {key_.name_space, fmt::format("{}:{}", pod, coordinator_port_)}, "proxy");
  request.path += path;
  request.is_repeatable = false;  // Who asks, asks again.
  request.deadline = kAskDeadline;
  return request;
}

StatusOr<std::string> ClusterJob::Send(kube::Request request) const {
  PACELINE_ASSIGN_OR_RETURN(kube::Response response, client_->CallRaw(std::move(request)));
  if (response.code >= 400)
    return kube::ToStatus(kube::ParseApiError(response.code, response.body));
  return std::move(response.body);
}

StatusOr<std::string> ClusterJob::AskCoordinator() const { return Send(ProxyRequest("/v1/job")); }

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

StatusOr<std::string> ClusterJob::ReadModelPiece(const std::string& token, uint64_t from,
                                                 uint64_t bytes, Duration deadline) const {
  kube::Request request = ProxyRequest(job::kModelPath);
  request.query = {{"from", std::to_string(from)}, {"bytes", std::to_string(bytes)}};
  request.accept = "application/octet-stream";
  request.headers = {{telemetry::kTokenHeader, token}};
  request.deadline = deadline;
  return Send(std::move(request));
}

Status ClusterJob::ConfirmModel(const std::string& token, const std::string& sha256) const {
  kube::Request request = ProxyRequest(job::kModelPath);
  request.method = "POST";
  request.verb = "create";
  request.body = JsonText(kube::Json{{"sha256", sha256}});
  request.content_type = "application/json";
  request.headers = {{telemetry::kTokenHeader, token}};
  return Send(std::move(request)).status();
}

Status ClusterJob::Patch(const kube::Json& patch) const {
  return client_
      ->Call(kube::MergePatch(TrainingJobs(), key_, patch, {.answer = kube::Answer::kNothing}))
      .status();
}

}  // namespace paceline::commands

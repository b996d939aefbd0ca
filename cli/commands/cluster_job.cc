#include "cli/commands/cluster_job.h"

#include <utility>

#include "lib/job/process_name.h"
#include "lib/job/training_job.h"
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

StatusOr<std::string> ClusterJob::AskCoordinator() const {
  const std::string pod = job::ProcessName(key_.name, job::Role::kParameterServer, 0);
  kube::Request request = kube::Get(
      kube::Pods(), {key_.name_space, fmt::format("{}:{}", pod, coordinator_port_)}, "proxy");
  request.path += "/v1/job";
  request.is_repeatable = false;  // Whoever watches asks again.
  request.deadline = kAskDeadline;
  PACELINE_ASSIGN_OR_RETURN(kube::Response response, client_->CallRaw(std::move(request)));
  if (response.code >= 400)
    return kube::ToStatus(kube::ParseApiError(response.code, response.body));
  return std::move(response.body);
}

Status ClusterJob::Patch(const kube::Json& patch) const {
  return client_
      ->Call(kube::MergePatch(TrainingJobs(), key_, patch, {.answer = kube::Answer::kNothing}))
      .status();
}

}  // namespace paceline::commands

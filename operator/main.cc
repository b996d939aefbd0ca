#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "lib/kube/client/client.h"
#include "lib/kube/client/config.h"
#include "lib/process/crash_report.h"
#include "lib/process/exit.h"
#include "lib/process/guard/thread_guard.h"
#include "lib/process/memory.h"
#include "lib/process/system_limits.h"
#include "lib/process/termination.h"
#include "lib/telemetry/http_endpoint.h"
#include "lib/telemetry/log.h"
#include "operator/controller/operator.h"
#include "operator/objects/defaults/read_pod_defaults.h"
#include "operator/objects/pods/image_nodes.h"

namespace paceline::controller {
namespace {

struct Options {
  std::string kubeconfig, context;  // Empty: as kubectl does, or the pod's own.
  std::string name_space;
  std::string own_namespace = "paceline-system";
  std::vector<std::string> own_labels;  // "key=value" each.
  std::string installation = "paceline-operator";
  std::vector<std::string> adopt, adopt_seeds;
  std::string identity;
  bool leader_elect = true;
  std::string metrics_address = "0.0.0.0:8080";
  std::string health_address = "0.0.0.0:8081";
  std::string health_port_file;
  std::string server_image = "paceline/ps:latest";
  std::string worker_image = "paceline/worker:latest";
  std::string worker_cuda_image;
  std::string image_architecture{OwnArchitecture()};
  GangScheduler gang_scheduler = GangScheduler::kNone;
  std::string pod_defaults;  // A file; empty: none.
  int threads = 4;
  std::string termination_message;
  std::string log_format = "json";
};

constexpr Duration kSyncTimeout = std::chrono::seconds(120);
constexpr Duration kTidyPeriod = std::chrono::seconds(10);
constexpr Duration kEndingGrace = std::chrono::seconds(10);

// Ends the main thread's wait, once.
class Ending {
 public:
  void Because(Status why) {
    const std::lock_guard lock(mutex_);
    if (!why_) why_ = std::move(why);
    changed_.notify_all();
  }
  // Calls `meanwhile` each `period`.
  Status Wait(Duration period, const std::function<void()>& meanwhile) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, period, [this] { return why_.has_value(); })) {
      lock.unlock();
      meanwhile();
      lock.lock();
    }
    return *why_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Status> why_;
};

StatusOr<telemetry::HttpEndpointOptions> Endpoint(const std::string& address,
                                                  std::vector<telemetry::HttpRoute> routes) {
  const size_t colon = address.rfind(':');
  const int port = colon == std::string::npos ? -1 : std::atoi(address.c_str() + colon + 1);
  if (port < 0 || port > 65535)
    return InvalidArgument("address must be host:port, such as 0.0.0.0:8080: got {}", address);
  return telemetry::HttpEndpointOptions{
      .host = address.substr(0, colon), .port = port, .routes = std::move(routes)};
}

std::string UniqueIdentity(const std::string& given) {
  char host[256] = "operator";
  gethostname(host, sizeof host - 1);
  return fmt::format("{}_{:08x}", given.empty() ? host : given, std::random_device{}());
}

kube::ConfigSource SourceOf(const Options& options) {
  kube::ConfigSource source = kube::ConfigSource::FromEnvironment();
  if (!options.kubeconfig.empty()) source.kubeconfig = options.kubeconfig;
  if (!options.context.empty()) source.context = options.context;
  return source;
}

std::map<std::string, std::string> LabelsOf(const std::vector<std::string>& pairs) {
  std::map<std::string, std::string> labels;
  for (const std::string& pair : pairs) {
    const size_t equals = pair.find('=');  // There is one: the command line's check.
    labels[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return labels;
}

std::string ArchitectureOf(const Options& options) {
  return options.image_architecture == "any" ? "" : options.image_architecture;
}

StatusOr<PodDefaults> PodDefaultsOf(const std::string& file) {
  if (file.empty()) return PodDefaults{};
  const std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in.is_open() || text.bad())
    return InvalidArgument("--pod-defaults cannot be read: {}", file);
  ReadDefaults read = ReadPodDefaults(text.str());
  if (read.errors.empty()) return std::move(read.defaults);
  std::string wrong;
  for (const job::FieldError& error : read.errors)
    wrong += (wrong.empty() ? "" : "; ") + ToString(error);
  return InvalidArgument("--pod-defaults {}: {}", file, wrong);
}

OperatorOptions OperatorOptionsOf(const Options& options, PodDefaults defaults) {
  return {.name_space = options.name_space,
          .identity = UniqueIdentity(options.identity),
          .elects_leader = options.leader_elect,
          .lease = {options.own_namespace, options.installation + "-leader"},
          .former_lease = {options.own_namespace, "paceline-operator"},
          .threads = options.threads,
          .reconciler = {.objects = {.server_image = options.server_image,
                                     .worker_image = options.worker_image,
                                     .worker_cuda_image = options.worker_cuda_image,
                                     .image_architecture = ArchitectureOf(options),
                                     .operator_namespace = options.own_namespace,
                                     .operator_labels = LabelsOf(options.own_labels),
                                     .gang_scheduler = options.gang_scheduler},
                         .installation = {.place = {options.own_namespace, options.installation},
                                          .adopted = options.adopt,
                                          .adopted_seeds = options.adopt_seeds},
                         .defaults = std::move(defaults),
                         .plan = {.gangs = options.gang_scheduler == GangScheduler::kNone
                                               ? job::GangPlacement::kNobody
                                               : job::GangPlacement::kByScheduler,
                                  .can_recover_shards = true,
                                  .serves_models = true,
                                  .ending_grace = kEndingGrace}}};
}

Status Run(const Options& options) {
  PACELINE_ASSIGN_OR_RETURN(PodDefaults defaults, PodDefaultsOf(options.pod_defaults));
  PACELINE_ASSIGN_OR_RETURN(kube::Config config, kube::LoadConfig(SourceOf(options)));
  telemetry::Metrics metrics;
  OperatorMetrics operator_metrics(&metrics);
  PACELINE_ASSIGN_OR_RETURN(
      const std::unique_ptr<kube::Client> client,
      kube::Client::Create(std::move(config), {.user_agent = "paceline-operator",
                                               .observe = [&](const kube::CallRecord& call) {
                                                 operator_metrics.Called(call);
                                               }}));
  Ending ending;
  const process::TerminationSignals signals([&] { ending.Because(OkStatus()); });
  Operator the_operator(client.get(), &operator_metrics,
                        OperatorOptionsOf(options, std::move(defaults)),
                        [&] { ending.Because(Aborted("another operator leads")); });

  const auto show_metrics = [&](const telemetry::HttpRequest&) {
    operator_metrics.Count(the_operator.Jobs(), the_operator.JobsOfOthers());
    return telemetry::HttpAnswer{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                                 .body = metrics.RenderText()};
  };
  const auto ready = [&]() -> Status {
    return the_operator.IsReady() ? OkStatus() : Unavailable("the cluster is not listed yet");
  };
  PACELINE_ASSIGN_OR_RETURN(telemetry::HttpEndpointOptions metrics_options,
                            Endpoint(options.metrics_address, {{"/metrics", show_metrics}}));
  PACELINE_ASSIGN_OR_RETURN(telemetry::HttpEndpointOptions health_options,
                            Endpoint(options.health_address,
                                     {telemetry::HealthRoute(), telemetry::ReadinessRoute(ready)}));
  PACELINE_ASSIGN_OR_RETURN(const auto metrics_endpoint,
                            telemetry::HttpEndpoint::Start(std::move(metrics_options)));
  PACELINE_ASSIGN_OR_RETURN(const auto health_endpoint,
                            telemetry::HttpEndpoint::Start(std::move(health_options)));
  telemetry::Log(telemetry::LogLevel::kInfo, "operating",
                 {{"server", client->config().server},
                  {"namespace", options.name_space.empty() ? "(all)" : options.name_space},
                  {"pod_defaults", options.pod_defaults.empty() ? "(none)" : options.pod_defaults},
                  {"metrics_port", metrics_endpoint->port()},
                  {"health_port", health_endpoint->port()}});
  PACELINE_RETURN_IF_ERROR(the_operator.Start(kSyncTimeout));
  Status end = ending.Wait(kTidyPeriod, process::KeepToWhatIsUsed);
  metrics_endpoint->Stop();
  health_endpoint->Stop();
  the_operator.Stop();
  return end;
}

}  // namespace
}  // namespace paceline::controller

// What nobody catches ends in ReportCrashes, with its stack.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  paceline::process::ReportCrashes(argv[0]);
  paceline::process::RaiseDescriptorLimit();
  paceline::controller::Options options;
  CLI::App app("Makes the cluster agree with each TrainingJob.", "paceline-operator");
  app.add_option("--kubeconfig", options.kubeconfig, "File; default: KUBECONFIG or the pod's own");
  app.add_option("--context", options.context, "Of the kubeconfig; default: its current one");
  app.add_option("--namespace", options.name_space, "Look after jobs of this namespace only")
      ->envname("PACELINE_NAMESPACE");
  app.add_option("--operator-namespace", options.own_namespace,
                 "Where this program runs and its Lease lies")
      ->envname("POD_NAMESPACE");
  app.add_option(
      "--installation", options.installation,
      "What tells it from other installations of Paceline in its namespace; its Lease is "
      "NAME-leader");
  app.add_option("--adopt", options.adopt,
                 "Installations of Paceline that are gone, as status.installation of their jobs "
                 "names them, or * for all others: this one takes their jobs once those are "
                 "suspended or over")
      ->delimiter(',');
  app.add_option("--adopt-seed", options.adopt_seeds,
                 "Secrets in the operator's namespace with the seeds of such: this one takes their "
                 "jobs at once")
      ->delimiter(',');
  app.add_option("--identity", options.identity, "In the Lease and in events; default: host name")
      ->envname("POD_NAME");
  app.add_option("--leader-elect", options.leader_elect,
                 "false: act at once, without asking whether another one does");
  app.add_option("--metrics-address", options.metrics_address, "host:port of /metrics");
  app.add_option("--health-address", options.health_address, "host:port of /healthz and /readyz");
  app.add_option("--ps-image", options.server_image, "Where a template names none")
      ->envname("PACELINE_PS_IMAGE");
  app.add_option("--worker-image", options.worker_image, "Where a template names none")
      ->envname("PACELINE_WORKER_IMAGE");
  app.add_option("--worker-cuda-image", options.worker_cuda_image,
                 "The same of workers that compute on a GPU (default: the worker image)")
      ->envname("PACELINE_WORKER_CUDA_IMAGE");
  app.add_option("--image-architecture", options.image_architecture,
                 "Of the nodes that these images are for, as kubernetes.io/arch has it, or any "
                 "(default: this program's)")
      ->envname("PACELINE_IMAGE_ARCHITECTURE");
  app.add_option("--operator-labels", options.own_labels,
                 "Labels that the operator's pods have, key=value and more after commas: jobs let "
                 "only such pods of its namespace to their API; without them, all of its pods")
      ->delimiter(',')
      ->check(
          [](const std::string& pair) {
            const size_t equals = pair.find('=');
            const bool is_pair = equals != std::string::npos && equals > 0;
            return is_pair ? "" : "must be key=value: got \"" + pair + "\"";
          },
          "KEY=VALUE");
  app.add_option("--gang-scheduler", options.gang_scheduler, "Whose PodGroups are made")
      ->transform(
          CLI::CheckedTransformer(std::map<std::string, paceline::controller::GangScheduler>{
              {"none", paceline::controller::GangScheduler::kNone},
              {"volcano", paceline::controller::GangScheduler::kVolcano},
              {"coscheduling", paceline::controller::GangScheduler::kCoscheduling}}));
  app.add_option("--pod-defaults", options.pod_defaults,
                 "File, YAML or JSON, with what the pods of all jobs begin with")
      ->envname("PACELINE_POD_DEFAULTS");
  app.add_option("--threads", options.threads, "Jobs that are looked at side by side")
      ->check(CLI::Range(1, 64));
  app.add_option("--termination-message", options.termination_message,
                 "File that gets why the process failed");
  app.add_option("--log-format", options.log_format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? paceline::process::kExitDone : paceline::process::kExitCannotWork;
  }
  paceline::telemetry::ConfigureLog(
      {.program = "paceline-operator",
       .format = *paceline::telemetry::ParseLogFormat(options.log_format)});
  paceline::process::SayWhichLimit(options.termination_message);
  paceline::process::EndWhereNoThreadStarts();
  paceline::process::BlockTerminationSignals();
  paceline::process::EndProcess(paceline::controller::Run(options), "paceline-operator",
                                options.termination_message);
}

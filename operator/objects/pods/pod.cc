#include "operator/objects/pods/pod.h"

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "lib/job/environment.h"
#include "lib/job/manifest/encode.h"
#include "lib/job/state/checkpoint_place.h"
#include "lib/job/state/device.h"
#include "lib/job/state/model_place.h"
#include "lib/job/worker_groups.h"
#include "operator/objects/json_at.h"
#include "operator/objects/names.h"
#include "operator/objects/pods/arguments.h"
#include "operator/objects/pods/disruption.h"
#include "operator/objects/pods/image_nodes.h"
#include "operator/objects/pods/lay.h"
#include "operator/objects/pods/pod_group.h"
#include "operator/objects/pods/volume_source.h"
#include "operator/objects/secrets.h"

namespace paceline::controller {
namespace {

constexpr int kUser = 65532;  // As in Paceline's images; no account of a host has it.
constexpr int kWorkerGraceSeconds = 30;
// A parameter server stays until the last checkpoint is written.
constexpr int kServerGraceSeconds = 60;

// A volume of ours and where it is mounted. It replaces one of the template with the same name.
struct Mounted {
  std::string name;
  Json source;
  std::string path;
  bool read_only = false;
};

// The process's own items, of a Secret that holds those of others too.
Json TlsVolumeSource(const job::TrainingJob& job, const job::Start& start, int mode) {
  const tls::Role role = TlsRoleOf(start.role);
  const auto index = static_cast<uint64_t>(tls::HasIndex(role) ? start.index : 0);
  return {{"secret",
           {{"secretName", TlsSecretName(job, role, index / kIdentitiesPerSecret, start.group)},
            {"items", TlsItems(index)},
            {"defaultMode", mode}}}};
}

// Files of a Secret are root's and of the pod's fsGroup. Without one they are of root's group,
// which the container's user need not have; only the pod's own containers see them.
int ModeOfKeys(const Json& spec) {
  return NumberAt(At(spec, "securityContext"), "fsGroup") > 0 ? 0440 : 0444;
}

std::vector<Mounted> OurVolumes(const job::TrainingJob& job, const job::Start& start,
                                int mode_of_keys) {
  std::vector<Mounted> volumes = {{"paceline-config",
                                   {{"configMap", {{"name", ConfigMapName(job)}}}},
                                   std::string(kConfigFolder),
                                   true},
                                  {"paceline-tmp", {{"emptyDir", Json::object()}}, "/tmp"}};
  if (job.spec.security.mtls == job::Toggle::kEnabled) {
    volumes.push_back(
        {"paceline-tls", TlsVolumeSource(job, start, mode_of_keys), std::string(kTlsFolder), true});
  }
  if (start.role != job::Role::kParameterServer) return volumes;
  const auto add = [&](const char* name, Json source, std::string_view path) {
    volumes.push_back({name, std::move(source), std::string(path)});
  };
  if (NeedsToken(job) && start.index == 0) {
    add("paceline-token",
        {{"secret", {{"secretName", TokenSecretName(job)}, {"defaultMode", mode_of_keys}}}},
        kTokenFolder);
    volumes.back().read_only = true;
  }
  const job::CheckpointPlace place = job::CheckpointPlaceOf(job.spec, start.shares_output);
  const bool is_output_used = start.index == 0 || place == job::CheckpointPlace::kOutputVolume;
  if (job.spec.output.volume && is_output_used)
    add("paceline-output", OutputVolumeSource(job), kOutputFolder);
  if (place == job::CheckpointPlace::kVolume) {
    add("paceline-checkpoint", CheckpointVolumeSource(job), kCheckpointFolder);
  } else if (place == job::CheckpointPlace::kClaimTemplate) {
    add("paceline-checkpoint",
        {{"persistentVolumeClaim", {{"claimName", CheckpointClaimName(job, start.index)}}}},
        kCheckpointFolder);
  }
  return volumes;
}

void LayVolumes(const job::TrainingJob& job, const job::Start& start, Json& spec, Json& container) {
  for (const Mounted& mounted : OurVolumes(job, start, ModeOfKeys(spec))) {
    Json& mounts = ListAt(container, "volumeMounts");
    const bool is_taken = std::any_of(mounts.begin(), mounts.end(), [&](const Json& mount) {
      return TextAt(mount, "mountPath") == mounted.path;
    });
    if (is_taken) continue;  // The template mounts something of its own there, a larger /tmp say.
    Json volume = mounted.source;
    volume["name"] = mounted.name;
    Named(ListAt(spec, "volumes"), "name", mounted.name) = std::move(volume);
    Json mount = {{"name", mounted.name}, {"mountPath", mounted.path}};
    if (mounted.read_only) mount["readOnly"] = true;
    mounts.push_back(std::move(mount));
  }
}

// The field that says how many cores the container may use, or at least has.
std::optional<std::string> CoresGiven(const Json& container) {
  for (const char* const kind : {"limits", "requests"}) {
    if (!At(At(At(container, "resources"), kind), "cpu").is_null())
      return fmt::format("{}.cpu", kind);
  }
  return std::nullopt;
}

void LayEnvironment(const job::TrainingJob& job, job::Role role, Json& container) {
  Json& environment = ListAt(container, "env");
  Json ours = Json::array();
  const auto add = [&](const char* name, Json value) {
    const bool is_theirs =
        std::any_of(environment.begin(), environment.end(),
                    [&](const Json& variable) { return TextAt(variable, "name") == name; });
    if (is_theirs) return;
    value["name"] = name;
    ours.push_back(std::move(value));
  };
  add("PACELINE_NODE_NAME", {{"valueFrom", {{"fieldRef", {{"fieldPath", "spec.nodeName"}}}}}});
  // Where the template names neither, the worker sees for itself whether something limits it: asked
  // for a limit that is not there, the kubelet would say all cores of the node.
  const std::optional<std::string> cores = CoresGiven(container);
  if (role != job::Role::kParameterServer && cores) {
    add("OMP_NUM_THREADS",
        {{"valueFrom",
          {{"resourceFieldRef", {{"containerName", ContainerName(role)}, {"resource", *cores}}}}}});
  }
  if (role != job::Role::kParameterServer && !job.spec.workers.command.empty()) {
    for (const auto& [name, value] : job::ForScripts(job.spec.training.seed))
      add(name.c_str(), {{"value", value}});
  }
  ours.insert(ours.end(), environment.begin(), environment.end());
  environment = std::move(ours);
}

void LayProbes(Json& container) {
  const auto probe = [](const char* path, int period_seconds, int failures) {
    return Json{{"httpGet", {{"path", path}, {"port", kMetricsPort}}},
                {"periodSeconds", period_seconds},
                {"timeoutSeconds", 5},
                {"failureThreshold", failures}};
  };
  Default(container, "startupProbe", probe("/healthz", 2, 60));
  Default(container, "livenessProbe", probe("/healthz", 10, 6));
  // It can be used as soon as it answers; /readyz says more, whether training has opened.
  Default(container, "readinessProbe", probe("/healthz", 5, 3));
}

// Of the workers' own template, which has the command that an evaluator runs too; "" if it names
// none.
std::string CommandImage(const job::Workers& workers) {
  const job::PodTemplate& pod_template = *job::GroupsOf(workers).front().pod_template;
  if (!pod_template) return "";
  Json pod = job::ToJson(*pod_template);
  Json& spec = ObjectAt(pod, "spec");
  return TextAt(Named(ListAt(spec, "containers"), "name", ContainerName(job::Role::kWorker)),
                "image");
}

std::string ImageOf(const job::TrainingJob& job, const job::Start& start,
                    const ObjectOptions& options) {
  if (start.role == job::Role::kParameterServer) return options.server_image;
  if (!job.spec.workers.command.empty()) {
    if (std::string image = CommandImage(job.spec.workers); !image.empty()) return image;
  }
  const job::Computes device = job::DeviceOf(job.spec, start.role, start.group).device;
  const bool may_use_gpu = device != job::Computes::kCpu;
  return may_use_gpu && !options.worker_cuda_image.empty() ? options.worker_cuda_image
                                                           : options.worker_image;
}

// Ours, told by its arguments; or the workers' own, told by its environment. A template's arguments
// come last.
void LayCommand(const job::TrainingJob& job, const job::Start& start, Json& container) {
  const std::vector<std::string> ours = ProgramArguments(job, start);
  const job::Workers& workers = job.spec.workers;
  if (start.role == job::Role::kParameterServer || workers.command.empty()) {
    Needed(container, "command", Json::array({ProgramOf(start.role)}));
    Json arguments = ours;
    if (container.contains("args") && container["args"].is_array())
      arguments.insert(arguments.end(), container["args"].begin(), container["args"].end());
    container["args"] = std::move(arguments);
    return;
  }
  container["command"] = workers.command;
  if (workers.working_dir) container["workingDir"] = *workers.working_dir;
  Json& environment = ListAt(container, "env");
  for (const auto& [name, value] : job::AsEnvironment(ours))
    Named(environment, "name", name) = {{"name", name}, {"value", value}};
}

void LayContainer(const job::TrainingJob& job, const job::Start& start,
                  const ObjectOptions& options, Json& spec) {
  const bool is_server = start.role == job::Role::kParameterServer;
  Json& container = Named(ListAt(spec, "containers"), "name", ContainerName(start.role));
  Needed(container, "image", ImageOf(job, start, options));
  LayCommand(job, start, container);
  LayEnvironment(job, start.role, container);
  LayVolumes(job, start, spec, container);
  if (is_server) {
    Json& ports = ListAt(container, "ports");
    Named(ports, "name", "bulk")["containerPort"] = kBulkPort;
    if (start.index == 0) Named(ports, "name", "api")["containerPort"] = kApiPort;
    Named(ports, "name", "metrics")["containerPort"] = kMetricsPort;
    LayProbes(container);
  }
  Default(container, "terminationMessagePolicy", "FallbackToLogsOnError");
  if (!IsLeftIn(container, "securityContext")) return;
  Json& security = container["securityContext"];
  Default(security, "allowPrivilegeEscalation", false);
  Default(security, "readOnlyRootFilesystem", true);
  Default(security, "capabilities", {{"drop", Json::array({"ALL"})}});
}

void LayUsers(Json& spec) {
  if (!IsLeftIn(spec, "securityContext")) return;
  Json& security = spec["securityContext"];
  Default(security, "runAsNonRoot", true);
  Default(security, "runAsUser", kUser);
  Default(security, "runAsGroup", kUser);
  Default(security, "fsGroup", kUser);
  // Else the kubelet gives all files of a volume to the group at each start of a pod.
  if (!security["fsGroup"].is_null()) Default(security, "fsGroupChangePolicy", "OnRootMismatch");
  Default(security, "seccompProfile", {{"type", "RuntimeDefault"}});
}

void LayTolerations(const job::TrainingJob& job, Json& spec) {
  Json& tolerations = ListAt(spec, "tolerations");
  for (const char* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    const bool is_theirs =
        std::any_of(tolerations.begin(), tolerations.end(),
                    [&](const Json& toleration) { return TextAt(toleration, "key") == key; });
    if (is_theirs) continue;
    tolerations.push_back({{"key", key},
                           {"operator", "Exists"},
                           {"effect", "NoExecute"},
                           {"tolerationSeconds", job.spec.run_policy.node_lost_seconds}});
  }
}

void LayGang(const job::TrainingJob& job, const job::Start& start, const ObjectOptions& options,
             Json& pod) {
  const job::SchedulingPolicy& policy = job.spec.run_policy.scheduling_policy;
  if (policy.priority_class) Default(pod["spec"], "priorityClassName", *policy.priority_class);
  if (policy.scheduler_name) Default(pod["spec"], "schedulerName", *policy.scheduler_name);
  if (!WantsPodGroup(job, options)) return;
  if (options.gang_scheduler == GangScheduler::kVolcano) {
    Default(pod["spec"], "schedulerName", "volcano");
    Json& annotations = ObjectAt(pod["metadata"], "annotations");
    annotations["scheduling.k8s.io/group-name"] = PodGroupName(job);
    if (!job.spec.workers.groups.empty()) {  // By which the PodGroup counts kinds of pods.
      annotations["volcano.sh/task-spec"] = job::IdOf(start.role, 0, start.group).group;
    }
  } else {
    ObjectAt(pod["metadata"], "labels")["scheduling.x-k8s.io/pod-group"] = PodGroupName(job);
  }
}

// Whether no node meets it.
bool IsEmptyTerm(const Json& term) {
  return std::all_of(term.begin(), term.end(),
                     [](const Json& requirements) { return requirements.empty(); });
}

// A mere preference loses where the avoided node is the emptiest, which it is: the process has just
// left it. The planner gives up what no other node can grant. By the node's own name: its label
// kubernetes.io/hostname may say another.
void LayAvoidance(const job::Start& start, Json& spec) {
  if (start.avoid_node.empty()) return;
  const Json elsewhere = {
      {"key", "metadata.name"}, {"operator", "NotIn"}, {"values", Json::array({start.avoid_node})}};
  Json& affinity = ObjectAt(ObjectAt(spec, "affinity"), "nodeAffinity");
  if (start.may_use_avoided_node) {
    ListAt(affinity, "preferredDuringSchedulingIgnoredDuringExecution")
        .push_back({{"weight", 100}, {"preference", {{"matchFields", Json::array({elsewhere})}}}});
    return;
  }
  Json& terms = ListAt(ObjectAt(affinity, "requiredDuringSchedulingIgnoredDuringExecution"),
                       "nodeSelectorTerms");
  if (terms.empty()) {
    terms.push_back({{"matchFields", Json::array({elsewhere})}});
    return;
  }
  for (Json& term : terms) {  // A node that meets one of them is enough.
    if (!IsEmptyTerm(term)) ListAt(term, "matchFields").push_back(elsewhere);
  }
}

// The template's labels and annotations, with ours over them.
void LayMetadata(const job::TrainingJob& job, const job::Start& start, Json& pod) {
  Json& metadata = ObjectAt(pod, "metadata");
  Json labels = ObjectAt(metadata, "labels"), annotations = ObjectAt(metadata, "annotations");
  metadata = ChildMetadata(job, start.name, {});
  labels.update(Json(PodLabels(job, start)));
  annotations[std::string(kGenerationAnnotation)] = std::to_string(start.generation_start);
  annotations[std::string(kAttemptAnnotation)] = std::to_string(start.attempt);
  annotations[std::string(kFailuresAnnotation)] = std::to_string(start.failures);
  if (start.unfit > 0) annotations[std::string(kUnfitAnnotation)] = std::to_string(start.unfit);
  if (start.disruptions > 0)
    annotations[std::string(kDisruptionsAnnotation)] = std::to_string(start.disruptions);
  metadata["labels"] = std::move(labels);
  metadata["annotations"] = std::move(annotations);
}

}  // namespace

const job::PodTemplate& TemplateOf(const job::JobSpec& spec, const job::Start& start) {
  static const job::PodTemplate none;
  switch (start.role) {
    case job::Role::kParameterServer:
      return spec.parameter_server.pod_template;
    case job::Role::kWorker: {
      const auto group = job::FindGroup(spec.workers, start.group);
      return group ? *group->pod_template : none;
    }
    case job::Role::kEvaluator:
      return spec.evaluator ? spec.evaluator->pod_template : none;
  }
  return none;
}

std::string TemplatePath(const job::JobSpec& spec, const job::Start& start) {
  switch (start.role) {
    case job::Role::kParameterServer:
      return "spec.parameterServer.template";
    case job::Role::kWorker: {
      const auto group = job::FindGroup(spec.workers, start.group);
      return (group ? group->path : "spec.workers") + ".template";
    }
    case job::Role::kEvaluator:
      return "spec.evaluator.template";
  }
  return "";
}

Json BuildPod(const job::TrainingJob& job, const job::Start& start, const ObjectOptions& options) {
  const job::PodTemplate& pod_template = TemplateOf(job.spec, start);
  Json pod = pod_template ? job::ToJson(*pod_template) : Json::object();
  if (!pod.is_object()) pod = Json::object();
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  LayMetadata(job, start, pod);
  LayDisruption(job, start, pod);
  Json& spec = ObjectAt(pod, "spec");
  spec["restartPolicy"] = "Never";  // Every restart is the planner's.
  spec["hostname"] = start.name;
  spec["subdomain"] = ServiceName(job);
  Default(spec, "automountServiceAccountToken", false);
  Default(spec, "enableServiceLinks", false);
  Default(spec, "terminationGracePeriodSeconds",
          start.role == job::Role::kParameterServer ? kServerGraceSeconds : kWorkerGraceSeconds);
  LayUsers(spec);
  LayTolerations(job, spec);
  LayAvoidance(start, spec);
  LayContainer(job, start, options, spec);
  LayImageNodes(options, ContainerName(start.role), spec);
  LayGang(job, start, options, pod);
  DropNulls(pod);
  return pod;
}

}  // namespace paceline::controller

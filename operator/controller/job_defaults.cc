#include "operator/controller/job_defaults.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "lib/job/manifest/encode.h"
#include "lib/job/manifest/field_error.h"
#include "lib/job/plan/plan.h"
#include "lib/job/state/device.h"
#include "lib/kube/core/metadata.h"
#include "lib/kube/core/object_key.h"
#include "lib/telemetry/log.h"
#include "operator/controller/observe.h"
#include "operator/controller/resources.h"
#include "operator/objects/json_at.h"
#include "operator/objects/names.h"
#include "operator/objects/pods/pod.h"

namespace paceline::controller {
namespace {

bool NamesImage(const job::PodTemplate& pod_template, std::string_view container) {
  if (!pod_template) return false;
  const Json pod = job::ToJson(*pod_template);
  return !TextAt(Among(At(At(pod, "spec"), "containers"), "name", container), "image").empty();
}

bool HasBegun(const job::TrainingJob& job, const std::vector<OwnPod>& own,
              const JobRecord& record) {
  if (!own.empty()) return true;
  return RecordedStarts(job, own, record) > 0 &&
         !job::Holds(job.status, job::ConditionType::kSuspended);
}

// Of a job that was begun before there was a record: what its pods have, where no template names
// it.
Json ImagesOfPods(const job::TrainingJob& job, const std::vector<OwnPod>& own) {
  std::map<std::string, std::set<std::string>> found;
  for (const OwnPod& one : own) {
    const job::SeenProcess& process = one.process;
    const std::string_view container = ContainerName(process.role);
    const job::Start start{.role = process.role, .index = process.index, .group = process.group};
    const bool is_server = process.role == job::Role::kParameterServer;
    const bool is_theirs = NamesImage(TemplateOf(job.spec, start), container) ||
                           (!is_server && !job.spec.workers.command.empty());
    const std::string image =
        TextAt(Among(At(At(*one.pod, "spec"), "containers"), "name", container), "image");
    if (image.empty() || is_theirs) continue;
    const bool may_use_gpu =
        !is_server &&
        job::DeviceOf(job.spec, process.role, process.group).device != job::Computes::kCpu;
    found[is_server ? "ps" : may_use_gpu ? "workerCuda" : "worker"].insert(image);
  }
  Json images = Json::object();
  for (const auto& [name, all] : found) {
    if (all.size() == 1) images[name] = *all.begin();
  }
  return images;
}

PodDefaults Recorded(const job::TrainingJob& job, const std::vector<OwnPod>& own,
                     const ClusterView& view) {
  PodDefaults defaults;
  const kube::ObjectPtr map =
      view.Child(kube::ConfigMaps().plural, {job.metadata.name_space, ConfigMapName(job)});
  if (map != nullptr && IsControlledBy(*map, job.metadata.uid.value_or(""))) {
    for (const job::FieldError& error : ReadRecord(*map, defaults)) {
      telemetry::Log(telemetry::LogLevel::kWarning, "default of a job's pods is left out",
                     {{"job", kube::ObjectKey{job.metadata.name_space, job.metadata.name}},
                      {"config_map", ConfigMapName(job)},
                      {"reason", ToString(error)}});
    }
  }
  if (defaults.images.empty()) defaults.images = ImagesOfPods(job, own);
  return defaults;
}

}  // namespace

void SettleDefaults(const job::TrainingJob& job, const std::vector<OwnPod>& own,
                    const ClusterView& view, const PodDefaults& todays, JobRecord& record) {
  const bool has_begun = HasBegun(job, own, record);
  if (has_begun && record.defaults) return;
  PodDefaults defaults = has_begun ? Recorded(job, own, view) : todays;
  if (record.defaults == defaults) return;
  record.children = {};
  record.certificates = {.defaults = defaults};
  record.token = {.defaults = defaults};
  record.defaults = std::move(defaults);
}

}  // namespace paceline::controller

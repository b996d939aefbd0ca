#include "operator/controller/job_defaults.h"

#include <string>
#include <utility>

#include "lib/kube/core/metadata.h"
#include "lib/telemetry/log.h"
#include "operator/controller/observe.h"
#include "operator/controller/resources.h"
#include "operator/objects/names.h"
#include "operator/objects/read_pod_defaults.h"

namespace paceline::controller {
namespace {

bool HasBegun(const job::TrainingJob& job, const std::vector<OwnPod>& own,
              const JobRecord& record) {
  if (!own.empty()) return true;
  return RecordedStarts(job, own, record) > 0 &&
         !job::Holds(job.status, job::ConditionType::kSuspended);
}

// Also what another version has written is taken as far as it is known.
PodDefaults Recorded(const job::TrainingJob& job, const ClusterView& view) {
  const kube::ObjectPtr map =
      view.Child(kube::ConfigMaps().plural, {job.metadata.name_space, ConfigMapName(job)});
  if (map == nullptr || !IsControlledBy(*map, job.metadata.uid.value_or(""))) return {};
  const std::string text = kube::Annotation(*map, std::string(kDefaultsAnnotation));
  if (text.empty()) return {};
  ReadDefaults read = ReadPodDefaults(text);
  for (const job::FieldError& error : read.errors) {
    telemetry::Log(telemetry::LogLevel::kWarning, "default of a job's pods is left out",
                   {{"job", kube::ObjectKey{job.metadata.name_space, job.metadata.name}},
                    {"config_map", ConfigMapName(job)},
                    {"reason", ToString(error)}});
  }
  return std::move(read.defaults);
}

}  // namespace

void SettleDefaults(const job::TrainingJob& job, const std::vector<OwnPod>& own,
                    const ClusterView& view, const PodDefaults& todays, JobRecord& record) {
  const bool has_begun = HasBegun(job, own, record);
  if (has_begun && record.defaults) return;
  PodDefaults defaults = has_begun ? Recorded(job, view) : todays;
  if (record.defaults == defaults) return;
  record.children = {};
  record.certificates = {.defaults = defaults};
  record.token = {.defaults = defaults};
  record.defaults = std::move(defaults);
}

}  // namespace paceline::controller

#include "ps-server/live_job.h"

#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "lib/base/json_text.h"
#include "lib/job/checks/validate.h"
#include "lib/job/manifest/encode.h"
#include "lib/job/policy_spec.h"
#include "lib/job/worker_groups.h"
#include "lib/sync/schemes/policy_factory.h"
#include "lib/telemetry/log.h"
#include "ps-server/job_options.h"

namespace paceline::ps {
namespace {

using nlohmann::json;

// The path of the first difference, below `path`.
std::optional<std::string> Difference(const json& from, const json& to, const std::string& path) {
  if (from == to) return std::nullopt;
  if (from.is_object() && to.is_object()) {
    for (const auto& [key, value] : from.items()) {
      const json other = to.contains(key) ? to[key] : json();
      if (auto found = Difference(value, other, path + "." + key)) return found;
    }
    for (const auto& [key, value] : to.items()) {
      if (!from.contains(key)) return Difference(json(), value, path + "." + key);
    }
  }
  return fmt::format("{} cannot change while the job runs: from {} to {}", path, JsonText(from),
                     JsonText(to));
}

// Of the planner's matters (checkpoints, stragglers, volumes) it has judged itself; policies are
// ours.
job::Capabilities Takeable() {
  job::Capabilities takeable = job::Capabilities::All();
  takeable.schemes = job::Capabilities().schemes;
  takeable.batch_strategies = job::Capabilities().batch_strategies;
  return takeable;
}

void SayCautions(const job::TrainingJob& job) {
  for (const std::string& caution : job::CautionsOf(job))
    telemetry::Log(telemetry::LogLevel::kWarning, "caution", {{"what", caution}});
}

}  // namespace

Status CheckUnchanged(const job::TrainingJob& from, const job::TrainingJob& to) {
  job::TrainingJob on_course = from;
  on_course.spec.training.stop.max_epochs = to.spec.training.stop.max_epochs;
  on_course.spec.training.stop.max_steps = to.spec.training.stop.max_steps;
  on_course.spec.training.learning_rate.base = to.spec.training.learning_rate.base;
  const json before = job::ToJson(on_course);
  const json after = job::ToJson(to);
  for (const char* const place :
       {"/metadata/name", "/metadata/namespace", "/spec/model", "/spec/data", "/spec/training",
        "/spec/parameterServer/shards", "/spec/chaos"}) {
    const json::json_pointer pointer(place);
    std::string path = place + 1;
    for (char& c : path) {
      if (c == '/') c = '.';
    }
    const auto difference =
        Difference(before.value(pointer, json()), after.value(pointer, json()), path);
    if (difference) return FailedPrecondition("{}", *difference);
  }
  return OkStatus();
}

LiveJob::LiveJob(job::TrainingJob job, sync::PolicySpec policy)
    : job_(std::move(job)), policy_(policy) {
  SayCautions(job_);
}

job::TrainingJob LiveJob::job() const {
  std::lock_guard lock(mutex_);
  return job_;
}

sync::PolicySpec LiveJob::policy() const {
  std::lock_guard lock(mutex_);
  return policy_;
}

StatusOr<coordination::SpecChanged> LiveJob::Take(const std::string& text) {
  job::Decoded decoded = job::FromJsonText(text, job::UnknownFields::kIgnore);
  std::vector<job::FieldError> errors = std::move(decoded.errors);
  if (errors.empty()) errors = job::Validate(decoded.job, Takeable());
  if (!errors.empty()) return InvalidArgument("{}", job::ToString(errors.front()));
  sync::PolicySpec policy = job::PolicySpecFrom(decoded.job);
  std::lock_guard lock(mutex_);
  PACELINE_RETURN_IF_ERROR(CheckUnchanged(job_, decoded.job));
  // The number of workers is coordination's to know; no other policy follows from it.
  policy.workers_expected = policy_.workers_expected;
  const job::Workers& workers = decoded.job.spec.workers;
  coordination::SpecChanged changed{
      .workers_wanted = static_cast<uint32_t>(job::ReplicasOf(workers)),
      .workers_min = static_cast<uint32_t>(job::NeededOf(workers)),
      .is_policy_changed = !sync::MayReconfigure(policy_, policy),
  };
  changed.groups = GroupsFrom(workers);
  if (!decoded.job.status.evaluator_gone.empty())
    changed.evaluator_gone = decoded.job.status.evaluator_gone;
  if (!changed.is_policy_changed && policy != policy_) changed.reconfigured = policy;
  if (decoded.job.spec.training != job_.spec.training) {
    const coordination::CoordinatorOptions options = CoordinatorOptionsFrom(decoded.job, 0);
    changed.course = coordination::Course{options.epochs_max, options.steps_max, options.schedule};
  }
  if (decoded.job.spec.evaluator && decoded.job.spec.evaluator != job_.spec.evaluator) {
    const coordination::CoordinatorOptions options = CoordinatorOptionsFrom(decoded.job, 0);
    changed.evaluations = coordination::Evaluations{
        options.evaluation_period, options.judging.measure, options.judging.least_gain};
  }
  if (workers.straggler_policy != job_.spec.workers.straggler_policy)
    changed.hang = CoordinatorOptionsFrom(decoded.job, 0).hang;
  if (policy != policy_) SayCautions(decoded.job);
  policy_ = policy;
  job_ = std::move(decoded.job);
  return changed;
}

}  // namespace paceline::ps

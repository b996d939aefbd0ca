#include "cli/commands/status_text.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/local/display/live_state.h"
#include "cli/local/display/progress_view.h"
#include "lib/job/manifest/values/metric.h"
#include "lib/job/plan/plan.h"

namespace paceline::commands {
namespace {

using job::ConditionStatus;
using job::ConditionType;

// True where all is well.
bool IsGood(ConditionType type) {
  return type == ConditionType::kCreated || type == ConditionType::kRunning ||
         type == ConditionType::kResourcesReady;
}

bool IsTold(const job::Condition& condition) {
  if (condition.type == ConditionType::kRunning) return false;  // The others say why it is not.
  return condition.status ==
         (IsGood(condition.type) ? ConditionStatus::kFalse : ConditionStatus::kTrue);
}

local::LiveState LiveStateOf(const job::TrainingJob& job) {
  const job::Progress& progress = *job.status.progress;
  const auto& target = job.spec.training.stop.target;
  const bool is_accuracy = !target || target->metric == job::kAccuracyMetric;
  local::LiveState state;
  state.phase = "training";
  state.step = static_cast<uint64_t>(progress.step);
  state.epochs = progress.epoch;
  state.percent = progress.percent;
  state.loss = progress.loss;
  if (is_accuracy) state.accuracy = progress.metric;
  if (!job::IsFinished(job.status)) state.eta_seconds = progress.eta_seconds;
  state.samples_per_second = progress.samples_per_second.value_or(0);
  return state;
}

// "  f1 0.8125": of a target that ProgressLine knows nothing of.
std::string OwnMetric(const job::TrainingJob& job) {
  const auto& target = job.spec.training.stop.target;
  const std::optional<double>& value = job.status.progress->metric;
  if (!target || !job::IsOwnMetric(target->metric) || !value) return "";
  return fmt::format("  {} {:.6g}", target->metric, *value);
}

// "workers: big 4/4, small 2/3".
std::string GroupsLine(const std::vector<job::GroupStatus>& groups) {
  std::vector<std::string> words;
  for (const job::GroupStatus& group : groups)
    words.push_back(fmt::format("{} {}/{}", group.name, group.ready, group.replicas));
  return fmt::format("workers: {}\n", fmt::join(words, ", "));
}

}  // namespace

std::string Headline(const job::TrainingJob& job) {
  return fmt::format(
      "{}/{}: {}\n", job.metadata.name_space, job.metadata.name,
      job.status.state.empty() ? "not looked at yet by an operator" : job.status.state);
}

std::string StatusText(const job::TrainingJob& job) {
  std::string text = Headline(job);
  if (job.status.progress) {
    const local::LiveState state = LiveStateOf(job);
    text +=
        fmt::format("{:.0f} %  {}{}\n", state.percent, local::ProgressLine(state), OwnMetric(job));
  }
  if (!job.status.worker_groups.empty()) text += GroupsLine(job.status.worker_groups);
  // Of a job that is over, how it ended is all there is to say.
  const bool is_over = job::IsFinished(job.status);
  for (const job::Condition& condition : job.status.conditions) {
    const bool is_end =
        condition.type == ConditionType::kSucceeded || condition.type == ConditionType::kFailed;
    if (!IsTold(condition) || (is_over && !is_end)) continue;
    text += fmt::format("{}: {}\n", condition.reason, condition.message);
  }
  return text;
}

}  // namespace paceline::commands

#include "operator/controller/refusal.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/job/plan/plan.h"

namespace paceline::controller {
namespace {

constexpr size_t kErrorsMax = 5;
constexpr std::string_view kInvalid = "InvalidSpec";

void Set(job::JobStatus& status, job::Condition condition, Time now) {
  auto place = std::find_if(status.conditions.begin(), status.conditions.end(),
                            [&](const auto& one) { return one.type >= condition.type; });
  const bool is_there = place != status.conditions.end() && place->type == condition.type;
  const bool is_same = is_there && place->status == condition.status;
  condition.last_transition_time = is_same ? place->last_transition_time : now;
  if (is_there)
    *place = std::move(condition);
  else
    status.conditions.insert(place, std::move(condition));
}

}  // namespace

job::JobStatus RefusedStatus(const job::TrainingJob& job,
                             const std::vector<job::FieldError>& errors, Time now) {
  std::string message;
  for (size_t i = 0; i < std::min(errors.size(), kErrorsMax); ++i)
    message += (i > 0 ? "; " : "") + job::ToString(errors[i]);
  if (errors.size() > kErrorsMax)
    message += fmt::format("; and {} more", errors.size() - kErrorsMax);
  job::JobStatus status = job.status;
  const int64_t generation = job.metadata.generation;
  if (job::FindCondition(status, job::ConditionType::kCreated) == nullptr) {
    Set(status,
        {.type = job::ConditionType::kCreated,
         .status = job::ConditionStatus::kTrue,
         .reason = std::string(job::ToWord(job::PlanReason::kJobSeen)),
         .message = "",
         .observed_generation = generation},
        now);
  }
  Set(status,
      {.type = job::ConditionType::kResourcesReady,
       .status = job::ConditionStatus::kFalse,
       .reason = std::string(kInvalid),
       .message = std::move(message),
       .observed_generation = generation},
      now);
  status.observed_generation = generation;
  if (!job::IsFinished(status)) status.state = kInvalid;
  return status;
}

void ShowTrouble(const JobRecord& record, job::Observation& seen) {
  for (const Status& status : {record.resources, record.pods, record.aside}) {
    if (status.ok()) continue;
    if (!seen.resources_trouble.empty()) seen.resources_trouble += "; ";
    seen.resources_trouble += Message(status);
  }
  seen.former_job = Describe(record.former);
  seen.terminating_claims = record.terminating_claims;
  seen.missing_claim = record.missing_claim;
  seen.output_claim = record.output_claim;
}

}  // namespace paceline::controller

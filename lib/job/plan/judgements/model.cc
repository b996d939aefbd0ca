#include <chrono>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/base/size_text.h"
#include "lib/job/plan/describe.h"
#include "lib/job/plan/judgements/judgements.h"
#include "lib/job/state/model_place.h"
#include "lib/job/state/rfc3339.h"

namespace paceline::job {
namespace {

// For how long a model waits for somebody to fetch it where the job says nothing of it.
constexpr Duration kKept = std::chrono::hours(24);

const SeenProcess* Coordinator(const Draft& draft) { return draft.Find(draft.wanted.front().name); }

Time KeptUntil(const Draft& draft) {
  const auto& ttl = draft.job.spec.run_policy.ttl_seconds_after_finished;
  const Time end = draft.plan.status.completion_time.value_or(draft.now);
  return end + (ttl ? Duration(std::chrono::seconds(*ttl)) : kKept);
}

std::string Command(const Draft& draft) {
  const Metadata& metadata = draft.job.metadata;
  return fmt::format("paceline fetch {} -n {}", metadata.name, metadata.name_space);
}

// Nothing is served any more; size and digest stay, by which a file is known to be that model.
void Settle(Draft& draft, ModelState state, PlanReason reason, std::string message) {
  ModelStatus& model = *draft.plan.status.model;
  model.state = state;
  model.where.clear();
  model.until.reset();
  model.message = message;
  draft.Report(state == ModelState::kFetched ? EventType::kNormal : EventType::kWarning, reason,
               std::move(message));
}

// Why the coordinator can serve nothing any more.
std::string DescribeLoss(const Draft& draft, const SeenProcess* coordinator) {
  if (coordinator == nullptr)
    return draft.wanted.front().name + ", which served the model, is gone";
  if (coordinator->state == ProcessState::kExited && !coordinator->is_stopping)
    return DescribeExit(*coordinator) + " while it served the model";
  return DescribeAbsence(coordinator->name, coordinator);
}

// Of a model that is served: whether it still is.
void FollowServed(Draft& draft) {
  const SeenProcess* const coordinator = Coordinator(draft);
  const bool is_exited = coordinator != nullptr && coordinator->state == ProcessState::kExited;
  if (is_exited && draft.report != nullptr && draft.report->model &&
      draft.report->model->is_fetched) {
    return Settle(draft, ModelState::kFetched, PlanReason::kModelFetched,
                  "the model was fetched, and its digest confirmed");
  }
  if (coordinator == nullptr || is_exited || coordinator->is_stopping) {
    return Settle(draft, ModelState::kLost, PlanReason::kModelLost,
                  fmt::format("{}; nobody is known to have fetched it, and without "
                              "spec.output.volume it is nowhere else",
                              DescribeLoss(draft, coordinator)));
  }
  const Time until = *draft.plan.status.model->until;
  if (draft.now < until) return draft.RequeueAt(until);
  Settle(draft, ModelState::kExpired, PlanReason::kModelExpired,
         fmt::format("nobody fetched the model by {}; it goes with {}", FormatTime(until),
                     coordinator->name));
}

void BeginServing(Draft& draft) {
  ModelStatus& model = *draft.plan.status.model;
  model.state = ModelState::kAvailable;
  model.where = fmt::format("pod {}", draft.wanted.front().name);
  model.until = KeptUntil(draft);
  model.message = fmt::format("{} gets it; afterwards, or at the time given by `until`, it goes",
                              Command(draft));
  FollowServed(draft);
  if (draft.plan.status.model->state != ModelState::kAvailable) return;
  draft.Report(EventType::kNormal, PlanReason::kModelAvailable,
               fmt::format("the model, {}, is kept until {}: {}",
                           SizeText(static_cast<uint64_t>(model.size_bytes)),
                           FormatTime(*model.until), Command(draft)));
}

// With the job's end.
void Find(Draft& draft) {
  const bool is_told = draft.report != nullptr && draft.report->model;
  // A job that failed has none as a rule; of one that succeeded its silence says nothing.
  if (!is_told && draft.verdict != Verdict::kSucceeded) return;
  ModelStatus& model = draft.plan.status.model.emplace();
  const auto& finishing = draft.plan.status.finishing;
  if (finishing) model.version = finishing->model_version.value_or(0);
  if (is_told) {
    model.version = draft.report->model_version.value_or(model.version);
    model.size_bytes = draft.report->model->size_bytes;
    model.sha256 = draft.report->model->sha256;
  }
  if (GoesWithPod(draft.job.spec)) return BeginServing(draft);
  model.state = ModelState::kOnVolume;
  model.where = ModelPlace(draft.job.spec);
  model.message = "it stays there, whatever becomes of the job";
}

}  // namespace

void JudgeModel(Draft& draft) {
  if (!draft.options.serves_models) return;
  const bool ends_now = !IsFinished(draft.seen.status);
  const std::optional<ModelStatus>& model = draft.plan.status.model;
  if (ends_now) {
    draft.plan.status.model.reset();
    Find(draft);
  } else if (model && model->state == ModelState::kAvailable) {
    FollowServed(draft);
  }
  // Whatever cleanPodPolicy says: it waited for somebody to fetch the model, and for nothing else.
  const SeenProcess* const coordinator = Coordinator(draft);
  if (model && model->state == ModelState::kExpired && IsUp(coordinator))
    draft.End(*coordinator, PlanReason::kModelExpired);
}

// One that stays too long is ended by JudgeModel.
bool ServesModel(const Draft& draft, const SeenProcess& process) {
  const std::optional<ModelStatus>& model = draft.plan.status.model;
  if (!model || process.name != draft.wanted.front().name) return false;
  if (process.state == ProcessState::kExited || process.is_stopping) return false;
  return model->state == ModelState::kAvailable || model->state == ModelState::kExpired;
}

}  // namespace paceline::job

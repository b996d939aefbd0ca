#include "tests/explore/mutant.h"

#include "lib/sync/trace/trace.h"
#include "tests/explore/walk.h"

namespace paceline::sync::explore {

void Mutant::Observe(const Event& event, Time now, std::vector<Decision>& decisions) {
  std::vector<Decision> sane;
  std::vector<Event> told = std::exchange(held_back_, {});
  if (!Swallows(event)) told.push_back(Misheard(event));
  for (const Event& e : told) sane_->Observe(e, now, sane);
  if (const auto* push = std::get_if<PushArrived>(&event)) owes_.erase(push->worker);
  if (const auto* left = std::get_if<WorkerLeft>(&event)) owes_.erase(left->worker);
  if (const auto* out = std::get_if<OutOfData>(&event)) {
    owes_.erase(out->worker);
    is_out_of_data_[out->worker] = true;
  }
  for (const Decision& decision : sane) Garble(decision, decisions);
}

bool Mutant::Swallows(const Event& event) {
  switch (bug_) {
    case Bug::kForgetsLossAtBarrier:
      if (!std::holds_alternative<WorkerLeft>(event)) return false;
      held_back_.push_back(event);
      return true;
    case Bug::kCountsDeadWorker:
      return std::holds_alternative<WorkerLeft>(event);
    case Bug::kForgetsJoiner:
      return has_released_ && std::holds_alternative<WorkerJoined>(event);
    case Bug::kIgnoresOutOfData:
      return std::holds_alternative<OutOfData>(event);
    case Bug::kIgnoresReturns:
      return std::holds_alternative<SamplesReturned>(event);
    case Bug::kIgnoresQuiesce:
      return std::holds_alternative<Quiesce>(event);
    default:
      return false;
  }
}

Event Mutant::Misheard(const Event& event) const {
  Event heard = event;
  if (auto* push = std::get_if<PushArrived>(&heard)) {
    if (bug_ == Bug::kUsesLatePush) push->based_on = Version(UINT64_MAX);
    if (bug_ == Bug::kUsesNonFinite) push->gradient.is_finite = true;
  }
  return heard;
}

void Mutant::Garble(const Decision& decision, std::vector<Decision>& decisions) {
  if (const auto* release = std::get_if<Release>(&decision)) {
    has_released_ = true;
    Release given = *release;
    if (bug_ == Bug::kForgetsWhoIsOutOfData && is_out_of_data_[given.worker]) return;
    if (bug_ == Bug::kReleasesUncommitted) given.version = given.version.Next();
    if (bug_ == Bug::kReleasesBusyWorker) {
      for (const auto& [worker, version] : owes_) {
        if (worker == given.worker) continue;
        decisions.push_back(
            Release{.worker = worker, .version = version, .assignment = {.samples = 1}});
      }
    }
    owes_[given.worker] = given.version;
    if (bug_ != Bug::kForgetsWhoIsOutOfData) is_out_of_data_[given.worker] = false;
    decisions.push_back(given);
    return;
  }
  const bool is_drop = std::holds_alternative<Drop>(decision);
  const bool is_commit = std::holds_alternative<Commit>(decision);
  if (is_drop && bug_ == Bug::kAnswersNever) return;
  if (is_commit && bug_ == Bug::kForgetsCommit) return;
  decisions.push_back(decision);
  if (is_commit && bug_ == Bug::kCommitsEmpty) decisions.push_back(decision);
  if (is_commit && bug_ == Bug::kLooksAtEachCommit) {
    for (const auto& [worker, is_out] : is_out_of_data_) {
      if (is_out)
        decisions.push_back(Release{.worker = worker, .version = {}, .assignment = {.samples = 1}});
    }
  }
  if (std::holds_alternative<Accumulate>(decision) && bug_ == Bug::kAnswersTwice) {
    decisions.push_back(decision);
  }
}

std::string Mutant::DebugString() const {
  std::string text = DescribePolicy(*sane_) + (has_released_ ? " released" : "");
  for (const Event& event : held_back_) text += " held:" + FormatEvent(event);
  for (const auto& [worker, is_out] : is_out_of_data_) {
    text += fmt::format(" {}{}", worker, is_out ? "-" : "+");
  }
  for (const auto& [worker, version] : owes_) text += fmt::format(" {}@{}", worker, version);
  return text;
}

}  // namespace paceline::sync::explore

#include "lib/sync/schemes/wbsp/all_in_time.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "lib/sync/schemes/newest_mean.h"
#include "lib/sync/trace/fields.h"

namespace paceline::sync {
namespace {

// What a process's first step sets up takes one much longer than another. Seconds.
constexpr double kUnknownLeast = 10;

}  // namespace

StatusOr<std::unique_ptr<Quorum>> AllInTime::Make(double factor, const std::string& saved) {
  std::optional<double> round_seconds;
  if (!saved.empty()) {
    Fields fields(saved);
    const auto name = fields.Next<std::string>("scheme");
    round_seconds = fields.Require<double>("round-seconds");
    const Status read = fields.Finish();
    if (name != "wbsp" || !read.ok() || !(*round_seconds >= 0))
      return DataLoss("saved policy state is not WBSP's: {}", saved);
  }
  return std::unique_ptr<Quorum>(new AllInTime(factor, round_seconds));
}

void AllInTime::Observe(const StepFact& fact, Time now) {
  std::visit([&](const auto& f) { On(f, now); }, fact);
}

void AllInTime::On(const StepBegan&, Time now) {
  if (!began_) began_ = now;
}

void AllInTime::On(const PushCounted& push, Time now) {
  pushed_ = now;
  Heard(push.worker, now);
}

void AllInTime::On(const SilentGivenUp& given_up, Time) {
  if (!began_ || given_up.workers.empty()) return;
  overdue_.push_back({.began = *began_, .missing = given_up.workers});
  is_out_of_time_ = true;
}

void AllInTime::On(const StepClosed&, Time now) {
  const double seconds = ToSeconds(now - began_.value_or(now));
  if (!std::exchange(is_out_of_time_, false)) {
    Count(seconds);
  } else if (!overdue_.empty()) {
    overdue_.back().seconds_most = factor_ * seconds;
  }
  began_ = now;
  pushed_.reset();
}

void AllInTime::On(const WorkerForgotten& gone, Time) {
  for (Overdue& round : overdue_) std::erase(round.missing, gone.worker);
  std::erase_if(overdue_, [](const Overdue& round) { return round.missing.empty(); });
}

// A worker is missing in one round at most: no other waits for it until it is heard of.
void AllInTime::Heard(WorkerId worker, Time now) {
  const auto round = std::find_if(overdue_.begin(), overdue_.end(), [&](const Overdue& each) {
    return std::find(each.missing.begin(), each.missing.end(), worker) != each.missing.end();
  });
  if (round == overdue_.end()) return;
  const double seconds = std::min(ToSeconds(now - round->began), round->seconds_most);
  if (round->share > 0) {
    // It has lasted longer than it counts for.
    *round_seconds_ += round->share * (seconds - round->seconds);
  } else {
    const bool is_first = round_seconds_.value_or(0) == 0;
    Count(seconds);
    round->share = is_first ? 1 : kNewestShare;
  }
  round->seconds = seconds;
  std::erase(round->missing, worker);
  if (round->missing.empty()) overdue_.erase(round);
}

void AllInTime::Count(double seconds) {
  for (Overdue& round : overdue_) round.share *= 1 - kNewestShare;
  round_seconds_ = Mixed(round_seconds_.value_or(0), seconds);
}

std::optional<Time> AllInTime::Deadline() const {
  if (!pushed_ || !began_) return std::nullopt;
  if (round_seconds_.value_or(0) > 0) return *began_ + Seconds(factor_ * *round_seconds_);
  return *began_ + Seconds(std::max(factor_ * ToSeconds(*pushed_ - *began_), kUnknownLeast));
}

std::string AllInTime::Save() const {
  return round_seconds_ ? fmt::format("wbsp round-seconds={}", *round_seconds_) : "";
}

}  // namespace paceline::sync

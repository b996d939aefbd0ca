#include "operator/controller/pods/pod_clocks.h"

#include <algorithm>
#include <chrono>

#include "lib/kube/core/json.h"

namespace paceline::controller {
namespace {

using job::ProcessState;

constexpr Duration kNews = std::chrono::seconds(10);  // What happens to a pod is seen within it.

// Of what was not so at the look before.
Time Believed(Time written, Time now) {
  return written <= now && written >= now - kNews ? written : now;
}

Time FirstSeen(std::optional<Time>& seen, Time at) {
  if (!seen) seen = at;
  return *seen;
}

}  // namespace

PodClocks::Seen& PodClocks::Of(const job::SeenProcess& process) {
  Seen& seen = by_name_[process.name];
  const bool is_another = seen.look < looks_ - 1 || seen.attempt != process.attempt ||
                          (seen.ended && process.state != ProcessState::kExited);
  if (is_another) seen = Seen{.attempt = process.attempt};
  seen.look = looks_;
  return seen;
}

void PodClocks::CorrectLife(Seen& seen, job::SeenProcess& process, Time now) const {
  // Before the first look it may have been at any time. Who waits is not to be made anew too early.
  const auto believed = [&](Time written) {
    return looks_ == 1 ? std::min(written, now) : Believed(written, now);
  };
  if (process.state == ProcessState::kPending) {
    process.started_at = FirstSeen(seen.made, Believed(process.started_at, now));
  } else if (process.state == ProcessState::kRunning) {
    process.started_at = FirstSeen(seen.started, believed(process.started_at));
  } else {
    // By one clock, whichever it is.
    const Duration ran = std::max(process.ended_at - process.started_at, Duration(0));
    process.ended_at = FirstSeen(seen.ended, believed(process.ended_at));
    process.started_at = process.ended_at - ran;
  }
}

void PodClocks::Correct(std::vector<OwnPod>& pods, int64_t node_lost_seconds, Time now) {
  ++looks_;
  for (OwnPod& own : pods) {
    job::SeenProcess& process = own.process;
    Seen& seen = Of(process);
    CorrectLife(seen, process, now);
    if (process.gone_by) {
      const Duration grace =
          std::chrono::seconds(kube::IntegerAt(*own.pod, "/metadata/deletionGracePeriodSeconds"));
      const Time written = *process.gone_by - grace;
      const Time asked =
          looks_ == 1 ? std::clamp(written, now - grace, now) : Believed(written, now);
      process.gone_by = FirstSeen(seen.asked_to_go, asked) + grace;
    }
    if (process.node_lost_since) {  // It is deleted for that when the time is over.
      process.node_lost_since = FirstSeen(seen.lost, now) - std::chrono::seconds(node_lost_seconds);
    }
  }
}

void PodClocks::CorrectGone(job::SeenProcess& process) const {
  const auto found = by_name_.find(process.name);
  if (found == by_name_.end() || found->second.attempt != process.attempt) return;
  const Seen& seen = found->second;
  if (seen.ended) process.ended_at = *seen.ended;
  if (const auto& began = seen.started ? seen.started : seen.made)
    process.started_at = std::min(*began, process.ended_at);
}

}  // namespace paceline::controller

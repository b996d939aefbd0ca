#include "lib/coordination/phases/hanging.h"

#include <algorithm>

#include "lib/coordination/phases/asking.h"

namespace paceline::coordination {
namespace {

constexpr double kNewestWeight = 0.3;  // Of the worker's latest push in its pace.

// Seconds for a sample: the worker's own, else the slowest other's; 0 if nobody has pushed yet.
double PaceOf(const JobState& job, WorkerId worker) {
  const auto own = job.seconds_per_sample.find(worker);
  if (own != job.seconds_per_sample.end()) return own->second;
  double slowest = 0;
  for (const auto& [other, seconds] : job.seconds_per_sample) slowest = std::max(slowest, seconds);
  return slowest;
}

// How long a step of the worker may be without a sign of progress.
Duration Patience(const JobState& job, WorkerId worker, const protocol::Heartbeat& beat) {
  const HangOptions& options = job.options.hang;
  const double pace = PaceOf(job, worker);
  if (beat.steps == 0 || pace <= 0) return options.first_step;
  const auto known = job.workers.find(worker);
  const uint32_t samples = known == job.workers.end() ? 1 : std::max(1u, known->second.batch_size);
  return std::max(options.floor, Seconds(options.factor * pace * samples));
}

// `what` is its step, or its evaluation.
void LoseIfHung(Turn turn, ConnectionId connection, const char* what, Duration still,
                Duration patience) {
  if (still < patience) return;
  const std::string reason =
      fmt::format("its {} hangs: no progress for {:.0f} s, {:.0f} s are allowed", what,
                  ToSeconds(still), ToSeconds(patience));
  Lose(turn, Loss{connection, sync::LeaveReason::kExpelled, WorkerEventKind::kHung, reason,
                  protocol::Expelled{reason}, true});
}

}  // namespace

void OnHeartbeat(Turn turn, ConnectionId connection, const protocol::Heartbeat& beat) {
  const Session* session = turn.job.membership.Find(connection);
  if (session == nullptr) return;
  const bool is_computing = beat.doing == protocol::Doing::kComputing;
  if (session->role == protocol::Role::kEvaluator) {
    // It has no pace to go by: each batch may take what a first step may.
    if (is_computing)
      LoseIfHung(turn, connection, "evaluation", beat.still, turn.job.options.hang.first_step);
    return;
  }
  const bool is_in_script = beat.doing == protocol::Doing::kInScript;
  WorkerStatus& known = turn.job.workers[session->worker];
  known.doing = beat.doing;
  known.in_script_since = is_in_script ? std::optional(turn.now - beat.still) : std::nullopt;
  turn.job.step_counts[session->worker].computed = beat.steps;
  if (is_computing) {
    LoseIfHung(turn, connection, "step", beat.still, Patience(turn.job, session->worker, beat));
  } else if (is_in_script) {
    LoseIfHung(turn, connection, "script, between two steps,", beat.still,
               turn.job.options.hang.in_script);
  }
}

void LearnPace(JobState& job, WorkerId worker, const protocol::PushDone& done) {
  if (done.samples == done.skipped) return;
  const double seconds =
      ToSeconds(done.timing.compute - done.timing.injected) / (done.samples - done.skipped);
  if (!(seconds > 0)) return;
  const bool is_first = !job.seconds_per_sample.contains(worker);
  double& known = job.seconds_per_sample[worker];
  known = is_first ? seconds : known + kNewestWeight * (seconds - known);
}

}  // namespace paceline::coordination

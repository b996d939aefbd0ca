#include "lib/coordination/hanging.h"

#include <algorithm>

#include "lib/coordination/asking.h"

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

}  // namespace

void OnHeartbeat(Turn turn, ConnectionId connection, const protocol::Heartbeat& beat) {
  const Session* session = turn.job.membership.Find(connection);
  if (session == nullptr || session->role != protocol::Role::kWorker) return;
  WorkerStatus& status = turn.job.workers[session->worker];
  status.doing = beat.doing;
  if (beat.doing != protocol::Doing::kComputing) return;
  const Duration patience = Patience(turn.job, session->worker, beat);
  if (beat.still < patience) return;
  const std::string reason =
      fmt::format("its step hangs: no progress for {:.0f} s, {:.0f} s are allowed",
                  ToSeconds(beat.still), ToSeconds(patience));
  Lose(turn, Loss{connection, sync::LeaveReason::kExpelled, WorkerEventKind::kHung, reason,
                  protocol::Expelled{reason}, true});
}

void LearnPace(JobState& job, WorkerId worker, const protocol::PushDone& done) {
  if (done.samples == 0) return;
  const double seconds = ToSeconds(done.timing.compute - done.timing.injected) / done.samples;
  if (!(seconds > 0)) return;
  const auto [known, is_first] = job.seconds_per_sample.emplace(worker, seconds);
  if (!is_first) known->second += kNewestWeight * (seconds - known->second);
}

}  // namespace paceline::coordination

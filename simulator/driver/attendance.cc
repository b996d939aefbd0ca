#include "simulator/driver/attendance.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "lib/sync/schemes/presets.h"
#include "simulator/driver/eager_worker.h"
#include "simulator/driver/local_steps_worker.h"
#include "simulator/driver/waiting_worker.h"

namespace paceline::simulator {

using coordination::ConnectionId;
using Kind = Happening::Kind;

namespace {

constexpr Duration kJoinPause = Seconds(1);
constexpr double kForEver = std::numeric_limits<double>::infinity();

// What outages that last too long are to the server.
std::vector<Absence> AllAbsences(const ClusterOptions& options) {
  std::vector<Absence> all = options.absences;
  for (const Outage& outage : options.outages) {
    const double lost = outage.from_seconds + options.silent_seconds;
    if (lost < outage.until_seconds)
      all.push_back({outage.worker, lost, outage.until_seconds, /*is_silent=*/true});
  }
  return all;
}

store::Layout LayoutOf(const ClusterOptions& options) {
  return *store::Layout::Create({{"w",
                                  {static_cast<int64_t>(options.objective.dimensions)},
                                  store::DataType::kFloat32,
                                  store::TensorKind::kParameter}});
}

std::unique_ptr<VirtualWorker> MakeWorker(World& world, uint32_t index, uint16_t life) {
  switch (sync::CoordinatesOf(world.options.policy).WaysOn()) {
    case sync::Pacing::kKeepGoing:
    case sync::Pacing::kOverlapped:
      return std::make_unique<LocalStepsWorker>(world, index, life);
    case sync::Pacing::kEagerPull:
      return std::make_unique<EagerWorker>(world, index, life);
    case sync::Pacing::kWait:
      break;
  }
  return std::make_unique<WaitingWorker>(world, index, life);
}

}  // namespace

Attendance::Attendance(World& world, std::function<void(coordination::Fact)> tell)
    : world_(world),
      tell_(std::move(tell)),
      absences_(AllAbsences(world.options)),
      seats_(world.options.workers.size()) {
  world_.say = [this](uint32_t index, protocol::WorkerMessage message) {
    Say(index, std::move(message));
  };
  for (uint64_t i = 0; i < absences_.size(); ++i) {
    const Absence& absence = absences_[i];
    if (absence.from_seconds > 0) {
      world_.queue.Put(Time(Seconds(absence.from_seconds)),
                       {.kind = Kind::kCrashes, .worker = absence.worker, .turn = i});
    } else {
      seats_[absence.worker].absent_by = i;
    }
    if (absence.until_seconds) {
      world_.queue.Put(Time(Seconds(*absence.until_seconds)),
                       {.kind = Kind::kJoins, .worker = absence.worker, .turn = i});
    }
  }
}

void Attendance::Begin() {
  for (uint32_t i = 0; i < seats_.size(); ++i) {
    if (!seats_[i].absent_by) Join(i);
  }
}

void Attendance::Happen(const Happening& happening) {
  const Seat& seat = seats_[happening.worker];
  switch (happening.kind) {
    case Kind::kCrashes:
      return Crash(happening.turn);
    case Kind::kMissed:
      return Miss(happening);
    case Kind::kJoins:
      if (seat.absent_by == happening.turn) Join(happening.worker);
      return;
    case Kind::kComputed:
    case Kind::kGivenUp:
    case Kind::kArrived:
      if (seat.worker != nullptr && seat.life == happening.life) seat.worker->Happen(happening);
      return;
    case Kind::kLinkFree:
    case Kind::kAnswered:
      return;
  }
}

VirtualWorker* Attendance::Find(ConnectionId session) {
  const uint32_t index = IndexOf(session);
  const Seat& seat = seats_[index];
  return session == SessionOf(index, seat.life) ? seat.worker.get() : nullptr;
}

void Attendance::Say(uint32_t index, protocol::WorkerMessage message) {
  tell_(coordination::WorkerSaid{SessionOf(index, seats_[index].life), std::move(message)});
}

void Attendance::Join(uint32_t index) {
  Seat& seat = seats_[index];
  if (seat.absent_by) seat.was_absent_by = *std::exchange(seat.absent_by, std::nullopt);
  seat.worker = MakeWorker(world_, index, seat.life);
  Say(index, protocol::Join{protocol::Role::kWorker, WorkerId(index), LayoutOf(world_.options),
                            world_.options.train_samples, "CPU"});
}

void Attendance::TryAgain(ConnectionId session) {
  const uint32_t index = IndexOf(session);
  Seat& seat = seats_[index];
  seat.worker.reset();
  ++seat.life;
  seat.absent_by = seat.was_absent_by;
  world_.queue.Put(world_.now + kJoinPause,
                   {.kind = Kind::kJoins, .worker = index, .turn = seat.was_absent_by});
}

// Of two absences at once, the one that lasts longer holds.
void Attendance::Crash(uint64_t which) {
  const Absence& absence = absences_[which];
  Seat& seat = seats_[absence.worker];
  const auto until = [this](uint64_t i) { return absences_[i].until_seconds.value_or(kForEver); };
  if (seat.absent_by) {
    if (until(which) > until(*seat.absent_by)) seat.absent_by = which;
    return;
  }
  // Its last word was heard when the outage began, or just now.
  const bool is_heard = absence.is_silent && !IsOfOutage(which);
  if (is_heard) Say(absence.worker, protocol::Heartbeat{});
  seat.absent_by = which;
  seat.worker->Vanish();
  seat.worker.reset();
  ++world_.life.crashes;
  world_.queue.Put(
      world_.now + Seconds(is_heard ? world_.options.silent_seconds : 0),
      {.kind = Kind::kMissed, .life = seat.life, .worker = absence.worker, .turn = which});
  ++seat.life;
}

// Who is silent is whom nothing was heard of while all others were.
void Attendance::Miss(const Happening& happening) {
  if (!absences_[happening.turn].is_silent)
    return tell_(coordination::WorkerGone{SessionOf(happening.worker, happening.life)});
  tell_(coordination::ShardSaid{ShardId(0), protocol::ShardHeartbeat{}});
  for (uint32_t i = 0; i < seats_.size(); ++i) {
    if (seats_[i].worker != nullptr && !IsOutOfReach(i)) Say(i, protocol::Heartbeat{});
  }
  tell_(coordination::DeadlineReached{});
}

bool Attendance::IsOutOfReach(uint32_t index) const {
  const double now = ToSeconds(world_.now.time_since_epoch());
  return std::ranges::any_of(world_.options.outages, [&](const Outage& outage) {
    return outage.worker == index && outage.from_seconds <= now && now < outage.until_seconds;
  });
}

}  // namespace paceline::simulator

#include "tests/explore/coordination/sick_world.h"

#include <algorithm>
#include <span>
#include <utility>

#include "lib/base/epoch_order.h"

namespace paceline::coordination::testing {
namespace {

constexpr uint64_t kOrderSeed = 3;
constexpr int kActionsMax = 20000;

CoordinatorOptions CoordinatorOptionsOf(const SickWorldOptions& world) {
  CoordinatorOptions options;
  options.workers_wanted = static_cast<uint32_t>(world.workers);
  options.workers_max = options.workers_wanted;
  options.global_batch_size = world.global_batch_size;
  options.epochs_max = world.epochs;
  options.seed = kOrderSeed;
  return options;
}

}  // namespace

uint64_t SampleAt(uint64_t position, const SickWorldOptions& options) {
  EpochOrder order(options.samples, kOrderSeed);
  return order.Epoch(0)[position];
}

SickWorld::SickWorld(const SickWorldOptions& options)
    : options_(options),
      job_(CoordinatorOptionsOf(options), options.scheme),
      workers_(options.workers),
      chance_(options.seed) {
  EpochOrder order(options.samples, kOrderSeed);
  for (uint64_t epoch = 0; epoch < options.epochs; ++epoch) {
    const std::span<const uint32_t> samples = order.Epoch(epoch);
    orders_[epoch].assign(samples.begin(), samples.end());
  }
  job_.samples = options.samples;
  std::vector<std::pair<uint64_t, uint64_t>> joins;
  for (uint64_t worker = 0; worker < options.workers; ++worker) {
    workers_[worker].connection = ++connections_;
    joins.emplace_back(connections_, worker);
  }
  job_.Opened(joins);
  Listen();
}

void SickWorld::Run() {
  for (int i = 0; i < kActionsMax; ++i) {
    const std::vector<Action> enabled = Enabled();
    const bool is_training = job_.coordinator.status().phase == Phase::kTraining;
    if (enabled.empty() || !is_training || RollBacks() > 0) return;
    Do(enabled[chance_() % enabled.size()]);
    Listen();
  }
}

std::vector<uint64_t> SickWorld::Found() const {
  std::vector<uint64_t> samples;
  for (const PoisonedSample& one : job_.coordinator.status().poisoned)
    samples.push_back(one.sample);
  return samples;
}

std::set<uint64_t> SickWorld::Expelled() const {
  std::set<uint64_t> expelled;
  for (const WorkerStatus& worker : job_.coordinator.status().workers)
    if (worker.expulsions > 0) expelled.insert(worker.worker.value());
  return expelled;
}

uint64_t SickWorld::Discarded() const {
  uint64_t discarded = 0;
  for (const auto& epoch : job_.coordinator.epochs()) discarded += epoch.discarded;
  return discarded;
}

// What it is told it knows at once.
void SickWorld::Listen() {
  std::vector<size_t> seen(workers_.size());
  for (const Effect& effect : job_.effects) {
    const auto* send = std::get_if<SendWorker>(&effect);
    if (send == nullptr) continue;
    const auto to = std::ranges::find(workers_, send->connection.value(), &Worker::connection);
    if (to == workers_.end()) continue;
    Worker& worker = *to;
    const auto index = static_cast<uint64_t>(to - workers_.begin());
    if (++seen[index] <= worker.heard) continue;
    worker.heard = seen[index];
    if (const auto* continued = std::get_if<protocol::Continued>(&send->order)) {
      worker.leases.push_back(continued->lease);
    } else if (const auto* offered = std::get_if<protocol::Offered>(&send->order)) {
      worker.pulled = offered->version;
    } else if (const auto* released = std::get_if<protocol::Released>(&send->order)) {
      worker.pacing = released->assignment.pacing;
      worker.is_unanswered = false;
      const bool is_newest = released->exactness == sync::Exactness::kAtLeast;
      worker.pulled = is_newest ? Version(published_) : released->version;
      if (worker.made.empty()) {
        worker.base = *std::exchange(worker.pulled, std::nullopt);
        worker.is_copy_ill = false;
      }
      if (!released->lease.ranges.empty()) worker.leases.push_back(released->lease);
    }
  }
}

bool SickWorld::MayCompute(const Worker& worker) const {
  if (worker.leases.empty()) return false;
  const bool goes_on = sync::PushKindOf(worker.pacing) == PushKind::kDelta &&
                       worker.pacing != sync::Pacing::kEagerPull && !options_.is_one_a_push;
  return worker.made.empty() || (goes_on && !worker.is_ill);
}

std::vector<SickWorld::Action> SickWorld::Enabled() const {
  std::vector<Action> enabled;
  for (uint64_t index = 0; index < workers_.size(); ++index) {
    const Worker& worker = workers_[index];
    if (job_.WasClosed(worker.connection)) continue;
    if (MayCompute(worker)) enabled.push_back({Action::Kind::kCompute, index});
    if (!worker.made.empty() &&
        !(worker.is_unanswered && worker.pacing == sync::Pacing::kEagerPull))
      enabled.push_back({Action::Kind::kPush, index});
  }
  if (published_ < job_.AllOrdered<protocol::CommitAll>().size())
    enabled.push_back({Action::Kind::kPublish, 0});
  return enabled;
}

void SickWorld::Do(const Action& action) {
  job_.now += Seconds(1.0 / static_cast<double>(2 * workers_.size()));
  if (action.kind == Action::Kind::kCompute) return Compute(action.worker);
  if (action.kind == Action::Kind::kPush) return Push(action.worker);
  job_.CommittedEverywhere(++published_);
}

void SickWorld::Compute(uint64_t index) {
  Worker& worker = workers_[index];
  protocol::Lease lease = std::move(worker.leases.front());
  worker.leases.pop_front();
  const bool has_poison = HasPoison(lease);
  if (has_poison && options_.harm != Harm::kMakesIll) return Break(index);
  ++worker.steps;
  // Those that are pushed together are of one base.
  if (worker.made.empty()) {
    if (worker.pulled && worker.pacing != sync::Pacing::kEagerPull)
      worker.base = *std::exchange(worker.pulled, std::nullopt);
    worker.made_on = worker.base;
    worker.is_ill = worker.is_copy_ill;
  }
  worker.made.push_back(std::move(lease));
  worker.is_ill = worker.is_ill || options_.sick.contains(index) ||
                  worker.base.value() >= options_.ill_from || has_poison;
}

void SickWorld::Break(uint64_t index) {
  Worker& worker = workers_[index];
  if (options_.harm == Harm::kHangs) {
    constexpr double kForEver = 1e6;
    job_.Hear(worker.connection,
              protocol::Heartbeat{protocol::Doing::kComputing, worker.steps, Seconds(kForEver)});
  } else {
    // Which of its steps it was in is told only now and then.
    if (chance_() % 2 == 0)
      job_.Hear(worker.connection,
                protocol::Heartbeat{protocol::Doing::kComputing, worker.steps, Duration::zero()});
    job_.Step(WorkerGone{ConnectionId(worker.connection)});
  }
  Join(index);
}

void SickWorld::Join(uint64_t index) {
  const uint64_t attempt = workers_[index].attempt + 1;
  workers_[index] = Worker{.connection = ++connections_, .attempt = attempt};
  job_.Hear(connections_, protocol::Join{.role = protocol::Role::kWorker,
                                         .worker = WorkerId(index),
                                         .layout = Model(),
                                         .train_samples = options_.samples,
                                         .attempt = attempt});
}

void SickWorld::Push(uint64_t index) {
  Worker& worker = workers_[index];
  const std::vector<protocol::Lease> leases = std::exchange(worker.made, {});
  const bool is_delta = sync::PushKindOf(worker.pacing) == PushKind::kDelta;
  worker.is_copy_ill = worker.is_ill && is_delta && worker.pacing != sync::Pacing::kEagerPull;
  worker.is_unanswered = true;
  if (worker.pulled) {
    worker.base = *std::exchange(worker.pulled, std::nullopt);
    worker.is_copy_ill = false;
  }
  protocol::PushDone done;
  done.generation = job_.coordinator.status().generation;
  done.sequence = Sequence(++worker.pushes);
  done.based_on = worker.made_on;
  done.steps = static_cast<uint32_t>(leases.size());
  for (const protocol::Lease& lease : leases) {
    done.leases.push_back(lease.id);
    for (const protocol::SampleRange& range : lease.ranges)
      done.samples += static_cast<uint32_t>(range.size());
  }
  done.timing.compute = Seconds(1);
  done.gradient.loss = 0.5;
  done.gradient.is_finite = !worker.is_ill;
  job_.Hear(worker.connection, done);
}

bool SickWorld::HasPoison(const protocol::Lease& lease) const {
  return std::ranges::any_of(lease.ranges, [&](const protocol::SampleRange& range) {
    const std::vector<uint32_t>& order = orders_.at(range.epoch);
    return std::any_of(order.begin() + static_cast<ptrdiff_t>(range.begin),
                       order.begin() + static_cast<ptrdiff_t>(range.end),
                       [&](uint32_t sample) { return options_.poisoned.contains(sample); });
  });
}

}  // namespace paceline::coordination::testing

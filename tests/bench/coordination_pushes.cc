#include "tests/bench/coordination_pushes.h"

#include <cmath>
#include <utility>
#include <vector>

#include <time.h>

#include "lib/coordination/testing.h"

namespace paceline::bench {
namespace {

using coordination::SendWorker;

double ThreadMicroseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

class Bench {
 public:
  Bench(sync::Scheme scheme, uint32_t workers)
      : commits_each_push_(scheme != sync::Scheme::kBsp),
        job_(Options(workers), scheme),
        released_(workers + 1),
        sequences_(workers + 1) {
    job_.samples = 1'000'000;
    std::vector<std::pair<uint64_t, uint64_t>> joins;  // Connections are numbered from 1.
    for (uint32_t worker = 0; worker < workers; ++worker) joins.emplace_back(worker + 1, worker);
    job_.Opened(joins);
    Take();
  }

  void Step() {
    for (size_t connection = 1; connection < released_.size(); ++connection) {
      Timed([&] { job_.Hear(connection, DoneBy(connection)); });
      ++pushes_;
      if (commits_each_push_) Commit();
    }
    if (!commits_each_push_) Commit();
  }

  // Not a number if the last push was not released: what was measured is not training then.
  double mean() const {
    if (released_.back().version.value() != version_) return std::nan("");
    return microseconds_ / static_cast<double>(pushes_);
  }

 private:
  static coordination::CoordinatorOptions Options(uint32_t workers) {
    coordination::CoordinatorOptions options;
    options.shards = 1;
    options.workers_wanted = options.workers_min = options.workers_max = workers;
    return options;
  }

  protocol::PushDone DoneBy(size_t connection) {
    const protocol::Released& released = released_[connection];
    protocol::PushDone done;
    done.generation = coordination::CoordinatorOptions().generation;
    done.sequence = Sequence(++sequences_[connection]);
    done.based_on = released.version;
    done.leases = {released.lease.id};
    for (const auto& range : released.lease.ranges)
      done.samples += static_cast<uint32_t>(range.size());
    done.gradient.loss = 0.5;
    return done;
  }

  void Commit() {
    ++version_;
    Timed([&] { job_.CommittedEverywhere(version_); });
  }

  template <class F>
  void Timed(F happens) {
    const double begin = ThreadMicroseconds();
    happens();
    microseconds_ += ThreadMicroseconds() - begin;
    Take();
  }

  // What was sent to workers since the last call; nothing of it is kept.
  void Take() {
    for (const coordination::Effect& effect : job_.effects) {
      const auto* const sent = std::get_if<SendWorker>(&effect);
      if (sent == nullptr) continue;
      if (const auto* const released = std::get_if<protocol::Released>(&sent->order))
        released_[sent->connection.value()] = *released;
    }
    job_.effects.clear();
  }

  const bool commits_each_push_;
  coordination::testing::Job job_;
  std::vector<protocol::Released> released_;  // By connection.
  std::vector<uint64_t> sequences_;
  uint64_t version_ = 0;
  uint64_t pushes_ = 0;
  double microseconds_ = 0;
};

}  // namespace

double PushMicroseconds(sync::Scheme scheme, uint32_t workers, uint32_t steps) {
  Bench bench(scheme, workers);
  for (uint32_t step = 0; step < steps; ++step) bench.Step();
  return bench.mean();
}

}  // namespace paceline::bench

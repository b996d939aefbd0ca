// Defines Batches: where a step's batches come from. A thread of its own prepares those that are
// expected while the one before is computed. Private to lib/learn.
//
// An expectation reserves nothing: whatever is asked for is given, and what was prepared in vain
// costs the time of a gathering.
//
// Example:
//   Batches batches(&data, /*ahead=*/2, MakeBatchCarrier(device));
//   const Batch first = batches.Take(samples);
//   batches.Expect({second_samples, third_samples});
//   ...  // Computes; meanwhile they are gathered.
//   const Batch second = batches.Take(second_samples);
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "lib/learn/data/batch.h"
#include "lib/learn/data/data_counts.h"

namespace paceline::learn {

// One owner at a time; may move between threads from call to call.
class Batches {
 public:
  // At most `ahead` are prepared and not taken; 0: all are gathered when they are taken. The thread
  // begins with the first expectation. `data` outlives it.
  Batches(const Dataset* data, size_t ahead, std::unique_ptr<BatchCarrier> carrier);
  ~Batches();
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;

  size_t ahead() const { return ahead_; }

  // Those samples in that order, on the device. Throws what LibTorch throws.
  Batch Take(std::span<const uint32_t> samples);

  // What is probably taken next, in that order. What was expected before and is not among it is
  // forgotten.
  void Expect(std::vector<std::vector<uint32_t>> next);

  DataCounts counts() const { return counts_; }

 private:
  enum class Stage { kWanted, kInWork, kReady, kFailed };
  struct Prepared {
    std::vector<uint32_t> samples;
    Stage stage = Stage::kWanted;
    Batch batch;
    std::unique_ptr<Arrival> arrival;
  };
  using List = std::list<std::shared_ptr<Prepared>>;

  void Run();
  std::shared_ptr<Prepared> NextWanted() const;  // Holds the lock.
  void Prepare(Prepared& one);
  List::iterator Find(std::span<const uint32_t> samples);  // Holds the lock.
  void Forget(List::iterator begin, List::iterator end);   // Likewise.

  const Dataset* const data_;
  const size_t ahead_;
  const std::unique_ptr<BatchCarrier> carrier_;  // Of the thread.
  DataCounts counts_;

  std::mutex mutex_;  // Guards what is below.
  std::condition_variable changed_;
  List expected_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace paceline::learn

// Defines Batch, samples as a network takes them, and how they get to the device. Private to
// lib/learn.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "lib/learn/data/dataset.h"

namespace paceline::learn {

struct Batch {
  std::vector<at::Tensor> inputs;  // What forward takes, in its order; one at least.
  at::Tensor targets;
};

// In memory of the host; `is_pinned`: in such that a GPU copies from while the host goes on.
Batch GatherOnHost(const Dataset& data, std::span<const uint32_t> samples, bool is_pinned);

// On the device, for the calling thread's stream.
Batch GatherBatch(const Dataset& data, std::span<const uint32_t> samples, const at::Device& device);

// A copy to the device that may be on its way.
class Arrival {
 public:
  virtual ~Arrival() = default;
  // What the calling thread's stream does from now on comes after it. Does not wait itself.
  virtual void Await(const Batch& batch) = 0;
};

// Brings batches to the device beside what that computes. Thread-safe.
class BatchCarrier {
 public:
  virtual ~BatchCarrier() = default;
  virtual bool wants_pinned() const = 0;
  // The batch on the device; null: it is there.
  virtual std::unique_ptr<Arrival> Carry(Batch& batch) = 0;
};

// For the host nothing is to be done; for another device copies run on a stream of their own.
std::unique_ptr<BatchCarrier> MakeBatchCarrier(const at::Device& device);

}  // namespace paceline::learn

#include "lib/learn/data/batch.h"

#include <optional>
#include <vector>

#include <ATen/ops/empty.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace paceline::learn {
namespace {

at::Tensor GatherColumn(const Column& column, std::span<const uint32_t> samples, bool is_pinned) {
  std::vector<int64_t> shape(1, static_cast<int64_t>(samples.size()));
  shape.insert(shape.end(), column.shape.begin(), column.shape.end());
  const auto type = column.type() == ElementType::kFloat32 ? at::kFloat : at::kLong;
  at::Tensor batch = at::empty(shape, at::TensorOptions(type).pinned_memory(is_pinned));
  column.Gather(samples, static_cast<std::byte*>(batch.data_ptr()));
  return batch;
}

void CopyTo(const at::Device& device, Batch& batch) {
  for (at::Tensor& inputs : batch.inputs) inputs = inputs.to(device, /*non_blocking=*/true);
  batch.targets = batch.targets.to(device, /*non_blocking=*/true);
}

class OnHost final : public BatchCarrier {
 public:
  bool wants_pinned() const override { return false; }
  std::unique_ptr<Arrival> Carry(Batch&) override { return nullptr; }
};

// By LibTorch's interface to streams of any device, which needs no headers of CUDA.
class ByStream final : public BatchCarrier {
 public:
  explicit ByStream(const at::Device& device)
      : device_(device),
        stream_(c10::impl::VirtualGuardImpl(device.type())
                    .getStreamFromGlobalPool(device, /*isHighPriority=*/false)) {}

  bool wants_pinned() const override { return true; }

  std::unique_ptr<Arrival> Carry(Batch& batch) override {
    const c10::StreamGuard on_it(stream_);
    CopyTo(device_, batch);
    auto copied = std::make_unique<Copied>(device_);
    copied->event.record(stream_);
    return copied;
  }

 private:
  struct Copied final : Arrival {
    explicit Copied(const at::Device& device) : device(device), event(device.type()) {}
    void Await(const Batch& batch) override {
      const c10::Stream now = c10::impl::VirtualGuardImpl(device.type()).getStream(device);
      event.block(now);
      // Their memory is the other stream's, which must not use it anew before this one is done.
      for (const at::Tensor& inputs : batch.inputs) inputs.record_stream(now);
      batch.targets.record_stream(now);
    }
    const at::Device device;
    c10::Event event;
  };

  const at::Device device_;
  const c10::Stream stream_;
};

}  // namespace

Batch GatherOnHost(const Dataset& data, std::span<const uint32_t> samples, bool is_pinned) {
  Batch batch;
  for (const Column& column : data.inputs())
    batch.inputs.push_back(GatherColumn(column, samples, is_pinned));
  batch.targets = GatherColumn(data.targets(), samples, is_pinned);
  return batch;
}

Batch GatherBatch(const Dataset& data, std::span<const uint32_t> samples,
                  const at::Device& device) {
  Batch batch = GatherOnHost(data, samples, device.is_cuda());
  if (device.is_cuda()) CopyTo(device, batch);
  return batch;
}

std::unique_ptr<BatchCarrier> MakeBatchCarrier(const at::Device& device) {
  if (device.is_cpu()) return std::make_unique<OnHost>();
  return std::make_unique<ByStream>(device);
}

}  // namespace paceline::learn

// Defines EqualSizer: the same batch for every worker, however fast it is.
#pragma once

#include "lib/sync/schemes/batching/batch_sizer.h"
#include "lib/sync/schemes/equal_share.h"

namespace paceline::sync {

class EqualSizer : public BatchSizer {
 public:
  explicit EqualSizer(uint32_t global_batch_size) : global_batch_size_(global_batch_size) {}

  std::vector<uint32_t> ShareOut(const std::vector<WorkerId>& workers) override {
    const auto count = static_cast<uint32_t>(workers.size());
    std::vector<uint32_t> shares;
    shares.reserve(count);
    for (uint32_t i = 0; i < count; ++i) shares.push_back(EqualShare(global_batch_size_, count, i));
    return shares;
  }
  std::unique_ptr<BatchSizer> Clone() const override { return std::make_unique<EqualSizer>(*this); }

 private:
  uint32_t global_batch_size_;
};

}  // namespace paceline::sync

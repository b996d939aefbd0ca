#include "ps-server/service/rounded_versions.h"

#include <algorithm>
#include <utility>

#include "lib/store/kernels.h"
#include "lib/store/slice_parts.h"

namespace paceline::ps {

RoundedVersion::RoundedVersion(std::shared_ptr<const store::Published> version,
                               uint64_t parameters_end, uint64_t chunk_bytes)
    : parameters_end_(parameters_end),
      chunk_bytes_(chunk_bytes),
      numbers_(std::make_unique_for_overwrite<uint16_t[]>(parameters_end / sizeof(float))),
      chunks_((parameters_end + chunk_bytes - 1) / chunk_bytes),
      published_(std::move(version)),
      left_(chunks_.size()) {}

std::span<const std::byte> RoundedVersion::Chunk(uint64_t begin) {
  const uint64_t chunk = begin / chunk_bytes_;
  std::call_once(chunks_[chunk], [&] { Round(chunk); });
  const uint64_t end = std::min(begin + chunk_bytes_, parameters_end_);
  return {reinterpret_cast<const std::byte*>(numbers_.get()) + begin / 2, (end - begin) / 2};
}

void RoundedVersion::Round(uint64_t chunk) {
  const uint64_t begin = chunk * chunk_bytes_;
  const uint64_t end = std::min(begin + chunk_bytes_, parameters_end_);
  const auto values = store::View<float>(published_->bytes(), begin, end);
  store::RoundToBfloat16(values, {numbers_.get() + begin / sizeof(float), values.size()});
  if (--left_ == 0) published_ = nullptr;  // Nobody else is rounding: none is left.
}

std::shared_ptr<RoundedVersion> RoundedVersions::Of(
    const Generation& generation, const std::shared_ptr<const store::Published>& version,
    uint64_t parameters_end, uint64_t chunk_bytes) {
  const std::pair asked(generation, version->version);
  std::lock_guard lock(mutex_);
  if (rounded_ != nullptr && newest_ == asked) return rounded_;
  auto made = std::make_shared<RoundedVersion>(version, parameters_end, chunk_bytes);
  if (rounded_ != nullptr && asked < newest_) return made;
  newest_ = asked;
  rounded_ = made;
  return made;
}

}  // namespace paceline::ps

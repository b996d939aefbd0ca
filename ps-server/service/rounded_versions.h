// Defines RoundedVersions: published parameters as BFloat16, for pulls that may have them so.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "lib/base/version.h"
#include "lib/store/published.h"

namespace paceline::ps {

// One version's parameters, rounded chunk by chunk as they are asked for, each chunk once. Lets go
// of the version when all are rounded. Thread-safe.
class RoundedVersion {
 public:
  // Of the first `parameters_end` bytes of the version, float32; chunks of so many bytes of those.
  RoundedVersion(std::shared_ptr<const store::Published> version, uint64_t parameters_end,
                 uint64_t chunk_bytes);

  // The chunk that begins at that byte of the version, a multiple of chunk_bytes; half as long.
  std::span<const std::byte> Chunk(uint64_t begin);

 private:
  void Round(uint64_t chunk);

  const uint64_t parameters_end_;
  const uint64_t chunk_bytes_;
  const std::unique_ptr<uint16_t[]> numbers_;
  std::vector<std::once_flag> chunks_;
  std::shared_ptr<const store::Published> published_;  // Null when nothing is left to be rounded.
  std::atomic<uint64_t> left_;
};

// Memory: half of the parameters' part for the newest version that was asked for, and for each
// other one that is being sent. Thread-safe.
class RoundedVersions {
 public:
  // The same one for all who ask for the newest.
  std::shared_ptr<RoundedVersion> Of(const Generation& generation,
                                     const std::shared_ptr<const store::Published>& version,
                                     uint64_t parameters_end, uint64_t chunk_bytes);

 private:
  std::mutex mutex_;
  std::pair<Generation, Version> newest_;  // Of which `rounded_` is, unless that is null.
  std::shared_ptr<RoundedVersion> rounded_;
};

}  // namespace paceline::ps

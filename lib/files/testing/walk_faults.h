// Defines WalkFaults, for tests: the same work on a disk that fails at one call after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "lib/files/testing/faulty_disk.h"

namespace paceline::files::testing {

// Fails with each of `errors` at the first call of `work`, then at the second, and so on until
// `work` gets through without having met the fault; `judge(error, call, status)` is called after
// each. `prepare` gives each its fresh disk.
inline void WalkFaults(
    const std::vector<int>& errors, const std::function<std::unique_ptr<FaultyDisk>()>& prepare,
    const std::function<Status(FaultyDisk&)>& work,
    const std::function<void(int error_number, uint64_t call, const Status&)>& judge) {
  for (const int error_number : errors) {
    for (uint64_t call = 1;; ++call) {
      const std::unique_ptr<FaultyDisk> disk = prepare();
      disk->FailAt(call, error_number);
      const Status status = work(*disk);
      if (!disk->has_failed()) break;
      judge(error_number, call, status);
    }
  }
}

}  // namespace paceline::files::testing

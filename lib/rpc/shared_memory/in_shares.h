// Defines InShares: large copies by several threads, since one core does not fill a memory's
// bandwidth.
#pragma once

#include <cstdint>
#include <functional>

namespace paceline::rpc {

// A share is no smaller: a thread costs as long as a tenth of its copy.
inline constexpr uint64_t kShareBytesMin = 4 << 20;

// Calls `work` on parts of [begin, end) that are all of it, once, cut at multiples of `unit` alone;
// at most `threads` at a time, this one among them. Returns when all are done. `work` does not
// throw. Where the system has no thread left, this one does it all.
void InShares(uint64_t begin, uint64_t end, uint64_t unit, int threads,
              const std::function<void(uint64_t begin, uint64_t end)>& work);

}  // namespace paceline::rpc

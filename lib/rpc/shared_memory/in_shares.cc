#include "lib/rpc/shared_memory/in_shares.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace paceline::rpc {

void InShares(uint64_t begin, uint64_t end, uint64_t unit, int threads,
              const std::function<void(uint64_t, uint64_t)>& work) {
  const uint64_t most = std::max<uint64_t>(1, (end - begin) / kShareBytesMin);
  const uint64_t shares = std::min<uint64_t>(most, static_cast<uint64_t>(std::max(1, threads)));
  std::vector<std::jthread> helpers;
  uint64_t next = begin;
  for (uint64_t share = 1; share < shares; ++share) {
    const uint64_t cut = (begin + (end - begin) * share / shares) / unit * unit;
    if (cut <= next) continue;
    try {
      helpers.emplace_back([&work, next, cut] { work(next, cut); });
    } catch (const std::system_error&) {
      break;
    }
    next = cut;
  }
  work(next, end);
}

}  // namespace paceline::rpc

#include "lib/chaos/links.h"

#include <algorithm>

namespace paceline::chaos {

Duration Link::TimeFor(uint64_t bytes) const {
  return latency + Seconds(static_cast<double>(bytes) / static_cast<double>(bytes_per_second));
}

std::optional<Link> LinkOf(const job::Chaos& chaos, WorkerId worker, std::string_view group) {
  std::optional<Link> link;
  if (!chaos.enabled) return link;
  for (const job::LinkLimit& limit : chaos.links) {
    if (limit.group && *limit.group != group) continue;
    if (!limit.workers.empty() &&
        std::ranges::find(limit.workers, static_cast<int64_t>(worker.value())) ==
            limit.workers.end())
      continue;
    if (!link) link = Link{.bytes_per_second = limit.bytes_per_second};
    link->bytes_per_second = std::min(link->bytes_per_second, limit.bytes_per_second);
    link->latency += Seconds(limit.latency_seconds);
  }
  return link;
}

}  // namespace paceline::chaos

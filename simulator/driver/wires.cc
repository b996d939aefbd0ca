#include "simulator/driver/wires.h"

#include <algorithm>
#include <utility>

namespace paceline::simulator {

Wires::Wires(const NetworkModel& model, std::vector<std::optional<chaos::Link>> links,
             const std::vector<Outage>& outages, EventQueue<Happening>& queue)
    : model_(model),
      links_(std::move(links)),
      workers_(links_.size()),
      queue_(queue),
      pulls_{SharedLink(model.server_bytes_per_second), 0, std::vector<Sent>(workers_)},
      pushes_{SharedLink(model.server_bytes_per_second), 0, std::vector<Sent>(workers_)} {
  if (!outages.empty()) outages_.resize(workers_);
  for (const Outage& outage : outages) {
    outages_[outage.worker].emplace_back(Time(Seconds(outage.from_seconds)),
                                         Time(Seconds(outage.until_seconds)));
  }
  for (auto& of_worker : outages_) std::ranges::sort(of_worker);
}

void Wires::Send(Time now, uint32_t worker, uint16_t life, Direction direction) {
  Link& link = LinkOf(direction);
  const double bytes =
      direction == Direction::kPush ? model_.push_bytes.value_or(model_.bytes) : model_.bytes;
  double own = model_.worker_bytes_per_second > 0 ? bytes / model_.worker_bytes_per_second : 0;
  if (const auto& link_of_own = links_[worker])
    own = std::max(own, bytes / static_cast<double>(link_of_own->bytes_per_second));
  const uint64_t number = life * workers_ + worker;
  if (number >= link.sent.size()) link.sent.resize((life + 1) * workers_);
  link.sent[number] = {now, now + Seconds(own)};
  link.shared.Begin(now, number, bytes);
  LookAhead(link, direction);
}

void Wires::LinkFree(Time now, const Happening& happening) {
  Link& link = LinkOf(happening.direction);
  if (happening.turn != link.told) return;
  while (const std::optional<uint64_t> number = link.shared.TakeEnded(now)) {
    const auto worker = static_cast<uint32_t>(*number % workers_);
    const Sent& sent = link.sent[*number];
    const Time arrives = std::max(now, sent.arrives) + LatencyOf(worker);
    queue_.Put(Delayed(worker, sent.begun, arrives),
               {.kind = Happening::Kind::kArrived,
                .direction = happening.direction,
                .life = static_cast<uint16_t>(*number / workers_),
                .worker = worker});
  }
  LookAhead(link, happening.direction);
}

Duration Wires::LatencyOf(uint32_t worker) const {
  return Seconds(model_.latency_seconds) + (links_[worker] ? links_[worker]->latency : Duration{});
}

Time Wires::Delayed(uint32_t worker, Time begun, Time arrives) const {
  if (outages_.empty()) return arrives;
  for (const auto& [from, until] : outages_[worker]) {
    if (until > begun && from < arrives) arrives += until - std::max(from, begun);
  }
  return arrives;
}

void Wires::LookAhead(Link& link, Direction direction) {
  const std::optional<Time> end = link.shared.NextEnd();
  if (!end) return;
  queue_.Put(*end,
             {.kind = Happening::Kind::kLinkFree, .direction = direction, .turn = ++link.told});
}

}  // namespace paceline::simulator

#include "simulator/driver/wires.h"

#include <algorithm>

namespace paceline::simulator {

Wires::Wires(const NetworkModel& model, size_t workers, EventQueue<Happening>& queue)
    : model_(model),
      queue_(queue),
      pulls_{SharedLink(model.server_bytes_per_second), 0, std::vector<Time>(workers)},
      pushes_{SharedLink(model.server_bytes_per_second), 0, std::vector<Time>(workers)} {}

void Wires::Send(Time now, uint32_t worker, Direction direction) {
  Link& link = LinkOf(direction);
  const double own =
      model_.worker_bytes_per_second > 0 ? model_.bytes / model_.worker_bytes_per_second : 0;
  link.arrival[worker] = now + Seconds(own);
  link.shared.Begin(now, worker, model_.bytes);
  LookAhead(link, direction);
}

void Wires::LinkFree(Time now, const Happening& happening) {
  Link& link = LinkOf(happening.direction);
  if (happening.turn != link.told) return;
  while (const std::optional<uint64_t> worker = link.shared.TakeEnded(now)) {
    queue_.Put(std::max(now, link.arrival[*worker]) + Seconds(model_.latency_seconds),
               {.kind = Happening::Kind::kArrived,
                .direction = happening.direction,
                .worker = static_cast<uint32_t>(*worker)});
  }
  LookAhead(link, happening.direction);
}

void Wires::LookAhead(Link& link, Direction direction) {
  const std::optional<Time> end = link.shared.NextEnd();
  if (!end) return;
  queue_.Put(*end,
             {.kind = Happening::Kind::kLinkFree, .direction = direction, .turn = ++link.told});
}

}  // namespace paceline::simulator

// Defines Wires: the transfers between workers and the server, in time.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "lib/base/time.h"
#include "lib/chaos/links.h"
#include "simulator/driver/absence.h"
#include "simulator/driver/happening.h"
#include "simulator/kernel/event_queue.h"
#include "simulator/model/shared_link.h"

namespace paceline::simulator {

// All workers pull from one server and push to it. A transfer shares the server's bandwidth, of
// each direction, with those that travel at the same time; it is no faster than the worker's own
// link, and comes after the latency.
struct NetworkModel {
  double latency_seconds = 0;
  double server_bytes_per_second = 0;  // 0: without bound.
  double worker_bytes_per_second = 0;  // Likewise.
  double bytes = 0;                    // Of a pull...
  std::optional<double> push_bytes;    // ...and of a push, where that is not as large.
};

// Each life of a worker has at most one pull and one push under way; what is under way when a life
// ends travels on. Puts into the queue what it wants to be
// told of (kLinkFree), and kArrived when a transfer is whole.
class Wires {
 public:
  // `links` are the workers', one each: what makes their own narrower than the model's, and adds to
  // its latency.
  Wires(const NetworkModel& model, std::vector<std::optional<chaos::Link>> links,
        const std::vector<Outage>& outages, EventQueue<Happening>& queue);

  void Send(Time now, uint32_t worker, uint16_t life, Direction direction);
  void LinkFree(Time now, const Happening& happening);

 private:
  struct Sent {
    Time begun{};
    Time arrives{};  // Not before this, for its worker's own link's sake.
  };
  struct Link {
    SharedLink shared;
    uint64_t told = 0;  // How often the end to come was put into the queue: earlier ones are void.
    std::vector<Sent> sent;  // By the transfer's number.
  };
  Link& LinkOf(Direction direction) { return direction == Direction::kPull ? pulls_ : pushes_; }
  void LookAhead(Link& link, Direction direction);
  Duration LatencyOf(uint32_t worker) const;
  // When what begun then arrives that would at `arrives` if no outage held it up.
  Time Delayed(uint32_t worker, Time begun, Time arrives) const;

  const NetworkModel model_;
  const std::vector<std::optional<chaos::Link>> links_;
  const size_t workers_;
  std::vector<std::vector<std::pair<Time, Time>>> outages_;  // By worker, in order; or empty.
  EventQueue<Happening>& queue_;
  Link pulls_, pushes_;
};

}  // namespace paceline::simulator

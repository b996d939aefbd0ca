// Defines Attendance: which workers are there. Processes begin, end, and others take their place;
// each has a session of its own with the coordinator.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "lib/coordination/coordinator.h"
#include "simulator/driver/virtual_worker.h"

namespace paceline::simulator {

class Attendance {
 public:
  // `tell` tells the coordinator, whose orders may come before it returns. Puts into the queue when
  // who comes and goes; from then on workers can speak.
  Attendance(World& world, std::function<void(coordination::Fact)> tell);

  void Begin();  // Who is there at first joins.
  // Of a worker.
  void Happen(const Happening& happening);

  // Of that session; null if its process has ended.
  VirtualWorker* Find(coordination::ConnectionId session);
  // It was refused, since the process before still counts as alive: it tries again.
  void TryAgain(coordination::ConnectionId session);

 private:
  struct Seat {
    uint16_t life = 0;  // Of whom is there, or of the next one.
    std::unique_ptr<VirtualWorker> worker;
    std::optional<uint64_t> absent_by;  // Which of absences_, where nobody is there...
    uint64_t was_absent_by = 0;         // ...and before somebody was.
  };
  uint32_t IndexOf(coordination::ConnectionId session) const {
    return static_cast<uint32_t>((session.value() - 1) % seats_.size());
  }
  coordination::ConnectionId SessionOf(uint32_t index, uint16_t life) const {
    return coordination::ConnectionId(1 + index + uint64_t{life} * seats_.size());
  }
  void Say(uint32_t index, protocol::WorkerMessage message);
  void Join(uint32_t index);
  void Crash(uint64_t which);
  void Miss(const Happening& happening);
  bool IsOutOfReach(uint32_t index) const;
  bool IsOfOutage(uint64_t which) const { return which >= world_.options.absences.size(); }

  World& world_;
  const std::function<void(coordination::Fact)> tell_;
  const std::vector<Absence> absences_;
  std::vector<Seat> seats_;
};

}  // namespace paceline::simulator

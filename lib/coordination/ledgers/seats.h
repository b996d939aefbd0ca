// Defines Seats: which number each worker of a job has.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/ids.h"
#include "lib/protocol/seat.h"

namespace paceline::coordination {

// So many workers of a group are wanted, and so few are enough to start.
struct GroupOptions {
  std::string name;
  uint32_t wanted = 1;
  uint32_t min = 1;
  friend bool operator==(const GroupOptions&, const GroupOptions&) = default;
};

// A value. A seat keeps its number for as long as the job lives, whatever is scaled; no number is
// given twice. Where a job has no groups a worker's number is its index, and nothing is kept.
class Seats {
 public:
  struct Given {
    WorkerId worker;
    protocol::Seat seat;
    friend bool operator==(const Given&, const Given&) = default;
  };

  // Numbers for all that are wanted, in the order of the groups and of their indices, so that they
  // do not depend on who comes first. `workers_max` numbers are given at most.
  void GiveAll(const std::vector<GroupOptions>& groups, uint32_t workers_max);
  // The seat's number, given now if it has none. Nothing if `workers_max` are given.
  std::optional<WorkerId> Give(const protocol::Seat& seat, uint32_t workers_max);

  // The number that the seat has.
  std::optional<WorkerId> Find(const protocol::Seat& seat) const;
  protocol::Seat SeatOf(WorkerId worker) const;

  std::vector<Given> given() const;  // By number; what a checkpoint keeps.
  void Restore(const std::vector<Given>& given);

 private:
  std::map<protocol::Seat, WorkerId> numbers_;
  std::map<WorkerId, protocol::Seat> seats_;
};

}  // namespace paceline::coordination

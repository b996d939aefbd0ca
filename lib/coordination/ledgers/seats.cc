#include "lib/coordination/ledgers/seats.h"

namespace paceline::coordination {

using protocol::Seat;

void Seats::GiveAll(const std::vector<GroupOptions>& groups, uint32_t workers_max) {
  for (const GroupOptions& group : groups) {
    for (uint64_t index = 0; index < group.wanted; ++index) Give({group.name, index}, workers_max);
  }
}

std::optional<WorkerId> Seats::Give(const Seat& seat, uint32_t workers_max) {
  if (const std::optional<WorkerId> given = Find(seat)) {
    if (!seat.group.empty() || given->value() < workers_max) return given;
    return std::nullopt;
  }
  const WorkerId next(seats_.empty() ? 0 : seats_.rbegin()->first.value() + 1);
  if (next.value() >= workers_max) return std::nullopt;
  numbers_.emplace(seat, next);
  seats_.emplace(next, seat);
  return next;
}

std::optional<WorkerId> Seats::Find(const Seat& seat) const {
  if (seat.group.empty()) return WorkerId(seat.index);
  const auto found = numbers_.find(seat);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

Seat Seats::SeatOf(WorkerId worker) const {
  const auto found = seats_.find(worker);
  return found == seats_.end() ? Seat{"", worker.value()} : found->second;
}

std::vector<Seats::Given> Seats::given() const {
  std::vector<Given> given;
  given.reserve(seats_.size());
  for (const auto& [worker, seat] : seats_) given.push_back({worker, seat});
  return given;
}

void Seats::Restore(const std::vector<Given>& given) {
  for (const auto& [worker, seat] : given) {
    numbers_[seat] = worker;
    seats_[worker] = seat;
  }
}

}  // namespace paceline::coordination

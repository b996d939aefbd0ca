#include "lib/coordination/phases/asking.h"

#include "lib/coordination/phases/joining.h"

namespace paceline::coordination {

void Ask(Turn turn, sync::Event event) {
  if (turn.job.is_asking || !turn.job.later.empty()) {
    turn.job.later.push_back(std::move(event));
    return;
  }
  turn.job.is_asking = true;
  turn.effects.push_back(Observe{std::move(event)});
}

void Lose(Turn turn, Loss loss) {
  if (turn.job.is_asking || !turn.job.later.empty()) {
    turn.job.later.push_back(std::move(loss));
    return;
  }
  Remove(turn, loss);
}

void GoOnAsking(Turn turn) {
  JobState& job = turn.job;
  while (!job.is_asking && !job.later.empty()) {
    auto next = std::move(job.later.front());
    job.later.pop_front();
    if (sync::Event* event = std::get_if<sync::Event>(&next)) {
      job.is_asking = true;
      turn.effects.push_back(Observe{std::move(*event)});
    } else {
      // Its own question goes before the rest of the line.
      auto rest = std::exchange(job.later, {});
      Remove(turn, std::get<Loss>(next));
      job.later.insert(job.later.end(), rest.begin(), rest.end());
    }
  }
}

void Expel(Turn turn, ConnectionId connection, std::string reason) {
  Lose(turn, Loss{connection, sync::LeaveReason::kExpelled, WorkerEventKind::kExpelled, reason,
                  protocol::Expelled{reason}, true});
}

}  // namespace paceline::coordination

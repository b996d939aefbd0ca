#include "lib/sync/schemes/meanwhile/go_on.h"

#include "lib/sync/schemes/engine/sending.h"

namespace paceline::sync {

void SendOnAtOnce(Turn turn, Member& member) {
  if (member.standing().owed > 0) return;
  if (IsStuck(turn.state, member) || IsStopped(turn.state, member)) return;
  ReleaseToWait(turn, member);
}

}  // namespace paceline::sync

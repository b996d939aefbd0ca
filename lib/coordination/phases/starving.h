// Defines what becomes of workers that find no samples: the policy is told, and told again when it
// is worth another look.
//
// The policy cannot know when samples come back: not each push that it drops gives some back, and
// an epoch that is complete makes room for the next. So coordination says it, and only where
// somebody is out of data and might find some now. It comes last in line: whoever found none before
// has been told so.
#pragma once

#include "lib/coordination/phases/state.h"

namespace paceline::coordination {

// The worker was sent on, and there was nothing for it.
void TellOutOfData(Turn turn, WorkerId worker);

// At the end of each Step, if there is something to say and the policy has answered all else.
void TellSamplesReturned(Turn turn);

// Whether what came back as overtaken is for others than that worker: it was late, and who is in
// time waits for samples, and will be told of these.
bool LeavesOvertaken(JobState& job, WorkerId worker);

}  // namespace paceline::coordination

// The judgements of a plan, one a file; plan.cc calls them in order.
#pragma once

#include <chrono>

#include "lib/job/plan/draft.h"

namespace paceline::job {

void JudgeSuspend(
    Draft& draft);  // runPolicy.suspend: stop all; the start time counts anew afterwards.
void JudgeGivingWay(
    Draft& draft);  // Too few have a machine for too long: makes room, and tries again later.
void JudgeDeadline(Draft& draft);       // activeDeadlineSeconds.
void JudgeFailurePolicy(Draft& draft);  // A rule says FailJob.
void JudgeFailure(
    Draft& draft);  // backoffLimit, a lost parameter server, a coordinator that gave up.
void JudgeEvaluator(Draft& draft);   // One that cannot work is not started again.
void JudgeSuccess(Draft& draft);     // The coordinator says that it is done.
void JudgeScale(Draft& draft);       // Start what is missing, stop what is too many.
void JudgeRestart(Draft& draft);     // Start again what ended, after a backoff.
void JudgePending(Draft& draft);     // Replace what does not come to run for too long.
void JudgeLostShards(Draft& draft);  // Replace what runs and its coordinator has lost.
void JudgeStragglers(Draft& draft);  // stragglerPolicy.action Replace.
void JudgeHung(Draft& draft);        // Expelled for a step that hangs, and there yet: replace it.
void JudgeLostNodes(Draft& draft);   // nodeLostSeconds: give up what is on a dead machine.
void JudgeModel(Draft& draft);       // A finished job: where its model is, and until when.
void JudgeCleanup(Draft& draft);     // A finished job: cleanPodPolicy, ttlSecondsAfterFinished.

// How long a job that cannot begin to train keeps what it has, once it has some and a process finds
// no room: before it gives way.
Duration PatienceForRoom(const Draft& draft);
// After somebody has said that room is made for it.
inline constexpr Duration kRoomComesWithin = std::chrono::minutes(20);

void JudgeGang(Draft& draft);  // Says whether pods are placed together, where that is asked for.
void RecordFinishing(Draft& draft);  // That training has reached its stop.
void RecordRollBack(Draft& draft);   // That training went back: told once, and counted.
void WriteStatus(Draft& draft);      // Counts, conditions and the one word for it all.
void WriteConditions(Draft& draft);  // Of it, the conditions and events about them.

}  // namespace paceline::job

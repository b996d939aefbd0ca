// Defines how a job ends: quiesce, save the final version, evaluate it, stop the shards; or fail at
// once. What is saved is kept, whatever is lost afterwards.
#pragma once

#include <string>

#include "lib/coordination/phases/state.h"

namespace paceline::coordination {

// In words, once all epochs are complete or all steps published.
std::optional<std::string> StopReason(const JobState& job);

// Training is over, in success. Nothing if it is already. `reason` may be empty where a target was
// met.
void BeginFinishing(Turn turn, const std::string& reason);

// At the end of each Step: training is over where all wanted workers have left since their scripts
// have ended, and none is to come.
void FinishIfAllScriptsEnded(Turn turn);

// To go on later: quiesce, write a checkpoint, end without a word of farewell, since workers and
// shards wait for the coordinator's next life. In startup and once the last version's checkpoint is
// there: at once.
void BeginSuspending(Turn turn, const std::string& reason);
// The same without anything more written. Nothing if the job is over.
void Suspend(Turn turn, const std::string& reason);

// Takes every step that the state allows; after each fact in kFinishing.
void AdvanceFinishing(Turn turn);
// What is still to be judged cannot be any more, and why: the final version is not evaluated.
void NoteLoss(JobState& job, const std::string& why);
// The model is written, and what is still to be judged cannot be any more.
void EndAsSaved(Turn turn, const std::string& why_now);
void OnModelFetched(Turn turn, const ModelFetched& fetched);
// What could not be written is kept and tried again, after a pause that grows up to a minute, for
// as long as nobody asks the job to stop; a disk that is full now may have room later.
void OnModelSaved(Turn turn, const ModelSaved& saved);
// The final model is with the coordinator: whatever becomes of shards, there is nothing to go back
// for.
bool IsModelHere(const JobState& job);
std::optional<Time> FinishingDeadline(const JobState& job);

// The same, of an epoch or of the whole job, where scripts have skipped all of its samples.
void FailWithoutSteps(Turn turn, const std::string& what);

// The job is over at once, unsaved: everybody is told. Nothing if it is over.
void Fail(Turn turn, const std::string& reason);

}  // namespace paceline::coordination

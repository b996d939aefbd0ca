// The checks of a job, one subject each; validate.cc calls them in order.
#pragma once

#include "lib/job/checks/capabilities.h"
#include "lib/job/checks/findings.h"
#include "lib/job/manifest/training_job.h"

namespace paceline::job {

void CheckBounds(const TrainingJob& job, Findings& findings);  // Each field's own note (note.h).
void CheckNames(const TrainingJob& job,
                Findings& findings);  // Kubernetes' rules, for derived names too.
void CheckModel(const TrainingJob& job, Findings& findings);  // And what a command brings itself.
void CheckData(const TrainingJob& job, Findings& findings);
void CheckTraining(const TrainingJob& job, Findings& findings);
void CheckJudged(const TrainingJob& job, Findings& findings);  // What held-out samples decide.
void CheckSync(const TrainingJob& job, Findings& findings);
void CheckProcesses(const TrainingJob& job,
                    Findings& findings);  // Counts, volumes, run policy.
void CheckWorkerGroups(const TrainingJob& job, Findings& findings);
void CheckPodTemplates(const TrainingJob& job, Findings& findings);
void CheckTemplateNames(const TrainingJob& job, Findings& findings);  // Of objects.
void CheckChaos(const TrainingJob& job, Findings& findings);
void CheckAvailable(const TrainingJob& job, const Capabilities& capabilities, Findings& findings);

}  // namespace paceline::job

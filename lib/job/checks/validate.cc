#include "lib/job/checks/validate.h"

#include "lib/job/checks/checks.h"

namespace paceline::job {

std::vector<FieldError> Validate(const TrainingJob& job, const Capabilities& capabilities,
                                 const std::vector<FieldError>& known) {
  Findings findings(known);
  CheckBounds(job, findings);  // First: later checks compare only what is in bounds.
  CheckAvailable(job, capabilities, findings);
  CheckWorkerGroups(job, findings);
  CheckNames(job, findings);
  CheckModel(job, findings);
  CheckData(job, findings);
  CheckTraining(job, findings);
  CheckJudged(job, findings);
  CheckSync(job, findings);
  CheckProcesses(job, findings);
  CheckPodTemplates(job, findings);
  CheckTemplateNames(job, findings);
  CheckChaos(job, findings);
  return findings.Take();
}

}  // namespace paceline::job

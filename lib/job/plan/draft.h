// Defines Draft: a plan in the making, which the judgements read and write in turn.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/job/plan.h"

namespace paceline::job {

// A process that the job's spec asks for.
struct WantedProcess {
  std::string name;
  Role role = Role::kWorker;
  int64_t index = 0;
};

enum class Verdict { kGoesOn, kSuspended, kSucceeded, kFailed };

// One owner at a time. Keeps references to what it is made from.
class Draft {
 public:
  Draft(const TrainingJob& the_job, const Observation& observation, Time at,
        const PlanOptions& chosen);

  const TrainingJob& job;
  const Observation& seen;
  const Time now;
  const PlanOptions& options;
  const std::vector<WantedProcess> wanted;  // Parameter servers, workers, evaluator.
  const CoordinatorReport* report;          // Null if there is none of the present generation.

  Verdict verdict = Verdict::kGoesOn;
  Plan plan;

  const SeenProcess* Find(const std::string& name) const;
  // Whether the coordinator said, by word or by its exit, that training succeeded.
  bool CoordinatorSucceeded() const;
  // "digits-worker-3 was killed by signal 9".
  std::string DescribeExit(const SeenProcess& process) const;

  void Begin(const WantedProcess& process, int64_t attempt, int64_t failures);
  void End(const SeenProcess& process, PlanReason reason);
  // Ends the job; later judgements add nothing but clean up.
  void Conclude(Verdict how, PlanReason reason, std::string message);
  void SetCondition(ConditionType type, ConditionStatus status, PlanReason reason,
                    std::string message);
  void Report(EventType type, PlanReason reason, std::string message);
  void LookAgain(Time at);

 private:
  std::map<std::string, const SeenProcess*> by_name_;
};

// Whether a process ended by its own fault.
bool IsFailure(const SeenProcess& process);

// Failures of `process` that count: those before its present start, unless it has run long enough
// to be forgiven, and its present end.
int64_t CountFailures(const SeenProcess& process, Time now, Duration healthy_after);

}  // namespace paceline::job

// Defines Draft: a plan in the making, which the judgements read and write in turn.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/job/plan/plan.h"

namespace paceline::job {

// A process that the job's spec asks for.
struct WantedProcess {
  std::string name;
  Role role = Role::kWorker;
  int64_t index = 0;
  std::string group = {};  // Of workers, in a job with groups; else empty.
};

// How a process's starts before this one ended, as far as it still counts.
struct PastEnds {
  int64_t failures = 0;
  int64_t unfit = 0;
  int64_t disruptions = 0;
};

enum class Verdict { kGoesOn, kSuspended, kGivesWay, kSucceeded, kFailed };

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

  const Remembered before;  // What plans before this one have left.

  Verdict verdict = Verdict::kGoesOn;
  Plan plan;  // Its status remembers what this plan leaves.

  Remembered& remembered() { return *plan.status.remembered; }
  const Remembered& remembered() const { return *plan.status.remembered; }

  const SeenProcess* Find(const std::string& name) const;
  bool IsWanted(const std::string& name) const { return wanted_names_.contains(name); }
  // How often a process that this plan starts was started before; nothing of others.
  std::optional<int64_t> AttemptOf(const std::string& name) const;
  // Whether the last plan started it, and the cluster refused.
  bool WasRefused(const std::string& name) const { return seen.refused.contains(name); }
  // Whether the claim of the output, if it has one, is known to be one that all pods can mount.
  bool SharesOutput() const { return seen.output_claim && seen.output_claim->is_shared; }
  // Whether somebody else places all of the job's pods together, or none.
  bool IsGang() const;
  // Whether checkpoints are written.
  bool KeepsCheckpoints() const;
  // Whether training has reached its stop, as far as is known: workers are not needed any more.
  bool IsFinishing() const;
  // Whether the final model is written.
  bool IsModelWritten() const;
  // Whether processes of that role that are not there are started.
  bool StillNeeds(Role role) const;
  // Failures of `process` that count (CountFailures), and that it left though training goes on.
  int64_t FailuresOf(const SeenProcess& process) const;
  // Whether the coordinator said, by word or by its exit, that training succeeded.
  bool CoordinatorSucceeded() const;

  // Whether the coordinator says of that worker that its script has ended by itself: it is neither
  // missed nor started again.
  bool HasScriptEnded(Role role, int64_t index, const std::string& group) const;
  // Whether it ended well so lately that the coordinator may not have said yet that training is
  // over.
  bool MayHaveFinished(const SeenProcess& process) const;

  void Begin(const WantedProcess& process, int64_t attempt, const PastEnds& ends = {});
  void End(const SeenProcess& process, PlanReason reason);
  // Gives up a process that cannot be asked; in the place of an End of it, if there is one.
  void Abandon(const SeenProcess& process, PlanReason reason);
  // The next starts of the process are on other machines than the one it is on.
  void AvoidNodeOf(const SeenProcess& process);
  // The machine that the process avoids, which its next starts may use again where no other has
  // room; empty if it avoids none, or may use it already.
  std::string AllowAvoidedNode(const SeenProcess& process);
  // Whether the process is where it would not be if there were room elsewhere.
  bool HasNoOtherNode(const SeenProcess& process) const;
  // Ends the job; later judgements add nothing but clean up.
  void Conclude(Verdict how, PlanReason reason, std::string message);
  void SetCondition(ConditionType type, ConditionStatus status, PlanReason reason,
                    std::string message);
  void Report(EventType type, PlanReason reason, std::string message);
  void RequeueAt(Time at);

 private:
  std::map<std::string, const SeenProcess*> by_name_;
  std::set<std::string> wanted_names_;
  std::map<std::string, int64_t> attempts_;  // Of what this plan starts.
};

// Whether the process stays because it serves the finished job's model: as far as the plan has got.
bool ServesModel(const Draft& draft, const SeenProcess& process);

// Whether a process ended by its own fault, or its machine's.
bool IsFailure(const SeenProcess& process);

// Whether it said that starting it again is of no use.
bool IsHopeless(const SeenProcess& process);

// Whether it ended well. All may, but only once training is over.
bool HasEndedWell(const SeenProcess& process);

// Whether it is the one that judges when training is over.
bool IsCoordinator(const SeenProcess& process);

// Whether a worker ended because its machine cannot do the work: nothing that backoffLimit counts.
bool IsUnfit(const SeenProcess& process);

// Whether it is there and not going, as far as its machine has said.
bool IsUp(const SeenProcess* process);

// Whether it is up, can be used, and its machine answers.
bool IsReady(const SeenProcess* process);

// When a process that does not come to run has waited for as long as scheduleTimeoutSeconds.
Time LateAt(const TrainingJob& job, const SeenProcess& process);

// Failures of `process` that count: those before its present start, unless it has run long enough
// to be forgiven, and its present end.
int64_t CountFailures(const SeenProcess& process, Time now, Duration healthy_after);
// Likewise, ends for which its machine was not fit.
int64_t CountUnfit(const SeenProcess& process, Time now, Duration healthy_after);
int64_t CountDisruptions(const SeenProcess& process, Time now, Duration healthy_after);

}  // namespace paceline::job

// Defines CoordinatorTalk: what a job's coordinator has said, and what it has been told.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/base/time.h"
#include "lib/job/manifest/training_job.h"
#include "lib/job/state/observation.h"
#include "lib/kube/client/client.h"
#include "operator/controller/coordinator/coordinator_call.h"
#include "operator/controller/pods/own_pod.h"

namespace paceline::controller {

// Asks for the job's state every few seconds, and at once when a pod has ended or a change has been
// told; tells of a changed spec, and of an evaluator that is not started again. One that does not
// answer is tried less and less often, every 10 s in the end. Nothing here waits: Continue goes on
// with what has been answered by then. Used by one thread at a time.
class CoordinatorTalk {
 public:
  struct Means {
    kube::Client* client;
    // Where a coordinator's pod answers, and as whom it is asked.
    std::function<StatusOr<kube::Config>(const kube::Json& pod)> server_of;
    std::function<void()> answered;  // On the client's loop: Continue has something to go on with.
    Duration deadline;               // Of one exchange.
    // The job's file, where its programs are of an older version, which knows less.
    std::optional<std::string> older_file = std::nullopt;
  };

  void Continue(const job::TrainingJob& job, const std::vector<OwnPod>& pods, Time now,
                const Means& means);

  // Of a job that is over: what its coordinator left when it ended, if it has.
  void TakeLastWord(const job::TrainingJob& job, const std::vector<OwnPod>& pods);

  // Whether what is about to be decided hangs on an answer that is under way: what the job came to,
  // once pods have ended, or that leaving workers are known to leave. Never longer than the
  // deadline of an exchange; `answered` ends it.
  bool IsAwaited() const { return is_news_awaited_ || tell_.IsUnderWay(); }
  // When to continue although nothing was answered.
  std::optional<Time> requeue_at() const { return requeue_at_; }

  // The last state; nothing where none is known, or things have happened since.
  const std::optional<job::CoordinatorReport>& report() const { return report_; }
  // Since when the coordinator that runs does not answer, and what came of the first question;
  // nothing where it answers.
  const std::optional<job::SeenSilence>& silence() const { return silence_; }
  // Why the coordinator does not take the spec, once for each spec.
  std::optional<Status> TakeRefusal();

 private:
  void TakeAnswers(const job::TrainingJob& job, const std::string& pod, Time now);
  void Ask(const kube::Json& pod, Time now, const Means& means);
  void Tell(const job::TrainingJob& job, const kube::Json& pod, Time now, const Means& means);
  void WasSilent(const Status& why);
  void RequeueAt(Time at);
  Duration Patience() const;
  Duration AskPeriod(Time now) const;

  CoordinatorCall ask_;
  std::string asked_;            // Uid of the coordinator's pod.
  std::set<std::string> ended_;  // Uids of pods that have.
  std::set<std::string> ended_when_asked_;
  Time asked_at_{};
  std::optional<job::CoordinatorReport> report_;
  bool is_news_awaited_ = false;
  int silences_ = 0;                         // Of the coordinator, in a row.
  std::optional<job::SeenSilence> silence_;  // All of them.

  CoordinatorCall tell_;
  std::string telling_;  // Which pod is being told the spec of which generation, and more.
  std::string told_;     // Which was last.
  std::optional<Time> tell_again_;
  bool tells_change_ = false;        // To one that was told before.
  bool is_report_outdated_ = false;  // It has heard of a change since.
  Time soon_until_{};                // Then the change is in force, as a rule.
  std::optional<Status> refusal_;

  std::optional<Time> requeue_at_;
};

}  // namespace paceline::controller

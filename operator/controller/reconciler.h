// Defines Reconciler: makes the cluster agree with one TrainingJob. Observe, plan, record, apply.
#pragma once

#include <chrono>
#include <functional>

#include "lib/job/checks/capabilities.h"
#include "lib/job/manifest/field_error.h"
#include "lib/job/plan/plan.h"
#include "lib/kube/client/client.h"
#include "lib/kube/runtime/controller.h"
#include "lib/kube/runtime/event_recorder.h"
#include "operator/controller/children.h"
#include "operator/controller/clock.h"
#include "operator/controller/cluster_view.h"
#include "operator/controller/installations/installations.h"
#include "operator/controller/installations/job_claims.h"
#include "operator/controller/job_record.h"
#include "operator/controller/pods/first_pods.h"
#include "operator/controller/pods/pod_changes.h"
#include "operator/controller/secrets/certificates.h"
#include "operator/controller/secrets/control_tokens.h"
#include "operator/objects/defaults/pod_defaults.h"
#include "operator/objects/options.h"

namespace paceline::controller {

struct ReconcilerOptions {
  ObjectOptions objects;
  InstallationOptions installation;
  PodDefaults defaults;             // Of jobs that begin.
  bool sees_all_namespaces = true;  // Else there may be jobs that it knows nothing of.
  job::PlanOptions plan;
  job::Capabilities capabilities;
  Clock now = WallNow;
  // A coordinator has answered: look at its job. On the client's loop; must not block.
  std::function<void(const kube::ObjectKey& job)> news;
  Duration coordinator_deadline = std::chrono::seconds(2);  // For its answer.
};

// Thread-safe as long as each job is worked on by one thread at a time, which is the work queue's
// promise.
class Reconciler {
 public:
  // All outlive this.
  Reconciler(kube::Client* client, const ClusterView* view, kube::EventRecorder* events,
             JobRecords* records, ReconcilerOptions options);

  StatusOr<kube::Result> Reconcile(const kube::ObjectKey& key);
  // Forgets all jobs, whose records are made no more; `news` is not called any more. Nothing
  // reconciles beside it or after.
  void HangUp();

 private:
  struct Look;
  // Not anew where the record, which may be null, has that object already.
  std::shared_ptr<const ReadJob> Read(const kube::ObjectPtr& object, const JobRecord* record) const;
  // That the job controls: those that the view shows, and those that are known though it does not.
  StatusOr<std::vector<kube::ObjectPtr>> PodsOf(const job::TrainingJob& job, JobRecord& record,
                                                Time now) const;
  StatusOr<kube::Result> Refuse(const Look& look);
  // A job that is another installation's, which is said once.
  kube::Result LeaveAlone(JobRecord& record, const kube::ObjectPtr& object);
  // Of a job that has its first pods: whether its first status waits for the pods of others.
  bool GivesWay(const Look& look) const;
  Status Prepare(const Look& look);
  void TalkToCoordinator(const Look& look);
  // Tells of pods whose labels somebody has changed, and has them made anew.
  Status CareForLabels(const Look& look);
  StatusOr<kube::Result> PlanAndApply(const Look& look);
  // Whether others wait for room, and whether somebody makes some for the job.
  void ShowRoom(const Look& look, job::Observation& seen) const;
  // With what is to be done of it now.
  job::Plan MakePlan(const Look& look) const;
  // What decides where checkpoints are. Looked at until there are pods: a claim that they mount
  // stays as it is.
  void LookAtDecidingClaim(const Look& look);
  // Whether the job has a pod that the plan starts, unseen: the record has it from now on.
  StatusOr<bool> FindsUnseen(const Look& look, const job::Plan& plan);
  // Whether something of a former job is in the way of what the plan starts.
  bool AwaitsFormerJob(const Look& look, const job::Plan& plan) const;
  // What the servers that the plan starts mount. Whether all of it is there.
  bool PrepareServers(const Look& look, const job::Plan& plan);
  // As Look::job says now, whatever runs.
  Status SettleClaims(const Look& look);
  void LookAgainBy(std::optional<Duration>& at, const Look& look, const job::Plan& plan) const;
  // What cannot be done is in the record.
  void Apply(const Look& look, const std::vector<job::Action>& actions);
  void Record(const Look& look, const std::vector<job::PlanEvent>& events);

  kube::Client* const client_;
  const ClusterView* const view_;
  kube::EventRecorder* const events_;
  JobRecords* const records_;
  const ReconcilerOptions options_;

  Children children_;
  Installations installations_;
  JobClaims claims_;
  Certificates certificates_;
  ControlTokens tokens_;
  PodChanges pod_changes_;
  FirstPods first_pods_;
};

}  // namespace paceline::controller

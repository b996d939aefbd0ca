// Defines Operator: all that makes TrainingJobs happen in a cluster, put together.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "lib/kube/client/client.h"
#include "lib/kube/runtime/controller.h"
#include "lib/kube/runtime/event_recorder.h"
#include "lib/kube/runtime/leader_elector.h"
#include "lib/kube/runtime/pacing.h"
#include "operator/controller/cluster_view.h"
#include "operator/controller/job_record.h"
#include "operator/controller/operator_metrics.h"
#include "operator/controller/reconciler.h"

namespace paceline::controller {

struct OperatorOptions {
  std::string name_space;  // Of the jobs; empty: all.
  std::string identity;    // This process's: its pod's name and something unique.
  bool elects_leader = true;
  kube::ObjectKey lease;  // Where leaders are elected.
  // Where those of versions before are, whatever the installation. It leads once none of them does,
  // and holds this one, too, or sees it held by another installation of a version like this. No
  // name: there are none.
  kube::ObjectKey former_lease;
  int threads = 4;  // Jobs that are looked at side by side.
  ReconcilerOptions reconciler;
};

// One owner at a time. Starts with Start; everything runs on the client's loop and on its own
// threads.
class Operator {
 public:
  // All outlive this. `lost` is called, once and on the client's loop, when somebody else has taken
  // the lead: the process has to end.
  Operator(kube::Client* client, OperatorMetrics* metrics, OperatorOptions options,
           std::function<void()> lost);
  ~Operator();  // As Stop.

  // DeadlineExceeded naming what could not be listed, and why, if that is so after `deadline`.
  Status Start(Duration deadline);
  // Finishes what is being done, writes the events and gives the lead back.
  void Stop();

  bool IsReady() const { return view_.HasSynced(); }
  std::vector<kube::ObjectPtr> Jobs() const { return view_.Jobs(); }
  size_t JobsOfOthers() const { return records_.CountOthers(); }

 private:
  ClusterViewHandler ViewHandler();
  ReconcilerOptions ReconcilerOptionsOf();
  // Both do nothing while somebody else leads.
  void Look(const kube::ObjectKey& job, kube::Priority priority);
  void RequeueSoon(const kube::ObjectKey& job);
  void PodChanged(const kube::ObjectKey& job, const kube::ObjectChange& change);
  void PodGone(const kube::Json& pod, JobRecord& record);
  kube::LeaderElectionOptions ElectionIn(const kube::ObjectKey& lease, std::string identity,
                                         std::function<void()> started);
  void LeadIfDue();
  void Lead();

  kube::Client* const client_;
  OperatorMetrics* const metrics_;
  const OperatorOptions options_;
  const std::function<void()> lost_;

  JobRecords records_;
  kube::EventRecorder events_;
  ClusterView view_;
  Reconciler reconciler_;
  kube::Pacing pacing_;
  kube::Controller controller_;
  std::unique_ptr<kube::LeaderElector> elector_, former_elector_;
  bool has_lease_ = false, is_former_past_ = false;  // Of the client's loop, once it has begun.
  std::atomic<bool> leads_{false};
  std::atomic<bool> is_stopped_{false};
};

}  // namespace paceline::controller

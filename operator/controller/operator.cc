#include "operator/controller/operator.h"

#include <chrono>
#include <set>

#include "lib/kube/core/metadata.h"
#include "lib/kube/core/owner_reference.h"
#include "lib/telemetry/log.h"
#include "operator/controller/clock.h"
#include "operator/objects/names.h"
#include "operator/objects/seen/seen_pod.h"

namespace paceline::controller {
namespace {

using telemetry::Log;
using telemetry::LogLevel;

// Pods come and change in swarms. What is seen of one after a quiet time is acted on at once, what
// follows together; the gap is that of Kubernetes' own Job controller.
constexpr Duration kSoon = std::chrono::milliseconds(100);
constexpr Duration kGap = std::chrono::seconds(1);
constexpr Duration kFlushTimeout = std::chrono::seconds(2);
// In the former Lease, between an identity and the Lease that it really leads by.
constexpr const char* kByLease = "@";

// Reconcile errors are retried; a job that somebody else wrote to in between is nothing to report.
void LogFailure(const kube::ReconcileRecord& record) {
  if (record.status.ok() || record.status.code() == StatusCode::kAborted) return;
  Log(record.outcome == kube::Outcome::kThrew ? LogLevel::kError : LogLevel::kWarning,
      "job could not be made so",
      {{"job", record.key}, {"failures", record.failures}, {"reason", Message(record.status)}});
}

}  // namespace

Operator::Operator(kube::Client* client, OperatorMetrics* metrics, OperatorOptions options,
                   std::function<void()> lost)
    : client_(client),
      metrics_(metrics),
      options_(std::move(options)),
      lost_(std::move(lost)),
      events_(*client,
              {.controller = "paceline.dev/operator",
               .instance = options_.identity,
               .failed =
                   [](const Status& status) {
                     Log(LogLevel::kWarning, "event not written", {{"reason", Message(status)}});
                   }}),
      view_(*client, options_.name_space, options_.reconciler.objects.gang_scheduler,
            ViewHandler()),
      reconciler_(client, &view_, &events_, &records_, ReconcilerOptionsOf()),
      pacing_(kSoon, kGap),
      controller_({.name = "trainingjobs",
                   .threads = options_.threads,
                   .reconcile =
                       [this](const kube::ObjectKey& key) {
                         pacing_.Looked(key, kube::Pacing::Clock::now());
                         return reconciler_.Reconcile(key);
                       },
                   .observe =
                       [this](const kube::ReconcileRecord& record) {
                         metrics_->Reconciled(record);
                         LogFailure(record);
                       },
                   .queue = {.name = "trainingjobs", .metrics = metrics->Queue()}}) {
  metrics_->Leads(false);
}

Operator::~Operator() { Stop(); }

ReconcilerOptions Operator::ReconcilerOptionsOf() {
  ReconcilerOptions options = options_.reconciler;
  options.sees_all_namespaces = options_.name_space.empty();
  options.news = [this](const kube::ObjectKey& job) { controller_.queue().Add(job); };
  return options;
}

ClusterViewHandler Operator::ViewHandler() {
  return {.job_changed =
              [this](const kube::ObjectKey& job, bool is_initial) {
                Look(job, is_initial ? kube::Priority::kLow : kube::Priority::kNormal);
              },
          .status_changed = [this](const kube::ObjectKey& job) { RequeueSoon(job); },
          .child_changed = [this](const kube::ObjectKey& job) { RequeueSoon(job); },
          .pod_changed = [this](const kube::ObjectKey& job,
                                const kube::ObjectChange& change) { PodChanged(job, change); },
          .failed =
              [](const std::string& what, const Status& status) {
                Log(LogLevel::kWarning, "cluster not seen for a moment",
                    {{"what", what}, {"reason", Message(status)}});
              }};
}

void Operator::Look(const kube::ObjectKey& job, kube::Priority priority) {
  if (leads_) controller_.queue().Add(job, priority);
}

void Operator::RequeueSoon(const kube::ObjectKey& job) {
  if (!leads_) return;
  controller_.queue().AddAfter(job, pacing_.DelayAt(job, kube::Pacing::Clock::now()));
}

// What is remembered of a pod is its owner's, whatever job has that name by now.
void Operator::PodChanged(const kube::ObjectKey& job, const kube::ObjectChange& change) {
  std::set<std::string> owners;
  for (const kube::ObjectPtr& version : {change.before, change.after}) {
    const auto owner = version == nullptr ? std::nullopt : kube::ControllerOf(*version);
    if (owner) owners.insert(owner->uid);
  }
  for (const std::string& uid : owners) {
    const std::shared_ptr<JobRecord> record = records_.Find(uid);
    if (record == nullptr) continue;
    record->expectations.Saw(change);
    if (change.after == nullptr) PodGone(*change.before, *record);
    if (record->key != job) RequeueSoon(record->key);  // Somebody has changed the job's label.
  }
}

void Operator::PodGone(const kube::Json& pod, JobRecord& record) {
  const kube::ObjectPtr object = view_.Job(record.key);
  if (object == nullptr || kube::IsBeingDeleted(*object)) return;
  job::TrainingJob owner;  // As far as reading its pod needs it.
  owner.metadata.name = record.key.name;
  owner.metadata.name_space = record.key.name_space;
  owner.metadata.uid = record.uid;
  if (auto process = SeenPod(owner, pod))
    record.gone_pods.PodGone(kube::Uid(pod), *std::move(process), WallNow());
}

Status Operator::Start(Duration deadline) {
  view_.Start();
  PACELINE_RETURN_IF_ERROR(view_.WaitForSync(deadline));
  if (!options_.elects_leader) {
    Lead();
    return OkStatus();
  }
  // Side by side: whoever takes the place of one that died would wait twice otherwise.
  is_former_past_ = options_.former_lease.name.empty();
  elector_ = std::make_unique<kube::LeaderElector>(
      *client_, ElectionIn(options_.lease, options_.identity, [this] {
        has_lease_ = true;
        LeadIfDue();
      }));
  elector_->Start();
  if (is_former_past_) return OkStatus();
  const std::function<void()> pass = [this] {
    is_former_past_ = true;
    LeadIfDue();
  };
  kube::LeaderElectionOptions former =
      ElectionIn(options_.former_lease, options_.identity + kByLease + options_.lease.name, pass);
  former.new_leader = [this, pass, log = former.new_leader,
                       lost = former.lost](const std::string& identity) {
    log(identity);
    if (identity.find(kByLease) != std::string::npos) return pass();
    // One of a version before has come to lead: this one ends, and waits for it when it begins
    // anew.
    if (is_former_past_ && !identity.empty())
      lost(Aborted("{} leads by the former Lease", identity));
  };
  former_elector_ = std::make_unique<kube::LeaderElector>(*client_, std::move(former));
  former_elector_->Start();
  return OkStatus();
}

void Operator::LeadIfDue() {
  if (has_lease_ && is_former_past_ && !leads_) Lead();
}

kube::LeaderElectionOptions Operator::ElectionIn(const kube::ObjectKey& lease, std::string identity,
                                                 std::function<void()> started) {
  return {.lease = lease,
          .identity = std::move(identity),
          .started_leading = std::move(started),
          .lost =
              [this](const Status& why) {
                Log(LogLevel::kError, "lead lost", {{"reason", Message(why)}});
                has_lease_ = leads_ = false;
                metrics_->Leads(false);
                lost_();
              },
          .new_leader =
              [](const std::string& identity) {
                Log(LogLevel::kInfo, "leader seen", {{"identity", identity}});
              },
          .failed =
              [](const Status& status) {
                Log(LogLevel::kWarning, "lease not renewed", {{"reason", Message(status)}});
              }};
}

void Operator::Lead() {
  records_.Lead();
  leads_ = true;  // Before the jobs are read: what comes from now on is looked at when it comes.
  const std::vector<kube::ObjectPtr> jobs = view_.Jobs();
  Log(LogLevel::kInfo, "leading", {{"jobs", jobs.size()}});
  metrics_->Leads(true);
  for (const kube::ObjectPtr& job : jobs) Look(kube::KeyOf(*job), kube::Priority::kLow);
  controller_.Start();
}

void Operator::Stop() {
  if (is_stopped_.exchange(true)) return;
  controller_.Stop();
  reconciler_.HangUp();
  const Status flushed = events_.Flush(kFlushTimeout);
  if (!flushed.ok()) Log(LogLevel::kWarning, "events lost", {{"reason", Message(flushed)}});
  if (former_elector_ != nullptr) former_elector_->Stop();
  if (elector_ != nullptr) elector_->Stop();
  view_.Stop();
}

}  // namespace paceline::controller

#include "operator/controller/operator.h"

#include <chrono>

#include "lib/kube/core/metadata.h"
#include "lib/kube/core/owner_reference.h"
#include "lib/telemetry/log.h"
#include "operator/controller/clock.h"
#include "operator/objects/names.h"
#include "operator/objects/seen_pod.h"

namespace paceline::controller {
namespace {

using telemetry::Log;
using telemetry::LogLevel;

constexpr Duration kViewTimeout = std::chrono::seconds(30);
// Pods come and change in swarms. What is seen of one after a quiet time is acted on at once, what
// follows together; the gap is that of Kubernetes' own Job controller.
constexpr Duration kSoon = std::chrono::milliseconds(100);
constexpr Duration kGap = std::chrono::seconds(1);
constexpr Duration kFlushTimeout = std::chrono::seconds(2);

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
      expectations_(kViewTimeout),
      events_(*client,
              {.controller = "paceline.dev/operator",
               .instance = options_.identity,
               .failed =
                   [](const Status& status) {
                     Log(LogLevel::kWarning, "event not written", {{"reason", Message(status)}});
                   }}),
      view_(*client, options_.name_space, options_.reconciler.objects.gang_scheduler,
            ViewHandler()),
      reconciler_(client, &view_, &events_, &expectations_, &tombstones_, ReconcilerOptionsOf()),
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
  options.news = [this](const kube::ObjectKey& job) { controller_.queue().Add(job); };
  return options;
}

ClusterViewHandler Operator::ViewHandler() {
  return {.job_changed =
              [this](const kube::ObjectKey& job, bool is_initial) {
                controller_.queue().Add(
                    job, is_initial ? kube::Priority::kLow : kube::Priority::kNormal);
              },
          .status_changed = [this](const kube::ObjectKey& job) { LookSoon(job); },
          .child_changed = [this](const kube::ObjectKey& job) { LookSoon(job); },
          .pod_changed = [this](const kube::ObjectKey& job,
                                const kube::ObjectChange& change) { PodChanged(job, change); },
          .failed =
              [](const std::string& what, const Status& status) {
                Log(LogLevel::kWarning, "cluster not seen for a moment",
                    {{"what", what}, {"reason", Message(status)}});
              }};
}

void Operator::LookSoon(const kube::ObjectKey& job) {
  controller_.queue().AddAfter(job, pacing_.DelayAt(job, kube::Pacing::Clock::now()));
}

void Operator::PodChanged(const kube::ObjectKey& job, const kube::ObjectChange& change) {
  expectations_.Saw(change);
  if (change.after != nullptr || change.before == nullptr) return;
  const kube::Json& gone = *change.before;
  const auto owner = kube::ControllerOf(gone);
  const kube::ObjectPtr object = view_.Job(job);
  if (!owner || object == nullptr || kube::IsBeingDeleted(*object)) return;
  job::TrainingJob owner_job;  // As far as reading its pod needs it.
  owner_job.metadata.name = job.name;
  owner_job.metadata.name_space = job.name_space;
  owner_job.metadata.uid = owner->uid;
  if (auto process = SeenPod(owner_job, gone))
    tombstones_.PodGone(job, kube::Uid(gone), *std::move(process), WallNow());
}

Status Operator::Start(Duration deadline) {
  view_.Start();
  PACELINE_RETURN_IF_ERROR(view_.WaitForSync(deadline));
  if (!options_.elects_leader) {
    Lead();
    return OkStatus();
  }
  elector_ = std::make_unique<kube::LeaderElector>(
      *client_,
      kube::LeaderElectionOptions{
          .lease = options_.lease,
          .identity = options_.identity,
          .started_leading = [this] { Lead(); },
          .lost =
              [this](const Status& why) {
                Log(LogLevel::kError, "lead lost", {{"reason", Message(why)}});
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
              }});
  elector_->Start();
  return OkStatus();
}

void Operator::Lead() {
  Log(LogLevel::kInfo, "leading", {{"jobs", view_.Jobs().size()}});
  metrics_->Leads(true);
  controller_.Start();
}

void Operator::Stop() {
  if (is_stopped_.exchange(true)) return;
  controller_.Stop();
  reconciler_.HangUp();
  const Status flushed = events_.Flush(kFlushTimeout);
  if (!flushed.ok()) Log(LogLevel::kWarning, "events lost", {{"reason", Message(flushed)}});
  if (elector_ != nullptr) elector_->Stop();
  view_.Stop();
}

}  // namespace paceline::controller

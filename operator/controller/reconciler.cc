#include "operator/controller/reconciler.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "lib/job/checks/validate.h"
#include "lib/job/manifest/defaults.h"
#include "lib/job/manifest/encode.h"
#include "lib/job/state/checkpoint_place.h"
#include "lib/kube/core/api_error.h"
#include "lib/kube/core/metadata.h"
#include "lib/telemetry/log.h"
#include "operator/controller/coordinator/coordinator_access.h"
#include "operator/controller/job_defaults.h"
#include "operator/controller/observe.h"
#include "operator/controller/pods/mislabelled_pods.h"
#include "operator/controller/refusal.h"
#include "operator/controller/resources.h"
#include "operator/controller/status_writer.h"
#include "operator/objects/seen/seen_pod.h"

namespace paceline::controller {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kViewLag = seconds(5);  // Until the view has surely shown our own writes.
constexpr Duration kUnwatchedPeriod = seconds(3);  // Between two looks at what has to go first.
constexpr Duration kSecretPeriod = seconds(30);    // Between two looks at a job's Secrets.
constexpr Duration kNextTurn = milliseconds(100);  // Of a job that gives way to others.

void Sooner(std::optional<Duration>& at, Duration after) { at = at ? std::min(*at, after) : after; }

void RequeueAt(std::optional<Duration>& at, Duration after) {
  Sooner(at, std::max<Duration>(after, seconds(1)));
}

bool StartsServer(const job::Action& action) {
  const auto* start = std::get_if<job::Start>(&action);
  return start != nullptr && start->role == job::Role::kParameterServer;
}

bool StartsAny(const std::vector<job::Action>& actions) {
  return std::any_of(actions.begin(), actions.end(), [](const job::Action& action) {
    return std::holds_alternative<job::Start>(action);
  });
}

// With the images that jobs which begin are to keep.
ReconcilerOptions Completed(ReconcilerOptions options) {
  options.defaults.images = ImagesOf(options.objects);
  return options;
}

}  // namespace

// One look at one job.
struct Reconciler::Look {
  kube::ObjectKey key;
  std::shared_ptr<const ReadJob> read;
  const kube::Json& object;
  std::shared_ptr<const job::TrainingJob> whole_job;
  const job::TrainingJob& job;        // That one.
  std::vector<kube::ObjectPtr> pods;  // That it controls.
  std::vector<OwnPod> own;            // Those that are its processes.
  std::shared_ptr<JobRecord> record;
  Time now;

  bool IsClaimed() const { return record->claim.whose == Whose::kOurs; }
  bool IsFirst() const {
    return IsUnwritten(job.status) && !record->unwritten && !job.spec.run_policy.suspend;
  }
};

Reconciler::Reconciler(kube::Client* client, const ClusterView* view, kube::EventRecorder* events,
                       JobRecords* records, ReconcilerOptions options)
    : client_(client),
      view_(view),
      events_(events),
      records_(records),
      options_(Completed(std::move(options))),
      children_(client, view, options_.objects),
      installations_(client, options_.installation),
      claims_(client, view, &installations_),
      certificates_(client, options_.now),
      tokens_(client),
      pod_changes_(client, options_.objects) {}

StatusOr<kube::Result> Reconciler::Reconcile(const kube::ObjectKey& key) {
  const kube::ObjectPtr object = view_->Job(key);
  if (object == nullptr || kube::IsBeingDeleted(*object)) {
    records_->Forget(key);  // What it owned goes with it.
    return kube::Result{};
  }
  const std::string uid = kube::Uid(*object);
  const std::shared_ptr<const ReadJob> read = Read(object, records_->Find(uid).get());
  if (!job::IsOurs(read->job)) {
    records_->Forget(key);
    return kube::Result{};
  }
  const std::shared_ptr<JobRecord> record = records_->Of(key, uid);
  if (record == nullptr) return kube::Result{};  // Somebody else leads.
  if (!record->expectations.AreMet(key)) return kube::Result{.requeue_after = kViewLag};
  const Time now = options_.now();
  PACELINE_ASSIGN_OR_RETURN(std::vector<kube::ObjectPtr> pods, PodsOf(read->job, *record, now));
  std::vector<OwnPod> own = OwnPods(read->job, pods);
  SettleDefaults(read->job, own, *view_, options_.defaults, *record);
  // Its templates with the defaults below them, in which whoever looks at the job finds them.
  std::shared_ptr<const job::TrainingJob> job(read, &read->job);
  if (!record->defaults->IsEmpty())
    job = std::make_shared<const job::TrainingJob>(WithDefaults(read->job, *record->defaults));
  record->former = {};  // What is in the way is found again.
  record->resources = claims_.Settle(*job, *record);
  record->is_anothers = record->claim.whose == Whose::kAnothers;
  if (record->is_anothers) return LeaveAlone(*record, object);
  record->clocks.Correct(own, read->job.spec.run_policy.node_lost_seconds, now);
  record->read = pods.empty() ? nullptr : read;
  const Look look{.key = key,
                  .read = read,
                  .object = *object,
                  .whole_job = job,
                  .job = *job,
                  .pods = std::move(pods),
                  .own = std::move(own),
                  .record = record,
                  .now = now};
  if (!read->errors.empty()) return Refuse(look);
  if (GivesWay(look)) return kube::Result{.requeue_after = kNextTurn};
  record->aside = CareForLabels(look);
  if (const Status volumes = SettleClaims(look); record->aside.ok()) record->aside = volumes;

  std::optional<FirstPods::Making> making;
  if (look.IsFirst()) making.emplace(&first_pods_);
  if (record->resources.ok()) record->resources = Prepare(look);
  if (!job::IsFinished(look.job.status)) {
    TalkToCoordinator(look);
    // Comes back with the answer.
    if (record->talk.IsAwaited())
      return kube::Result{.requeue_after = 2 * options_.coordinator_deadline};
  } else if (job::HasModelServed(look.job.status)) {
    record->talk.TakeLastWord(look.job, look.own);
  }
  PACELINE_ASSIGN_OR_RETURN(kube::Result result, PlanAndApply(look));
  // Whatever is refused: timers run, and all else goes on.
  if (record->aside.ok() && record->resources.ok()) {
    record->around.Reset();
  } else {
    Sooner(result.requeue_after, std::max({record->around.Next(), kube::RetryAfter(record->aside),
                                           kube::RetryAfter(record->resources)}));
  }
  return result;
}

StatusOr<std::vector<kube::ObjectPtr>> Reconciler::PodsOf(const job::TrainingJob& job,
                                                          JobRecord& record, Time now) const {
  std::vector<kube::ObjectPtr> pods = view_->PodsOf(record.uid);
  PACELINE_ASSIGN_OR_RETURN(const std::vector<kube::ObjectPtr> gone,
                            record.unseen.Refresh(*client_, job, pods));
  for (const kube::ObjectPtr& pod : gone) {
    if (auto process = SeenPod(job, *pod))
      record.gone_pods.PodGone(kube::Uid(*pod), *std::move(process), now);
  }
  record.unseen.AddTo(pods);
  return pods;
}

std::shared_ptr<const ReadJob> Reconciler::Read(const kube::ObjectPtr& object,
                                                const JobRecord* record) const {
  if (record != nullptr && record->read != nullptr && record->read->object == object)
    return record->read;
  job::Decoded decoded = job::FromJson(*object);
  job::ApplyDefaults(decoded.job);
  auto read = std::make_shared<ReadJob>();
  read->object = object;
  read->job = std::move(decoded.job);
  read->errors = std::move(decoded.errors);
  for (job::FieldError& error : job::Validate(read->job, options_.capabilities, read->errors))
    read->errors.push_back(std::move(error));
  return read;
}

// A job that no plan can be made of: said once, and looked at again when its spec changes.
StatusOr<kube::Result> Reconciler::Refuse(const Look& look) {
  job::JobStatus after = RefusedStatus(look.job, look.read->errors, look.now);
  if (look.IsClaimed()) after.installation = look.record->claim.installation;
  PACELINE_RETURN_IF_ERROR(
      WriteStatus(*client_, look.object, look.job.status, after, *look.record, look.now).status());
  return kube::Result{};
}

kube::Result Reconciler::LeaveAlone(JobRecord& record, const kube::ObjectPtr& object) {
  if (std::exchange(record.told_other, record.claim.installation) != record.claim.installation) {
    const std::string text = claims_.Describe(record.claim);
    telemetry::Log(telemetry::LogLevel::kWarning, "job of another installation left alone",
                   {{"job", fmt::format("{}", record.key)}, {"reason", text}});
    events_->Record({.regarding = *object,
                     .type = kube::EventType::kWarning,
                     .reason = std::string(job::ToWord(job::PlanReason::kAnotherInstallation)),
                     .action = "",
                     .note = text,
                     .related = nullptr,
                     .weight = kube::EventWeight::kOrdinary});
  }
  if (claims_.LacksSeeds()) return {.requeue_after = kSecretPeriod};
  return {};
}

bool Reconciler::GivesWay(const Look& look) const {
  const JobRecord& record = *look.record;
  const bool has_unwritten = record.unwritten && IsUnwritten(look.job.status);
  return has_unwritten && record.pods.ok() && record.resources.ok() &&
         first_pods_.GoBefore(record.first_pods_made, look.now);
}

// What has to be there before a pod is.
Status Reconciler::Prepare(const Look& look) {
  JobRecord& record = *look.record;
  if (job::IsFinished(look.job.status) || look.job.spec.run_policy.suspend) {
    record.servers_budget = {};
    return children_.LetServersGo(look.job);
  }
  if (!look.IsClaimed()) return OkStatus();  // It waits for the former job.
  const JobClaim& claim = record.claim;
  const bool is_due = look.now >= record.secrets_due;
  const SecretLook how = is_due ? SecretLook::kAnew : SecretLook::kRemembered;
  if (look.job.spec.security.mtls == job::Toggle::kEnabled) {
    PACELINE_RETURN_IF_ERROR(
        certificates_.Ensure(look.job, claim.seed, how, record.certificates, record.former));
  }
  if (NeedsToken(look.job)) {
    PACELINE_RETURN_IF_ERROR(
        tokens_.Ensure(look.job, claim.seed, how, record.token, record.former));
  }
  if (is_due) record.secrets_due = look.now + kSecretPeriod;
  PACELINE_RETURN_IF_ERROR(children_.Ensure(look.job, claim.installation, *record.defaults,
                                            record.children, record.former));
  // Which it can do without.
  const Status kept =
      children_.KeepServers(look.job, *record.defaults, look.now, record.servers_budget);
  if (record.aside.ok()) record.aside = kept;
  return OkStatus();
}

void Reconciler::TalkToCoordinator(const Look& look) {
  CoordinatorTalk& talk = look.record->talk;
  talk.Continue(look.job, look.own, look.now,
                {.client = client_,
                 .server_of =
                     [&](const kube::Json& pod) {
                       return ServerOf(look.job, pod, look.record->claim.seed, certificates_,
                                       look.record->certificates);
                     },
                 .answered = [this, key = look.key] { options_.news(key); },
                 .deadline = options_.coordinator_deadline,
                 .older_file = look.record->children.older_file});
  if (const auto refusal = talk.TakeRefusal()) {
    Record(
        look,
        {{.type = job::EventType::kWarning,
          .reason = job::PlanReason::kCannotWork,
          .message = fmt::format("the coordinator refuses the new spec: {}", Message(*refusal))}});
  }
}

job::Plan Reconciler::MakePlan(const Look& look) const {
  job::Observation seen = Observe(look.job, look.own, *look.record);
  ShowTrouble(*look.record, seen);
  ShowRoom(look, seen);
  job::Plan plan = job::PlanJob(look.job, seen, look.now, options_.plan);
  if (look.IsClaimed()) plan.status.installation = look.record->claim.installation;
  const auto servers = std::ranges::count_if(plan.actions, StartsServer);
  plan.actions = look.record->refused_pods.Due(std::move(plan.actions), look.now);
  if (std::ranges::count_if(plan.actions, StartsServer) < servers)
    plan.status.coordinator_starts = RecordedStarts(look.job, look.own, *look.record);
  return plan;
}

// Only of a job that lacks some: the others' statuses are many.
void Reconciler::ShowRoom(const Look& look, job::Observation& seen) const {
  const bool lacks_room = std::ranges::any_of(look.own, [](const OwnPod& own) {
    return own.process.is_unschedulable || own.process.is_gated;
  });
  const auto pods_of = [&](const std::string& uid) { return view_->PodsOf(uid); };
  seen.others_wait = lacks_room && (!options_.sees_all_namespaces ||
                                    AnyOtherWaits(view_->Jobs(), pods_of, look.key));
  seen.room_promised_at = look.record->room.promised_at();
}

Status Reconciler::SettleClaims(const Look& look) {
  const auto& checkpoint = look.job.spec.checkpoint;
  JobRecord& record = *look.record;
  const int64_t generation = look.job.metadata.generation;
  const bool are_made = look.job.status.coordinator_starts > 0;
  if (!checkpoint || !checkpoint->volume_claim_template || !are_made || !look.IsClaimed() ||
      record.claims_settled == generation)
    return OkStatus();
  PACELINE_RETURN_IF_ERROR(children_.SettleClaims(look.job));
  record.claims_settled = generation;
  return OkStatus();
}

void Reconciler::LookAtDecidingClaim(const Look& look) {
  JobRecord& record = *look.record;
  const bool is_known = record.output_claim && !look.pods.empty();
  if (is_known || job::IsFinished(look.job.status) || job::DecidingClaim(look.job.spec).empty())
    return;
  auto claim = children_.ReadDecidingClaim(look.job);
  record.pods = claim.status();
  if (claim.ok()) record.output_claim = *std::move(claim);
}

bool Reconciler::PrepareServers(const Look& look, const job::Plan& plan) {
  JobRecord& record = *look.record;
  if (std::none_of(plan.actions.begin(), plan.actions.end(), StartsServer)) return true;
  if (const std::string claim = job::DecidingClaim(look.job.spec);
      !claim.empty() && !record.output_claim) {
    if (record.pods.ok()) record.missing_claim = claim;
    return false;
  }
  const StatusOr<ClaimNews> news =
      children_.EnsureClaims(look.job, *record.defaults, record.former);
  if (!news.ok()) {
    record.pods = news.status();
    return false;
  }
  record.pods = OkStatus();
  record.claims_settled = look.job.metadata.generation;
  record.terminating_claims = news->terminating;
  if (!news->of_others.empty() && news->of_others != record.claims_of_others) {
    record.claims_of_others = news->of_others;
    Record(look, {{.type = job::EventType::kWarning,
                   .reason = job::PlanReason::kClaimKept,
                   .message = fmt::format("claims that another job has made stay when this one is "
                                          "deleted, whatever whenDeleted says: {}",
                                          news->of_others)}});
  }
  return record.terminating_claims.empty() && record.former.IsGone();
}

Status Reconciler::CareForLabels(const Look& look) {
  if (job::IsFinished(look.job.status) || !look.IsClaimed()) return OkStatus();
  return ReplaceMislabelled(*client_, look.job, look.own, *look.record,
                            [&](const std::string& text) {
                              Record(look, {{.type = job::EventType::kWarning,
                                             .reason = job::PlanReason::kLabelsChanged,
                                             .message = text}});
                            });
}

// Before anything is told of what the plan takes for gone. Of a job's first pods the API server
// says it when they are made.
StatusOr<bool> Reconciler::FindsUnseen(const Look& look, const job::Plan& plan) {
  if (IsUnwritten(look.job.status)) return false;
  std::vector<std::string> names;
  for (const job::Action& action : plan.actions) {
    const auto* start = std::get_if<job::Start>(&action);
    if (start == nullptr) continue;
    const bool is_seen = std::any_of(look.own.begin(), look.own.end(), [&](const OwnPod& own) {
      return own.process.name == start->name;
    });
    if (!is_seen) names.push_back(start->name);
  }
  return look.record->unseen.Find(*client_, look.job, names);
}

bool Reconciler::AwaitsFormerJob(const Look& look, const job::Plan& plan) const {
  JobRecord& record = *look.record;
  if (StartsAny(plan.actions)) {
    for (const kube::ObjectPtr& pod : view_->PodsNamedAfter(look.key))
      AddPod(record.former, look.job, *pod);
  }
  return !record.former.IsGone();
}

StatusOr<kube::Result> Reconciler::PlanAndApply(const Look& look) {
  JobRecord& record = *look.record;
  if (!IsUnwritten(look.job.status)) record.unwritten.reset();
  LookAtDecidingClaim(look);
  if (look.IsClaimed()) record.room.Refresh(*client_, look.own, look.now);
  record.terminating_claims.clear();  // Who has to wait for one finds it again.
  record.missing_claim.clear();
  job::Plan plan = MakePlan(look);
  // Nothing is started where it would lack something, which the status then says.
  bool may_act = record.resources.ok();
  if (may_act) {
    PACELINE_ASSIGN_OR_RETURN(const bool is_found, FindsUnseen(look, plan));
    if (is_found) return kube::Result{.requeue_after = kNextTurn};
  }
  if (may_act && (AwaitsFormerJob(look, plan) || !PrepareServers(look, plan))) {
    may_act = false;
    if (!record.former.IsGone()) record.pods = OkStatus();  // It is why they could not be made.
    plan = MakePlan(look);
  }
  if (may_act && look.own.empty() && StartsAny(plan.actions)) {
    record.pods = pod_changes_.TryTemplates(look.job, plan.actions, *record.defaults);
    may_act = record.pods.ok();
    if (!may_act) plan = MakePlan(look);
  }
  if (!may_act) plan.status.coordinator_starts = RecordedStarts(look.job, look.own, record);
  if (may_act && !record.unwritten && IsUnwritten(look.job.status) && StartsAny(plan.actions)) {
    // The first pods are more urgent than the first word of them, which is written when they are
    // seen, or with what stood in their way (docs/adr/0019).
    record.unwritten = plan.status;
    record.first_pods_made = look.now;
    Record(look, plan.events);
    Apply(look, plan.actions);
    return kube::Result{.requeue_after = record.pods.ok() ? kViewLag : kNextTurn};
  }
  PACELINE_ASSIGN_OR_RETURN(
      const std::optional<Duration> write_after,
      WriteStatus(*client_, look.object, look.job.status, plan.status, record, look.now));
  Record(look, plan.events);
  kube::Result result;
  if (plan.is_expired) {
    PACELINE_RETURN_IF_ERROR(kube::IgnoreNotFound(
        client_
            ->Call(kube::Delete(
                TrainingJobs(), look.key,
                {.uid = kube::Uid(look.object), .propagation = kube::Propagation::kBackground}))
            .status()));
    return result;
  }
  if (may_act) {
    Apply(look, plan.actions);
  } else if (record.resources.ok()) {
    const bool is_in_the_way = !record.terminating_claims.empty() ||
                               !record.missing_claim.empty() || !record.former.IsGone();
    if (is_in_the_way) RequeueAt(result.requeue_after, kUnwatchedPeriod);
    if (!is_in_the_way && !record.pods.ok())
      record.refused_pods.Pause(look.now, kube::RetryAfter(record.pods));
  }
  LookAgainBy(result.requeue_after, look, plan);
  if (write_after) RequeueAt(result.requeue_after, *write_after);
  return result;
}

// When to look again if nothing happens first.
void Reconciler::LookAgainBy(std::optional<Duration>& at, const Look& look,
                             const job::Plan& plan) const {
  const JobRecord& record = *look.record;
  if (plan.requeue_at) RequeueAt(at, *plan.requeue_at - look.now);
  if (StartsAny(plan.actions)) RequeueAt(at, kViewLag);
  if (const std::optional<Time> due = record.refused_pods.due())
    Sooner(at, std::max<Duration>(*due - look.now, kNextTurn));
  if (job::IsFinished(plan.status)) return;
  if (record.unseen.AreAwaited()) RequeueAt(at, kUnwatchedPeriod);
  if (record.talk.requeue_at()) RequeueAt(at, *record.talk.requeue_at() - look.now);
  if (!look.job.spec.run_policy.suspend) RequeueAt(at, record.secrets_due - look.now);
}

void Reconciler::Apply(const Look& look, const std::vector<job::Action>& actions) {
  JobRecord& record = *look.record;
  const Status status = pod_changes_.Apply(look.job, actions, look.pods, record, look.now);
  if (!status.ok()) {
    record.pods = status;
    record.refused_pods.Pause(look.now, kube::RetryAfter(status));
  } else if (record.refused_pods.empty()) {
    record.pods = OkStatus();
    record.refused_pods.Settle();
  }
}

void Reconciler::Record(const Look& look, const std::vector<job::PlanEvent>& events) {
  for (const job::PlanEvent& event : events) {
    events_->Record(
        {.regarding = look.object,
         .type = event.type == job::EventType::kWarning ? kube::EventType::kWarning
                                                        : kube::EventType::kNormal,
         .reason = std::string(job::ToWord(event.reason)),
         .action = "",
         .note = event.message,
         .related = nullptr,
         .weight = event.ends_job ? kube::EventWeight::kFinal : kube::EventWeight::kOrdinary});
  }
}

void Reconciler::HangUp() {
  records_->ForgetAll();
  client_->loop().RunAndWait([] {});  // After which no answer comes any more.
}

}  // namespace paceline::controller

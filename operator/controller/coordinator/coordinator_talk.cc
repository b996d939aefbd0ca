#include "operator/controller/coordinator/coordinator_talk.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "lib/base/json_text.h"
#include "lib/job/plan/plan.h"
#include "lib/job/state/coordinator_report.h"
#include "lib/kube/core/metadata.h"
#include "operator/controller/coordinator/coordinator_access.h"
#include "operator/objects/children.h"
#include "operator/objects/job_file.h"
#include "operator/objects/names.h"

namespace paceline::controller {
namespace {

using std::chrono::seconds;

constexpr Duration kAskPeriod = seconds(10);
constexpr Duration kAskSoonPeriod = seconds(2);  // Until training has begun.
constexpr int kSilencesMax = 4;                  // By then kAskPeriod is reached.

// What the coordinator is told: the job as its pods read it, and whom nobody starts again.
std::string ToldJob(const job::TrainingJob& job, const std::optional<std::string>& older_file) {
  const kube::Json map = BuildConfigMap(job);
  auto text = map["data"][std::string(kConfigKey)].get<std::string>();
  if (older_file) text = JobFileFor(*older_file, text);
  if (!job::IsEvaluatorGone(job.status)) return text;
  kube::Json told = JsonFrom(text);
  told["status"]["evaluatorGone"] = job.status.evaluator_gone;
  return JsonText(told);
}

std::set<std::string> EndedPods(const std::vector<OwnPod>& pods) {
  std::set<std::string> ended;
  for (const OwnPod& own : pods) {
    if (own.process.state == job::ProcessState::kExited) ended.insert(kube::Uid(*own.pod));
  }
  return ended;
}

}  // namespace

void CoordinatorTalk::Continue(const job::TrainingJob& job, const std::vector<OwnPod>& pods,
                               Time now, const Means& means) {
  requeue_at_.reset();
  // Around the end of training everybody ends: what was said before that says nothing about it.
  if (std::set<std::string> ended = EndedPods(pods); ended != ended_) {
    ended_ = std::move(ended);
    report_.reset();
    is_news_awaited_ = true;
  }
  const kube::ObjectPtr pod = RunningCoordinator(pods);
  TakeAnswers(job, pod == nullptr ? "" : kube::Uid(*pod), now);
  if (pod == nullptr) {
    is_news_awaited_ = false;
    silence_.reset();
    return TakeLastWord(job, pods);
  }
  Ask(*pod, now, means);
  Tell(job, *pod, now, means);
}

void CoordinatorTalk::TakeLastWord(const job::TrainingJob& job, const std::vector<OwnPod>& pods) {
  const StatusOr<std::string> word = CoordinatorsLastWord(pods);
  if (!word.ok()) return;
  if (auto report = job::ParseCoordinatorReport(job, *word); report.ok())
    report_ = *std::move(report);
}

void CoordinatorTalk::TakeAnswers(const job::TrainingJob& job, const std::string& pod, Time now) {
  auto said = ask_.Take();
  // An answer from before the news, or of another coordinator, is none.
  if (said && asked_ == pod && ended_when_asked_ == ended_) {
    is_news_awaited_ = false;
    silences_ = said->ok() ? 0 : std::min(silences_ + 1, kSilencesMax);
    if (said->ok()) {
      silence_.reset();
      if (auto report = job::ParseCoordinatorReport(job, **said); report.ok())
        report_ = *std::move(report);
    } else {
      WasSilent(said->status());
    }
  }
  auto heard = tell_.Take();
  if (!heard) return;
  const bool is_refused = heard->status().code() == StatusCode::kFailedPrecondition;
  if (heard->ok() || is_refused) {
    told_ = telling_;
    if (is_refused) {
      refusal_ = heard->status();
    } else if (tells_change_) {
      is_report_outdated_ = true;
      soon_until_ = now + kAskPeriod;
    }
  } else {
    tell_again_ = now + Patience();
  }
}

void CoordinatorTalk::WasSilent(const Status& why) {
  // The first word stays: the status would be written again with each other one.
  if (!silence_) silence_ = {.since = asked_at_, .why = Message(why)};
}

// After one silence as before the first, then twice as long with each.
Duration CoordinatorTalk::Patience() const {
  return std::min<Duration>(kAskSoonPeriod * (1 << std::max(silences_ - 1, 0)), kAskPeriod);
}

void CoordinatorTalk::Ask(const kube::Json& pod, Time now, const Means& means) {
  const bool is_another = asked_ != kube::Uid(pod);
  const bool is_due = is_news_awaited_ || is_report_outdated_ || now - asked_at_ >= AskPeriod(now);
  if (is_another) {
    silences_ = 0;
    silence_.reset();
  }
  if (is_another || (is_due && !ask_.IsUnderWay())) {
    asked_at_ = now;
    asked_ = kube::Uid(pod);
    ended_when_asked_ = ended_;
    is_report_outdated_ = false;
    auto server = means.server_of(pod);
    if (server.ok()) {
      ask_.Start(*means.client,
                 {.server = *std::move(server),
                  .method = "GET",
                  .path = "/v1/job",
                  .deadline = means.deadline},
                 means.answered);
    } else {
      is_news_awaited_ = false;
      WasSilent(server.status());
    }
  }
  RequeueAt(asked_at_ + AskPeriod(now));
}

// A coordinator reads the job when it starts and is told what is new.
void CoordinatorTalk::Tell(const job::TrainingJob& job, const kube::Json& pod, Time now,
                           const Means& means) {
  std::string news = fmt::format("{}/{}{}", kube::Uid(pod), job.metadata.generation,
                                 job::IsEvaluatorGone(job.status) ? "/evaluatorGone" : "");
  if (told_ == news) return;
  if (telling_ == news) {
    if (tell_.IsUnderWay()) return;
    if (tell_again_ && now < *tell_again_) return RequeueAt(*tell_again_);
  }
  telling_ = std::move(news);
  tells_change_ = told_.starts_with(kube::Uid(pod) + "/");
  auto server = means.server_of(pod);
  if (!server.ok()) {
    tell_again_ = now + Patience();
    return RequeueAt(*tell_again_);
  }
  tell_.Start(*means.client,
              {.server = *std::move(server),
               .method = "PUT",
               .path = "/v1/job/spec",
               .body = ToldJob(job, means.older_file),
               .deadline = means.deadline},
              means.answered);
}

std::optional<Status> CoordinatorTalk::TakeRefusal() {
  return std::exchange(refusal_, std::nullopt);
}

void CoordinatorTalk::RequeueAt(Time at) {
  requeue_at_ = requeue_at_ ? std::min(*requeue_at_, at) : at;
}

Duration CoordinatorTalk::AskPeriod(Time now) const {
  const bool is_training = report_ && report_->phase == job::TrainingPhase::kTraining;
  return is_training && now >= soon_until_ ? kAskPeriod : Patience();
}

}  // namespace paceline::controller

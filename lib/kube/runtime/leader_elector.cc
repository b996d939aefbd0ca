#include "lib/kube/runtime/leader_elector.h"

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <optional>

#include "lib/base/check.h"
#include "lib/base/rfc3339.h"
#include "lib/kube/core/api_error.h"
#include "lib/kube/core/metadata.h"
#include "lib/kube/runtime/backoff.h"

namespace paceline::kube {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Duration kReleaseDeadline = Seconds(5);

Time WallNow() {
  return Time(
      std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()));
}

std::string HolderOf(const Json& lease) { return StringAt(lease, "/spec/holderIdentity"); }

}  // namespace

// Everything but the two atomics and `leader_` is of the loop's thread. One request or one timer is
// on its way at a time; callbacks hold it weakly.
class LeaderElector::Contender : public std::enable_shared_from_this<Contender> {
 public:
  Contender(Client& client, LeaderElectionOptions options)
      : client_(client),
        options_(std::move(options)),
        spread_(options_.retry_period, options_.retry_period) {}

  void Start() {
    client_.loop().RunAndWait([this] {
      if (is_running_) return;
      is_running_ = true;
      Look();
    });
  }
  void Stop();

  bool IsLeading() const { return is_leading_; }
  std::string leader() const {
    std::lock_guard lock(mutex_);
    return leader_;
  }

 private:
  template <class... Args>
  auto Bound(void (Contender::*member)(Args...)) {
    return [weak = weak_from_this(), member](Args... args) {
      if (const std::shared_ptr<Contender> self = weak.lock())
        ((*self).*member)(std::move(args)...);
    };
  }

  void Look();  // Reads the lease.
  void Looked(StatusOr<Json> lease);
  void Observe(Json lease);  // Notes what the lease says, and since when.
  bool HasRunOut() const;
  void Take();  // Writes ourselves into it: acquires or renews.
  void Took(StatusOr<Json> lease);
  void Lost(const Status& why);
  void NextIn(Duration delay, void (Contender::*next)());
  void FailedAttempt(const Status& status);
  void RestartDeadline();
  void Release();
  void Released(StatusOr<Json> lease);
  void Finish();
  void SetLeader(const std::string& identity);
  Duration Spread() {
    return Seconds(ToSeconds(options_.retry_period) * (1 + 0.2 * spread_.Chance()));
  }

  Client& client_;
  const LeaderElectionOptions options_;
  Backoff spread_;

  bool is_running_ = false;
  bool has_request_ = false;
  EventLoop::TimerId timer_ = 0, deadline_timer_ = 0;
  Json lease_;                 // As last seen; null: none.
  Clock::time_point changed_;  // When it was last seen to change.
  Clock::time_point sent_, renewed_;
  std::optional<std::promise<void>> stopped_;

  std::atomic<bool> is_leading_ = false;
  mutable std::mutex mutex_;
  std::string leader_;
};

void LeaderElector::Contender::NextIn(Duration delay, void (Contender::*next)()) {
  if (!is_running_) return;
  timer_ = client_.loop().After(delay, Bound(next));
}

void LeaderElector::Contender::Look() {
  if (!is_running_) return;
  Request request = Get(Leases(), options_.lease);
  request.deadline = options_.renew_deadline;
  request.is_urgent = true;
  has_request_ = true;
  client_.Start(std::move(request), Bound(&Contender::Looked));
}

void LeaderElector::Contender::Looked(StatusOr<Json> lease) {
  has_request_ = false;
  if (stopped_) return Release();
  if (!is_running_) return;
  if (lease.ok()) {
    Observe(*std::move(lease));
  } else if (IsNotFound(lease.status())) {
    lease_ = Json();
  } else {
    return FailedAttempt(lease.status());
  }
  if (HasRunOut()) return Take();
  NextIn(Spread(), &Contender::Look);
}

void LeaderElector::Contender::Observe(Json lease) {
  if (ResourceVersion(lease) == ResourceVersion(lease_)) return;
  lease_ = std::move(lease);
  changed_ = Clock::now();
  SetLeader(HolderOf(lease_));
}

bool LeaderElector::Contender::HasRunOut() const {
  const std::string holder = HolderOf(lease_);
  if (holder.empty() || holder == options_.identity) return true;
  // Whichever is longer, ours or what the holder promised.
  const Duration promised = std::chrono::seconds(IntegerAt(lease_, "/spec/leaseDurationSeconds"));
  return Clock::now() - changed_ >= std::max(options_.lease_duration, promised);
}

void LeaderElector::Contender::Take() {
  if (!is_running_) return;
  const bool is_new = lease_.is_null();
  const bool is_ours = HolderOf(lease_) == options_.identity;
  Json lease =
      is_new ? Json{{"apiVersion", "coordination.k8s.io/v1"},
                    {"kind", "Lease"},
                    {"metadata",
                     {{"name", options_.lease.name}, {"namespace", options_.lease.name_space}}}}
             : lease_;
  Json& spec = lease["spec"];
  const std::string now = FormatTimeMicros(WallNow());
  const int64_t transitions = IntegerAt(lease_, "/spec/leaseTransitions");
  spec["holderIdentity"] = options_.identity;
  spec["leaseDurationSeconds"] =
      std::chrono::ceil<std::chrono::seconds>(options_.lease_duration).count();
  spec["renewTime"] = now;
  if (!is_ours) {
    spec["acquireTime"] = now;
    spec["leaseTransitions"] = is_new ? 0 : transitions + 1;
  }
  Request request = is_new ? Create(Leases(), lease) : Update(Leases(), lease);
  request.is_urgent = true;
  sent_ = Clock::now();
  // A leader's renewal that comes too late is of no use.
  request.deadline =
      is_leading_ ? std::max<Duration>(options_.renew_deadline - (sent_ - renewed_), Seconds(0.001))
                  : options_.renew_deadline;
  has_request_ = true;
  client_.Start(std::move(request), Bound(&Contender::Took));
}

void LeaderElector::Contender::Took(StatusOr<Json> lease) {
  has_request_ = false;
  if (lease.ok()) Observe(*lease);
  if (stopped_) return Release();
  if (!is_running_) return;  // Lost in the meantime.
  if (!lease.ok()) return FailedAttempt(lease.status());
  // From the sending on: the server's copy is at least as young.
  renewed_ = sent_;
  RestartDeadline();
  if (!is_leading_) {
    is_leading_ = true;
    if (options_.started_leading) options_.started_leading();
  }
  NextIn(options_.retry_period, &Contender::Take);
}

void LeaderElector::Contender::FailedAttempt(const Status& status) {
  const bool was_first = IsConflict(status) || IsAlreadyExists(status);
  if (!was_first && options_.failed) options_.failed(status);
  // Someone else wrote: look who it was, at once where our own leadership is at stake.
  NextIn(is_leading_ && was_first ? Duration(0) : Spread(), &Contender::Look);
}

// Runs out even while a renewal hangs.
void LeaderElector::Contender::RestartDeadline() {
  if (deadline_timer_ != 0) client_.loop().Cancel(deadline_timer_);
  deadline_timer_ = client_.loop().After(
      options_.renew_deadline - (Clock::now() - renewed_), [weak = weak_from_this()] {
        const std::shared_ptr<Contender> self = weak.lock();
        if (self == nullptr || !self->is_leading_ || self->stopped_) return;
        self->Lost(DeadlineExceeded("the lease {} could not be renewed for {} s",
                                    self->options_.lease,
                                    ToSeconds(self->options_.renew_deadline)));
      });
}

void LeaderElector::Contender::Lost(const Status& why) {
  is_leading_ = false;
  is_running_ = false;
  client_.loop().Cancel(timer_);
  client_.loop().Cancel(deadline_timer_);
  if (options_.lost) options_.lost(why);
}

void LeaderElector::Contender::SetLeader(const std::string& identity) {
  {
    std::lock_guard lock(mutex_);
    if (leader_ == identity) return;
    leader_ = identity;
  }
  if (is_leading_ && identity != options_.identity) {
    return Lost(Aborted("the lease {} was taken by {}", options_.lease, identity));
  }
  if (options_.new_leader && !identity.empty()) options_.new_leader(identity);
}

void LeaderElector::Contender::Stop() {
  PACELINE_CHECK(!client_.loop().IsLoopThread(), "the elector cannot wait on the loop's thread");
  std::future<void> stopped;
  const bool runs = client_.loop().RunAndWait([&] {
    if (stopped_) return;
    stopped_.emplace();
    stopped = stopped_->get_future();
    is_running_ = false;
    client_.loop().Cancel(timer_);
    client_.loop().Cancel(deadline_timer_);
    // A renewal on its way would undo the release.
    if (!has_request_) Release();
  });
  if (!runs || !stopped.valid()) return;
  stopped.wait_for(options_.renew_deadline + kReleaseDeadline);
}

void LeaderElector::Contender::Release() {
  const bool is_ours = HolderOf(lease_) == options_.identity;
  is_leading_ = false;
  if (!is_ours) return Finish();
  Json lease = lease_;
  Json& spec = lease["spec"];
  spec.erase("holderIdentity");
  spec["leaseDurationSeconds"] = 1;
  spec["renewTime"] = FormatTimeMicros(WallNow());
  Request request = Update(Leases(), lease);
  request.deadline = kReleaseDeadline;
  request.is_urgent = true;
  client_.Start(std::move(request), Bound(&Contender::Released));
}

void LeaderElector::Contender::Released(StatusOr<Json> lease) {
  if (!lease.ok() && options_.failed) options_.failed(lease.status());
  Finish();
}

void LeaderElector::Contender::Finish() { stopped_->set_value(); }

LeaderElector::LeaderElector(Client& client, LeaderElectionOptions options) {
  PACELINE_CHECK(!options.identity.empty(), "leader election for {} without an identity",
                 options.lease);
  PACELINE_CHECK(options.retry_period < options.renew_deadline &&
                     options.renew_deadline < options.lease_duration,
                 "leader election wants retry period {} s < renew deadline {} s < lease {} s",
                 ToSeconds(options.retry_period), ToSeconds(options.renew_deadline),
                 ToSeconds(options.lease_duration));
  contender_ = std::make_shared<Contender>(client, std::move(options));
}

LeaderElector::~LeaderElector() { Stop(); }

void LeaderElector::Start() { contender_->Start(); }
void LeaderElector::Stop() { contender_->Stop(); }
bool LeaderElector::IsLeading() const { return contender_->IsLeading(); }
std::string LeaderElector::leader() const { return contender_->leader(); }

}  // namespace paceline::kube

#include "lib/kube/runtime/informer.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "lib/base/check.h"
#include "lib/kube/core/api_error.h"
#include "lib/kube/core/metadata.h"
#include "lib/kube/core/owner_reference.h"
#include "lib/kube/runtime/backoff.h"
#include "lib/kube/runtime/object_store.h"

namespace paceline::kube {

std::vector<std::string> OwnerUid(const Json& object) {
  const std::optional<OwnerReference> controller = ControllerOf(object);
  if (!controller) return {};
  return {controller->uid};
}

IndexFunction LabelValue(const std::string& label) {
  return [label](const Json& object) -> std::vector<std::string> {
    std::string value = Label(object, label);
    if (value.empty()) return {};
    return {std::move(value)};
  };
}

// Lists, then watches, then watches again: always one of a list, a watch or a timer is on its way.
// All but the reading of the store happens on the loop's thread. Callbacks hold it weakly.
class Informer::Follower : public std::enable_shared_from_this<Follower> {
 public:
  Follower(Client& client, InformerOptions options, InformerHandler handler)
      : client_(client),
        options_(std::move(options)),
        handler_(std::move(handler)),
        store_(options_.indexes),
        backoff_(options_.backoff_min, options_.backoff_max) {}

  void Start() {
    client_.loop().RunAndWait([this] {
      if (is_running_) return;
      is_running_ = true;
      List();
    });
  }

  void Stop() {
    client_.loop().RunAndWait([this] {
      is_running_ = false;
      ++round_;
      watch_.Cancel();
      if (timer_ != 0) client_.loop().Cancel(timer_);
    });
  }

  bool HasSynced() const { return has_synced_; }
  Status WaitForSync(Duration deadline) const;
  bool WaitForAnswer(Duration deadline) const;
  const ObjectStore& store() const { return store_; }

 private:
  using Clock = std::chrono::steady_clock;

  // Wraps a member function so that it is not called for an earlier round, nor after the end.
  template <class... Args>
  auto Bound(void (Follower::*member)(Args...)) {
    return [weak = weak_from_this(), round = round_, member](Args... args) {
      const std::shared_ptr<Follower> self = weak.lock();
      if (self != nullptr && self->is_running_ && self->round_ == round) {
        ((*self).*member)(std::move(args)...);
      }
    };
  }

  void List();
  void GotPage(std::vector<Json> items);
  void StartOver() { listed_.clear(); }
  void Listed(StatusOr<std::string> version);
  void Watch();
  void GotEvent(WatchEvent event);
  void WatchEnded(Status status);
  void Failed(const std::string& what, const Status& status);
  Duration PauseAfter(const Status& status);
  void After(Duration delay, void (Follower::*next)());
  ObjectPtr Trim(Json object) const;
  void Tell(std::vector<ObjectChange> changes, bool is_initial);

  Client& client_;
  const InformerOptions options_;
  const InformerHandler handler_;
  ObjectStore store_;
  std::atomic<bool> has_synced_ = false;

  // Of the loop's thread.
  bool is_running_ = false;
  uint64_t round_ = 0;  // Of the list or watch on its way.
  std::map<ObjectKey, ObjectPtr> listed_;
  std::string version_;
  CallHandle watch_;
  Clock::time_point watch_start_;
  EventLoop::TimerId timer_ = 0;
  Backoff backoff_;

  mutable std::mutex mutex_;
  mutable std::condition_variable answered_;
  Status last_failure_;  // Of the mutex.
};

void Informer::Follower::List() {
  ++round_;
  listed_.clear();
  client_.StartList(options_.resource,
                    {.name_space = options_.name_space,
                     .label_selector = options_.label_selector,
                     .field_selector = options_.field_selector,
                     .limit = options_.page_size,
                     .extent = options_.extent,
                     .selection = options_.selection},
                    {.page = Bound(&Follower::GotPage),
                     .restart = Bound(&Follower::StartOver),
                     .done = Bound(&Follower::Listed)});
}

ObjectPtr Informer::Follower::Trim(Json object) const {
  DropManagedFields(object);
  if (options_.transform) options_.transform(object);
  return std::make_shared<const Json>(std::move(object));
}

void Informer::Follower::GotPage(std::vector<Json> items) {
  for (Json& item : items) {
    ObjectPtr object = Trim(std::move(item));
    ObjectKey key = KeyOf(*object);
    listed_[std::move(key)] = std::move(object);
  }
}

void Informer::Follower::Listed(StatusOr<std::string> version) {
  if (!version.ok()) {
    Failed("list", version.status());
    return After(PauseAfter(version.status()), &Follower::List);
  }
  version_ = *std::move(version);
  const bool is_initial = !has_synced_;
  Tell(store_.Replace(std::exchange(listed_, {})), is_initial);
  if (is_initial) {
    {
      std::lock_guard lock(mutex_);
      has_synced_ = true;
    }
    answered_.notify_all();
    if (handler_.synced) handler_.synced();
  }
  Watch();
}

void Informer::Follower::Watch() {
  ++round_;
  watch_start_ = Clock::now();
  const double seconds = ToSeconds(options_.watch_timeout_min) * (1 + backoff_.Chance());
  watch_ = client_.StartWatch(
      options_.resource,
      {.name_space = options_.name_space,
       .label_selector = options_.label_selector,
       .field_selector = options_.field_selector,
       .resource_version = version_,
       .timeout = Seconds(seconds),
       .extent = options_.extent,
       .selection = options_.selection},
      {.event = Bound(&Follower::GotEvent), .end = Bound(&Follower::WatchEnded)});
}

void Informer::Follower::GotEvent(WatchEvent event) {
  backoff_.Reset();
  version_ = ResourceVersion(event.object);
  if (event.type == WatchEventType::kBookmark) return;
  ObjectPtr object = Trim(std::move(event.object));
  Tell(event.type == WatchEventType::kDeleted ? store_.Remove(std::move(object))
                                              : store_.Put(std::move(object)),
       false);
}

void Informer::Follower::WatchEnded(Status status) {
  watch_.Release();
  if (status.ok()) {
    // A server that ends watches at once must not be asked in a tight loop.
    const bool was_short = Clock::now() - watch_start_ < options_.backoff_min;
    return was_short ? After(backoff_.Next(), &Follower::Watch) : Watch();
  }
  Failed("watch", status);
  After(PauseAfter(status), IsExpired(status) ? &Follower::List : &Follower::Watch);
}

void Informer::Follower::Failed(const std::string& what, const Status& status) {
  {
    std::lock_guard lock(mutex_);
    last_failure_ = status;
  }
  answered_.notify_all();
  if (handler_.failed) handler_.failed(what, status);
}

// A watch that the server is too busy for is not tried again by the client.
Duration Informer::Follower::PauseAfter(const Status& status) {
  return std::max(backoff_.Next(), RetryAfter(status));
}

void Informer::Follower::After(Duration delay, void (Follower::*next)()) {
  ++round_;
  timer_ = client_.loop().After(delay, Bound(next));
}

void Informer::Follower::Tell(std::vector<ObjectChange> changes, bool is_initial) {
  if (!handler_.changed) return;
  for (ObjectChange& change : changes) {
    change.is_initial = is_initial;
    handler_.changed(change);
  }
}

Status Informer::Follower::WaitForSync(Duration deadline) const {
  std::unique_lock lock(mutex_);
  if (answered_.wait_for(lock, deadline, [&] { return has_synced_.load(); })) return OkStatus();
  return DeadlineExceeded("no list of {} after {} s: {}", options_.resource.plural,
                          ToSeconds(deadline),
                          last_failure_.ok() ? "no answer" : Message(last_failure_));
}

bool Informer::Follower::WaitForAnswer(Duration deadline) const {
  std::unique_lock lock(mutex_);
  return answered_.wait_for(lock, deadline,
                            [&] { return has_synced_.load() || !last_failure_.ok(); });
}

Informer::Informer(Client& client, InformerOptions options, InformerHandler handler)
    : follower_(std::make_shared<Follower>(client, std::move(options), std::move(handler))) {}

Informer::~Informer() { Stop(); }

void Informer::Start() { follower_->Start(); }
void Informer::Stop() { follower_->Stop(); }
bool Informer::HasSynced() const { return follower_->HasSynced(); }
Status Informer::WaitForSync(Duration deadline) const { return follower_->WaitForSync(deadline); }
bool Informer::WaitForAnswer(Duration deadline) const { return follower_->WaitForAnswer(deadline); }
ObjectPtr Informer::Find(const ObjectKey& key) const { return follower_->store().Find(key); }
std::vector<ObjectPtr> Informer::Objects() const { return follower_->store().Objects(); }
std::vector<ObjectPtr> Informer::ByIndex(const std::string& index, const std::string& value) const {
  return follower_->store().ByIndex(index, value);
}
size_t Informer::size() const { return follower_->store().size(); }

}  // namespace paceline::kube

#include "lib/kube/runtime/work_queue.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <queue>
#include <set>
#include <vector>

#include "lib/base/check.h"

namespace paceline::kube {
namespace {

using Clock = std::chrono::steady_clock;

// Calls one of the optional hooks.
template <class... Args>
void Tell(const std::function<void(Args...)>& hook, std::type_identity_t<Args>... args) {
  if (hook) hook(args...);
}

}  // namespace

struct WorkQueue::State {
  // What a key waits for, or that it is worked on.
  struct Entry {
    bool is_waiting = false;
    bool is_in_work = false;
    Priority priority = Priority::kNormal;
    Clock::time_point since;  // Waiting, or in work.
    std::optional<Clock::time_point> timed;
    int failures = 0;
    bool IsIdle() const { return !is_waiting && !is_in_work && !timed && failures == 0; }
  };
  struct Timed {
    Clock::time_point at;
    ObjectKey key;
    bool operator>(const Timed& other) const { return at > other.at; }
  };

  WorkQueueOptions options;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::map<ObjectKey, Entry> entries;
  std::deque<ObjectKey> normal, low;  // May hold keys that wait no longer, or elsewhere.
  std::priority_queue<Timed, std::vector<Timed>, std::greater<>> timed;
  size_t waiting = 0;
  size_t in_work = 0;
  bool is_shut_down = false;

  void Enqueue(const ObjectKey& key, Entry& entry, Priority priority) {
    if (entry.is_waiting && (entry.priority == priority || priority == Priority::kLow)) return;
    if (!entry.is_waiting) {
      entry.is_waiting = true;
      entry.since = Clock::now();
      ++waiting;
    }
    entry.priority = priority;
    // While it is worked on, Done puts it into the line.
    if (!entry.is_in_work) (priority == Priority::kNormal ? normal : low).push_back(key);
  }

  // Moves what is due into the line. The next time something will be due.
  std::optional<Clock::time_point> MoveDue() {
    const Clock::time_point now = Clock::now();
    while (!timed.empty()) {
      const Timed& first = timed.top();
      const auto found = entries.find(first.key);
      const bool is_current = found != entries.end() && found->second.timed == first.at;
      if (is_current && first.at > now) return first.at;
      if (is_current) {
        found->second.timed.reset();
        Enqueue(first.key, found->second, Priority::kNormal);
      }
      timed.pop();
    }
    return std::nullopt;
  }

  // The first of the line, if any.
  std::optional<ObjectKey> Pop() {
    for (std::deque<ObjectKey>* line : {&normal, &low}) {
      const Priority priority = line == &normal ? Priority::kNormal : Priority::kLow;
      while (!line->empty()) {
        const ObjectKey key = std::move(line->front());
        line->pop_front();
        const auto found = entries.find(key);
        if (found == entries.end() || !found->second.is_waiting || found->second.is_in_work ||
            found->second.priority != priority) {
          continue;  // Raised to the other line meanwhile.
        }
        return key;
      }
    }
    return std::nullopt;
  }

  void Drop(const ObjectKey& key) {
    const auto found = entries.find(key);
    if (found != entries.end() && found->second.IsIdle()) entries.erase(found);
  }
};

WorkQueue::WorkQueue(WorkQueueOptions options) : state_(std::make_unique<State>()) {
  state_->options = std::move(options);
}

WorkQueue::~WorkQueue() = default;

void WorkQueue::Add(const ObjectKey& key, Priority priority) {
  size_t depth = 0;
  {
    std::lock_guard lock(state_->mutex);
    if (state_->is_shut_down) return;
    state_->Enqueue(key, state_->entries[key], priority);
    depth = state_->waiting;
  }
  state_->changed.notify_one();
  Tell(state_->options.metrics.added);
  Tell(state_->options.metrics.depth, depth);
}

void WorkQueue::AddAfter(const ObjectKey& key, Duration delay) {
  if (delay <= Duration(0)) return Add(key);
  {
    std::lock_guard lock(state_->mutex);
    if (state_->is_shut_down) return;
    const Clock::time_point at = Clock::now() + delay;
    std::optional<Clock::time_point>& timed = state_->entries[key].timed;
    if (timed && *timed <= at) return;
    timed = at;
    state_->timed.push({at, key});
  }
  // All: whoever takes it has to wait for an earlier time now.
  state_->changed.notify_all();
}

void WorkQueue::AddRateLimited(const ObjectKey& key, Duration at_least) {
  Duration delay;
  {
    std::lock_guard lock(state_->mutex);
    int& failures = state_->entries[key].failures;
    const double factor = static_cast<double>(uint64_t{1} << std::min(failures, 62));
    const double seconds = ToSeconds(state_->options.backoff_min) * factor;
    delay = Seconds(std::min(seconds, ToSeconds(state_->options.backoff_max)));
    ++failures;
  }
  Tell(state_->options.metrics.retried);
  AddAfter(key, std::max(delay, at_least));
}

void WorkQueue::Forget(const ObjectKey& key) {
  std::lock_guard lock(state_->mutex);
  const auto found = state_->entries.find(key);
  if (found == state_->entries.end()) return;
  found->second.failures = 0;
  state_->Drop(key);
}

int WorkQueue::Failures(const ObjectKey& key) const {
  std::lock_guard lock(state_->mutex);
  const auto found = state_->entries.find(key);
  return found == state_->entries.end() ? 0 : found->second.failures;
}

std::optional<ObjectKey> WorkQueue::Take() {
  std::optional<ObjectKey> key;
  double waited_s = 0;
  size_t depth = 0;
  {
    std::unique_lock lock(state_->mutex);
    while (true) {
      const std::optional<Clock::time_point> next_due = state_->MoveDue();
      key = state_->Pop();
      if (key || state_->is_shut_down) break;
      if (next_due) {
        state_->changed.wait_until(lock, *next_due);
      } else {
        state_->changed.wait(lock);
      }
    }
    if (!key) return std::nullopt;
    State::Entry& entry = state_->entries[*key];
    const Clock::time_point now = Clock::now();
    waited_s = ToSeconds(now - entry.since);
    entry.is_waiting = false;
    entry.is_in_work = true;
    entry.since = now;
    --state_->waiting;
    ++state_->in_work;
    depth = state_->waiting;
  }
  Tell(state_->options.metrics.waited, waited_s);
  Tell(state_->options.metrics.depth, depth);
  return key;
}

void WorkQueue::Done(const ObjectKey& key) {
  double worked_s = 0;
  {
    std::lock_guard lock(state_->mutex);
    const auto found = state_->entries.find(key);
    PACELINE_CHECK(found != state_->entries.end() && found->second.is_in_work,
                   "{} is done but was not taken", key);
    State::Entry& entry = found->second;
    worked_s = ToSeconds(Clock::now() - entry.since);
    entry.is_in_work = false;
    --state_->in_work;
    if (entry.is_waiting) {
      entry.since = Clock::now();
      (entry.priority == Priority::kNormal ? state_->normal : state_->low).push_back(key);
    }
    state_->Drop(key);
  }
  state_->changed.notify_one();
  Tell(state_->options.metrics.worked, worked_s);
}

void WorkQueue::ShutDown() {
  {
    std::lock_guard lock(state_->mutex);
    state_->is_shut_down = true;
    state_->timed = {};
    for (auto& [key, entry] : state_->entries) entry.timed.reset();
  }
  state_->changed.notify_all();
}

void WorkQueue::ShutDownNow() {
  {
    std::lock_guard lock(state_->mutex);
    for (auto& [key, entry] : state_->entries) entry.is_waiting = false;
    state_->normal.clear();
    state_->low.clear();
    state_->waiting = 0;
  }
  ShutDown();
}

size_t WorkQueue::depth() const {
  std::lock_guard lock(state_->mutex);
  return state_->waiting;
}

size_t WorkQueue::in_work() const {
  std::lock_guard lock(state_->mutex);
  return state_->in_work;
}

double WorkQueue::longest_running_seconds() const {
  std::lock_guard lock(state_->mutex);
  const Clock::time_point now = Clock::now();
  double longest_s = 0;
  for (const auto& [key, entry] : state_->entries) {
    if (entry.is_in_work) longest_s = std::max(longest_s, ToSeconds(now - entry.since));
  }
  return longest_s;
}

}  // namespace paceline::kube

#include "tests/bench/operator_pods.h"

namespace paceline::bench {
namespace {

constexpr std::chrono::seconds kDeadline{120};

}  // namespace

PodWatch::PodWatch(kube::Client& client, const std::string& field_selector)
    : informer_(client,
                {.resource = kube::Pods(),
                 .field_selector = field_selector,
                 .extent = kube::Extent::kMetadata},
                {.changed = [this](const kube::ObjectChange& change) { Count(change); }}) {
  informer_.Start();
}

void PodWatch::Count(const kube::ObjectChange& change) {
  const std::lock_guard lock(mutex_);
  if (change.before == nullptr) {
    ++added_;
    ++present_;
  } else if (change.after == nullptr) {
    --present_;
  }
  changed_.notify_all();
}

int PodWatch::added() const {
  const std::lock_guard lock(mutex_);
  return added_;
}

std::optional<double> PodWatch::SecondsUntilAdded(int pods, Clock::time_point since) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_until(lock, since + kDeadline, [&] { return added_ >= pods; }))
    return std::nullopt;
  return std::chrono::duration<double>(Clock::now() - since).count();
}

bool PodWatch::WaitUntilNone() {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kDeadline, [&] { return present_ == 0; });
}

}  // namespace paceline::bench

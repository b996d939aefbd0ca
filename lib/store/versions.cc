#include "lib/store/versions.h"

#include <utility>
#include <vector>

namespace paceline::store {

void VersionHistory::Publish(std::shared_ptr<const Published> published, bool is_pinned) {
  // Given up after the lock is released: the last holder hands the bytes back.
  std::vector<std::shared_ptr<const Published>> given_up;
  std::lock_guard lock(mutex_);
  const Version version = published->version;
  Entry& entry = entries_[version];
  entry.held = published;
  entry.kept = std::move(published);
  entry.is_pinned = is_pinned;
  size_t newer = entries_.size();
  for (auto it = entries_.begin(); it != entries_.end();) {
    --newer;
    if (newer >= 2 && !it->second.is_pinned) given_up.push_back(std::move(it->second.kept));
    it = it->second.kept == nullptr && it->second.held.expired() ? entries_.erase(it)
                                                                 : std::next(it);
  }
}

void VersionHistory::Unpin(Version version) {
  std::shared_ptr<const Published> given_up;
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(version);
  if (found == entries_.end()) return;
  found->second.is_pinned = false;
  if (std::distance(found, entries_.end()) > 2) given_up = std::move(found->second.kept);
}

StatusOr<std::shared_ptr<const Published>> VersionHistory::Get(Version version) const {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(version);
  if (found != entries_.end()) {
    if (auto held = found->second.held.lock()) return held;
  }
  if (entries_.empty()) return NotFound("no version is published yet: got {}", version);
  const Version newest = entries_.rbegin()->first;
  if (version > newest)
    return NotFound("version is not published yet: got {}, newest {}", version, newest);
  return NotFound("version is superseded: got {}, newest {}", version, newest);
}

std::shared_ptr<const Published> VersionHistory::Newest() const {
  std::lock_guard lock(mutex_);
  return entries_.empty() ? nullptr : entries_.rbegin()->second.kept;
}

}  // namespace paceline::store

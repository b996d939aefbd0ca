// Defines VersionHistory: which published versions can still be read.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "lib/base/status.h"
#include "lib/base/version.h"
#include "lib/store/published.h"

namespace paceline::store {

// Keeps the newest two and the pinned ones; an older one can be read for as long as anybody holds
// it.
//
// Thread-safe. The lock is held for bookkeeping only: no call waits for bytes.
class VersionHistory {
 public:
  // `published` is newer than all before it.
  void Publish(std::shared_ptr<const Published> published, bool is_pinned);
  void Unpin(Version version);

  // NotFound if the version is superseded or not published yet.
  StatusOr<std::shared_ptr<const Published>> Get(Version version) const;
  std::shared_ptr<const Published> Newest() const;  // Null before the first Publish.

 private:
  struct Entry {
    std::shared_ptr<const Published> kept;  // Null if only readers hold it.
    std::weak_ptr<const Published> held;
    bool is_pinned = false;
  };

  mutable std::mutex mutex_;
  std::map<Version, Entry> entries_;
};

}  // namespace paceline::store

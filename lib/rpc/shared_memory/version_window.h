// Defines VersionWindow: addresses that stay, where one version after another is seen.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>

#include "lib/base/status.h"
#include "lib/rpc/bulk/version_place.h"
#include "lib/rpc/shared_memory/page_range.h"

namespace paceline::rpc {

// Memory whose addresses programs keep: zeros at first, and ordinary memory to whoever uses it. A
// version that it shows is not copied: the pages change, and a page that is written meanwhile is
// this process's own until the next version. Before the process forks it becomes its own memory
// again, so that the child's stays as it is. Show and Own have one owner; thread-safe against
// forks.
class VersionWindow {
 public:
  // ResourceExhausted.
  static StatusOr<std::shared_ptr<VersionWindow>> Of(size_t size_bytes);
  ~VersionWindow();
  VersionWindow(const VersionWindow&) = delete;
  VersionWindow& operator=(const VersionWindow&) = delete;

  std::span<std::byte> bytes() const { return {range_.begin(), size_bytes_}; }

  // The first `size_bytes`, whole pages, are those of `place`, as long as its version is held.
  // False: not on this machine, from now on, which is logged; they are a copy of them, where there
  // is room for one.
  bool Show(std::shared_ptr<VersionPlace> place, size_t size_bytes);
  bool can_show() const { return can_show_; }
  // What is seen is a copy of it, from now on.
  void Own();

 private:
  friend class WindowsOfProcess;
  explicit VersionWindow(PageRange range, size_t size_bytes);
  void OwnLocked();
  // Memory of this process's own takes the place of what is seen, and has `values`. After an error
  // what is seen is what was, or what its place has published.
  Status Copy(std::span<const std::byte> values);

  const PageRange range_;
  const size_t size_bytes_;
  std::mutex mutex_;  // Guards what is below; a fork waits for it.
  std::shared_ptr<VersionPlace> shown_;
  size_t shown_bytes_ = 0;
  bool can_show_ = true;  // Written by the owner alone.
};

}  // namespace paceline::rpc

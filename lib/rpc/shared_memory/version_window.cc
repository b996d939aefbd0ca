#include "lib/rpc/shared_memory/version_window.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <pthread.h>

#include "lib/base/check.h"
#include "lib/telemetry/log.h"

namespace paceline::rpc {

// All windows of this process, for whoever forks it.
class WindowsOfProcess {
 public:
  static WindowsOfProcess& Instance() {
    static auto* const windows = new WindowsOfProcess;  // Never ends: somebody may fork at the end.
    return *windows;
  }
  void Add(VersionWindow* window) {
    const std::lock_guard lock(mutex_);
    windows_.push_back(window);
  }
  void Remove(VersionWindow* window) {
    const std::lock_guard lock(mutex_);
    std::erase(windows_, window);
  }

 private:
  WindowsOfProcess() { ::pthread_atfork(Prepare, Proceed, Proceed); }

  static void Prepare() {
    WindowsOfProcess& all = Instance();
    all.mutex_.lock();
    for (VersionWindow* const window : all.windows_) {
      window->mutex_.lock();
      window->OwnLocked();
    }
  }
  static void Proceed() {
    WindowsOfProcess& all = Instance();
    for (VersionWindow* const window : all.windows_) window->mutex_.unlock();
    all.mutex_.unlock();
  }

  std::mutex mutex_;
  std::vector<VersionWindow*> windows_;
};

StatusOr<std::shared_ptr<VersionWindow>> VersionWindow::Of(size_t size_bytes) {
  PACELINE_ASSIGN_OR_RETURN(PageRange range, PageRange::Of(size_bytes, PageRange::Holds::kZeros));
  return std::shared_ptr<VersionWindow>(new VersionWindow(std::move(range), size_bytes));
}

VersionWindow::VersionWindow(PageRange range, size_t size_bytes)
    : range_(std::move(range)), size_bytes_(size_bytes) {
  WindowsOfProcess::Instance().Add(this);
}

VersionWindow::~VersionWindow() { WindowsOfProcess::Instance().Remove(this); }

bool VersionWindow::Show(std::shared_ptr<VersionPlace> place, size_t size_bytes) {
  PACELINE_CHECK(size_bytes <= range_.size_bytes(), "{} of {} bytes", size_bytes, size_bytes_);
  const std::lock_guard lock(mutex_);
  if (!can_show_) return false;
  // What it published is seen until the other one is.
  if (shown_ != nullptr) shown_->ComeBack();
  const std::shared_ptr<VersionPlace> former = std::exchange(shown_, nullptr);
  const Status moved = place->MoveTo(range_.begin(), size_bytes);
  if (moved.ok()) {
    shown_ = std::move(place);
    shown_bytes_ = size_bytes;
    return true;
  }
  can_show_ = false;
  const Status copied = Copy(place->bytes().first(size_bytes));
  telemetry::Log(telemetry::LogLevel::kInfo, "versions are copied, not computed on in their place",
                 {{"why", Message(copied.ok() ? moved : copied)}});
  return false;
}

void VersionWindow::Own() {
  const std::lock_guard lock(mutex_);
  OwnLocked();
}

void VersionWindow::OwnLocked() {
  if (shown_ == nullptr) return;
  const Status copied = Copy(bytes().first(shown_bytes_));
  if (!copied.ok()) {
    telemetry::Log(telemetry::LogLevel::kWarning, "a version has no copy",
                   {{"why", Message(copied)}});
  }
}

Status VersionWindow::Copy(std::span<const std::byte> values) {
  PACELINE_ASSIGN_OR_RETURN(const PageRange copy,
                            PageRange::Of(values.size(), PageRange::Holds::kZeros));
  std::memcpy(copy.begin(), values.data(), values.size());
  if (shown_ != nullptr) std::exchange(shown_, nullptr)->ComeBack();
  return MovePages(copy.begin(), range_.begin(), values.size());
}

}  // namespace paceline::rpc

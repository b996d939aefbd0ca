#include "lib/kube/client/curl_loop.h"

#include <algorithm>
#include <csignal>

#include <pthread.h>

#include "lib/base/check.h"

namespace paceline::kube {
namespace {

constexpr int kPollMsMax = 60'000;  // Wake-ups come by curl_multi_wakeup.

void InitCurlOnce() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  PACELINE_CHECK(code == CURLE_OK, "libcurl cannot start: {}", curl_easy_strerror(code));
}

}  // namespace

CurlLoop::CurlLoop(long connections_max) {
  InitCurlOnce();
  multi_ = curl_multi_init();
  PACELINE_CHECK(multi_ != nullptr, "libcurl has no memory");
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, connections_max);
  // Signals are for others; SIGPIPE, which TLS writes can raise, is for nobody.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { Run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(thread_.native_handle(), "kube-client");
}

CurlLoop::~CurlLoop() {
  Stop([] {});
  curl_multi_cleanup(multi_);
}

bool CurlLoop::Post(std::function<void()> run) {
  {
    std::lock_guard lock(mutex_);
    if (is_stopping_) return false;
    posted_.push_back(std::move(run));
  }
  curl_multi_wakeup(multi_);
  return true;
}

EventLoop::TimerId CurlLoop::After(Duration delay, std::function<void()> run) {
  TimerId id = 0;
  {
    std::lock_guard lock(mutex_);
    id = ++last_timer_;
    const Clock::time_point at = Clock::now() + std::max(delay, Duration(0));
    timers_.emplace(std::pair(at, id), std::move(run));
    timer_times_.emplace(id, at);
  }
  if (!IsLoopThread()) curl_multi_wakeup(multi_);
  return id;
}

bool CurlLoop::Cancel(TimerId timer) {
  std::function<void()> dropped;  // Destroyed outside of the lock.
  std::lock_guard lock(mutex_);
  const auto found = timer_times_.find(timer);
  if (found == timer_times_.end()) return false;
  const auto entry = timers_.find({found->second, timer});
  dropped = std::move(entry->second);
  timers_.erase(entry);
  timer_times_.erase(found);
  return true;
}

bool CurlLoop::IsLoopThread() const { return std::this_thread::get_id() == thread_.get_id(); }

void CurlLoop::Add(CURL* easy, std::function<void(CURLcode)> done) {
  transfers_[easy] = std::move(done);
  const CURLMcode code = curl_multi_add_handle(multi_, easy);
  PACELINE_CHECK(code == CURLM_OK, "libcurl refuses a transfer: {}", curl_multi_strerror(code));
}

void CurlLoop::Remove(CURL* easy) {
  curl_multi_remove_handle(multi_, easy);
  transfers_.erase(easy);
}

void CurlLoop::Stop(std::function<void()> last) {
  if (!thread_.joinable()) return;
  PACELINE_CHECK(!IsLoopThread(), "the loop cannot stop itself");
  {
    std::lock_guard lock(mutex_);
    posted_.push_back(std::move(last));
    is_stopping_ = true;
  }
  curl_multi_wakeup(multi_);
  thread_.join();
  std::map<std::pair<Clock::time_point, TimerId>, std::function<void()>> dropped;
  std::lock_guard lock(mutex_);
  dropped.swap(timers_);
  timer_times_.clear();
}

void CurlLoop::Run() {
  while (true) {
    RunPosted();
    {
      std::lock_guard lock(mutex_);
      if (is_stopping_ && posted_.empty()) return;
      if (!posted_.empty()) continue;
    }
    RunTimers();
    int running = 0;
    curl_multi_perform(multi_, &running);
    Reap();
    curl_multi_poll(multi_, nullptr, 0, PollMs(), nullptr);
  }
}

void CurlLoop::RunPosted() {
  std::vector<std::function<void()>> posted;
  {
    std::lock_guard lock(mutex_);
    posted.swap(posted_);
  }
  for (auto& run : posted) run();
}

void CurlLoop::RunTimers() {
  while (true) {
    std::function<void()> run;
    {
      std::lock_guard lock(mutex_);
      if (is_stopping_ || timers_.empty() || timers_.begin()->first.first > Clock::now()) return;
      timer_times_.erase(timers_.begin()->first.second);
      run = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
    }
    run();
  }
}

void CurlLoop::Reap() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* easy = message->easy_handle;
    const CURLcode code = message->data.result;
    const auto found = transfers_.find(easy);
    if (found == transfers_.end()) continue;
    const auto done = std::move(found->second);
    Remove(easy);
    done(code);
  }
}

int CurlLoop::PollMs() {
  std::lock_guard lock(mutex_);
  if (!posted_.empty() || is_stopping_) return 0;
  if (timers_.empty()) return kPollMsMax;
  const auto left = timers_.begin()->first.first - Clock::now();
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::clamp<int64_t>(ms, 0, kPollMsMax));
}

}  // namespace paceline::kube

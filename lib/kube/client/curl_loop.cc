#include "lib/kube/client/curl_loop.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/base/check.h"

namespace paceline::kube {
namespace {

constexpr int kWaitMsMax = 60'000;  // Wake-ups come by the eventfd.
constexpr int kEventsMax = 64;

void InitCurlOnce() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  PACELINE_CHECK(code == CURLE_OK, "libcurl cannot start: {}", curl_easy_strerror(code));
}

}  // namespace

CurlLoop::CurlLoop(long connections_max) {
  InitCurlOnce();
  multi_ = curl_multi_init();
  PACELINE_CHECK(multi_ != nullptr, "libcurl has no memory");
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event event{.events = EPOLLIN, .data = {.fd = wake_}};
  CheckGiven(epoll_ >= 0 && wake_ >= 0 && epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event) == 0,
             "cannot wait for sockets");
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, connections_max);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, SocketWanted);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, TimeWanted);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
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
  curl_multi_cleanup(multi_);  // Closes connections, and says so to SocketWanted.
  close(wake_);
  close(epoll_);
}

void CurlLoop::Wake() {
  const uint64_t one = 1;
  // It fails when the counter is full: then a wake-up is on its way.
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);
}

int CurlLoop::SocketWanted(CURL*, curl_socket_t socket, int what, void* self, void* known) {
  auto& loop = *static_cast<CurlLoop*>(self);
  if (what == CURL_POLL_REMOVE) {
    epoll_ctl(loop.epoll_, EPOLL_CTL_DEL, socket, nullptr);  // Closed already, perhaps.
    return 0;
  }
  epoll_event event{.events = 0, .data = {.fd = socket}};
  if ((what & CURL_POLL_IN) != 0) event.events |= EPOLLIN;
  if ((what & CURL_POLL_OUT) != 0) event.events |= EPOLLOUT;
  const int change = known == nullptr ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (epoll_ctl(loop.epoll_, change, socket, &event) != 0) {
    // A descriptor that was closed and given out again may be one thing to libcurl, another here.
    const int other = change == EPOLL_CTL_ADD ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    PACELINE_CHECK(epoll_ctl(loop.epoll_, other, socket, &event) == 0,
                   "the loop cannot wait for socket {}: {}", socket, std::strerror(errno));
  }
  curl_multi_assign(loop.multi_, socket, self);  // Anything but null: known from now on.
  return 0;
}

int CurlLoop::TimeWanted(CURLM*, long ms, void* self) {
  auto& loop = *static_cast<CurlLoop*>(self);
  if (ms < 0) {
    loop.curl_due_.reset();
  } else {
    loop.curl_due_ = Clock::now() + std::chrono::milliseconds(ms);
  }
  return 0;
}

bool CurlLoop::Post(std::function<void()> run) {
  bool is_first = false;
  {
    std::lock_guard lock(mutex_);
    if (is_stopping_) return false;
    is_first = posted_.empty();
    posted_.push_back(std::move(run));
  }
  if (is_first) Wake();  // Those that follow are taken with it.
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
  if (!IsLoopThread()) Wake();
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
  Wake();
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
    WaitForSockets();
    Reap();
  }
}

void CurlLoop::WaitForSockets() {
  epoll_event events[kEventsMax];
  const int count = epoll_wait(epoll_, events, kEventsMax, WaitMs());
  int running = 0;
  for (int i = 0; i < count; ++i) {
    const int socket = events[i].data.fd;
    if (socket == wake_) {
      uint64_t wakes = 0;
      [[maybe_unused]] const ssize_t got = read(wake_, &wakes, sizeof wakes);
      continue;
    }
    const uint32_t seen = events[i].events;
    int what = 0;
    if ((seen & EPOLLIN) != 0) what |= CURL_CSELECT_IN;
    if ((seen & EPOLLOUT) != 0) what |= CURL_CSELECT_OUT;
    if ((seen & (EPOLLERR | EPOLLHUP)) != 0) what |= CURL_CSELECT_ERR;
    curl_multi_socket_action(multi_, socket, what, &running);
  }
  if (curl_due_ && *curl_due_ <= Clock::now()) {
    curl_due_.reset();
    curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
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

int CurlLoop::WaitMs() {
  std::optional<Clock::time_point> until = curl_due_;
  {
    std::lock_guard lock(mutex_);
    if (!posted_.empty() || is_stopping_) return 0;
    if (!timers_.empty()) {
      const Clock::time_point first = timers_.begin()->first.first;
      until = until ? std::min(*until, first) : first;
    }
  }
  if (!until) return kWaitMsMax;
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(*until - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(ms, 0, kWaitMsMax));
}

}  // namespace paceline::kube

#include "lib/telemetry/http_front.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/check.h"
#include "lib/base/limits.h"
#include "lib/telemetry/clock.h"
#include "lib/telemetry/log.h"

namespace paceline::telemetry {
namespace {

constexpr uint64_t kListening = 0, kWake = 1;  // Beside the connections' numbers.
constexpr int kEventsAtOnce = 64;
constexpr Duration kSweepPeriod = std::chrono::milliseconds(200);
constexpr Duration kWordPeriod = Seconds(60);
constexpr Duration kLastWords = Seconds(1);  // For clients to take what was answered before Stop.

// As many connections as the limit says, and never more than half of the process' descriptors.
size_t ConnectionsMax() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY)
    return limits::kHttpConnectionsMax;
  return std::clamp<size_t>(files.rlim_cur / 2, 16, limits::kHttpConnectionsMax);
}

bool IsAnybodyWaiting(const OwnedSocket& listening) {
  pollfd waiting{.fd = listening.get(), .events = POLLIN, .revents = 0};
  return poll(&waiting, 1, 0) == 1;
}

}  // namespace

HttpFront::HttpFront(OwnedSocket listening, ssl_ctx_st* context, HttpFrontOptions options)
    : options_(std::move(options)),
      context_(context),
      port_(PortOf(listening)),
      listening_(std::move(listening)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      spare_(eventfd(0, EFD_CLOEXEC)),
      connections_(ConnectionsMax(), limits::kHttpConnectionsPerPeerMax) {
  CheckGiven(epoll_.get() >= 0 && wake_.get() >= 0, "cannot wait for clients");
  for (const auto& [socket, number] : {std::pair(&listening_, kListening), {&wake_, kWake}}) {
    epoll_event event{.events = EPOLLIN, .data = {.u64 = number}};
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket->get(), &event);
  }
  thread_ = std::thread([this] { Run(); });
}

void HttpFront::Stop() {
  if (!thread_.joinable()) return;
  is_stopping_ = true;
  Wake();
  workers_.Stop();
  is_answered_ = true;
  Wake();
  thread_.join();
}

void HttpFront::Wake() const {
  const uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof(one));
}

void HttpFront::Run() {
  while (!HasLeft()) {
    std::array<epoll_event, kEventsAtOnce> events;
    const bool is_quiet = connections_.all().empty() && is_accepting_ && !is_stopping_;
    const int count = epoll_wait(epoll_.get(), events.data(), kEventsAtOnce, is_quiet ? -1 : 100);
    for (int i = 0; i < count; ++i) {
      const uint64_t number = events[i].data.u64;
      if (number == kListening) {
        AcceptSome();
      } else if (number == kWake) {
        uint64_t ignored;
        (void)!read(wake_.get(), &ignored, sizeof(ignored));
      } else if (HttpConnection* const connection = connections_.Find(number)) {
        Serve(*connection);
      }
    }
    TakeAnswers();
    if (const Time now = SteadyNow(); now >= next_sweep_) Sweep(now);
    if (spare_.get() < 0) spare_ = OwnedSocket(eventfd(0, EFD_CLOEXEC));
  }
}

// Whether all is done after Stop. Lets nobody in from then on.
bool HttpFront::HasLeft() {
  if (!is_stopping_) return false;
  listening_.Close();
  const bool is_answered = is_answered_;
  TakeAnswers();
  if (is_answered && !end_) end_ = SteadyNow() + kLastWords;
  const bool is_over = end_ && SteadyNow() >= *end_;
  std::vector<HttpConnection*> leaving;
  for (const auto& [id, connection] : connections_.all()) {
    const HttpPhase phase = connection->phase;
    const bool is_busy =
        phase == HttpPhase::kWriting || (phase == HttpPhase::kAnswering && !is_answered);
    if (!is_busy || is_over) leaving.push_back(connection.get());
  }
  for (HttpConnection* const connection : leaving) connections_.Close(*connection);
  return is_answered && connections_.all().empty();
}

void HttpFront::AcceptSome() {
  for (int i = 0; i < kEventsAtOnce; ++i) {
    Accepted accepted = Accept(listening_);
    if (IsOutOfDescriptors(accepted.error)) {
      if (!IsAnybodyWaiting(listening_)) return;  // It is said before that is looked at.
      if (connections_.CloseOldest() || TurnAwayOne()) continue;
      // Asked again at the next sweep: a full process must not spin.
      epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listening_.get(), nullptr);
      is_accepting_ = false;
      return;
    }
    if (accepted.error == EAGAIN || accepted.error == EBADF) return;
    if (accepted.error != 0) continue;  // This client went before it was let in.
    LetIn(std::move(accepted), /*is_turned_away=*/false);
  }
}

void HttpFront::LetIn(Accepted accepted, bool is_turned_away) {
  HttpConnection* const connection = connections_.Add(std::move(accepted), context_);
  if (connection == nullptr) {
    ++refused_;
    return;
  }
  connection->is_turned_away = is_turned_away;
  Enter(*connection, context_ != nullptr ? HttpPhase::kHandshake : HttpPhase::kIdle);
  connections_.MayGiveWay(*connection);
  Await(*connection, EPOLLIN);
}

// A client that is let in by the spare descriptor hears why nobody else is: a probe that nobody
// answers says nothing. False if there is no spare one, or the client has gone.
bool HttpFront::TurnAwayOne() {
  if (const Time now = SteadyNow(); now >= next_word_of_limit_) {
    next_word_of_limit_ = now + kWordPeriod;
    Log(LogLevel::kError, "no client can connect",
        {{"port", port_}, {"why", WhichDescriptorLimit()}});
  }
  if (spare_.get() < 0) return false;
  spare_.Close();
  Accepted accepted = Accept(listening_);
  if (accepted.error != 0) return false;
  LetIn(std::move(accepted), /*is_turned_away=*/true);
  return true;
}

std::string HttpFront::WhichDescriptorLimit() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  return fmt::format(
      "no descriptor is left: see the limit of open files, {} for this process (ulimit -n)",
      files.rlim_cur);
}

void HttpFront::Await(HttpConnection& connection, uint32_t events) {
  epoll_event event{.events = events, .data = {.u64 = connection.id}};
  const int change = connection.is_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (epoll_ctl(epoll_.get(), change, connection.stream.descriptor(), &event) == 0) {
    connection.is_watched = true;
  } else {
    connection.deadline = SteadyNow();  // It would never be heard: the next sweep closes it.
  }
}

void HttpFront::Unwatch(HttpConnection& connection) {
  if (!connection.is_watched) return;
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, connection.stream.descriptor(), nullptr);
  connection.is_watched = false;
}

void HttpFront::TakeAnswers() {
  std::vector<Answered> answered;
  {
    std::lock_guard lock(mutex_);
    answered.swap(answered_);
  }
  for (Answered& answer : answered) {
    HttpConnection* const connection = connections_.Find(answer.id);
    if (connection == nullptr) continue;
    connections_.MayGiveWay(*connection);
    StartWriting(*connection, std::move(answer.bytes), answer.is_last || is_stopping_);
  }
}

void HttpFront::Sweep(Time now) {
  next_sweep_ = now + kSweepPeriod;
  if (!is_accepting_ && !is_stopping_) {
    epoll_event event{.events = EPOLLIN, .data = {.u64 = kListening}};
    is_accepting_ = epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listening_.get(), &event) == 0;
  }
  std::vector<uint64_t> late;
  for (const auto& [id, connection] : connections_.all()) {
    if (connection->phase != HttpPhase::kAnswering && now >= connection->deadline)
      late.push_back(id);
  }
  for (const uint64_t id : late) {
    HttpConnection* const connection = connections_.Find(id);
    if (connection == nullptr) continue;  // It gave way to the answer of one before it.
    if (connection->phase == HttpPhase::kRequest) {
      Refuse(*connection, {.status = 408,
                           .body = fmt::format("a request must be whole within {} s\n",
                                               ToSeconds(options_.request_longest))});
    } else {
      connections_.Close(*connection);
    }
  }
  SayWhoGaveWay(now);
}

void HttpFront::SayWhoGaveWay(Time now) {
  const size_t count = connections_.gave_way() + refused_;
  if (count == said_ || now < next_word_) return;
  next_word_ = now + kWordPeriod;
  Log(LogLevel::kWarning, "HTTP connections gave way to newer ones",
      {{"port", port_}, {"connections", count - said_}, {"open", connections_.all().size()}});
  said_ = count;
}

}  // namespace paceline::telemetry

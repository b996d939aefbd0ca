#include "lib/kube/client/transport.h"

#include <algorithm>

#include "lib/kube/client/retry.h"
#include "lib/kube/core/api_error.h"

namespace paceline::kube {
namespace {

constexpr long kSpareConnections = 32;

template <class C>
Time Now() {
  return Time(std::chrono::duration_cast<Duration>(C::now().time_since_epoch()));
}

}  // namespace

struct Transport::Call {
  uint64_t id = 0;
  Request request;
  bool is_stream = false;
  std::optional<Config> elsewhere;
  std::optional<size_t> body_max;
  std::optional<Duration> idle_timeout;
  std::function<void(std::string_view)> bytes;
  std::function<void(StatusOr<Response>)> done;

  std::optional<Clock::time_point> deadline;
  int attempt = 1;
  bool has_turn = false;            // Counts in in_flight_.
  bool has_fresh_identity = false;  // After a 401 it is renewed once.
  std::unique_ptr<Transfer> transfer;
  EventLoop::TimerId timer = 0;
  bool is_over = false;
};

Transport::Transport(Config config, ClientOptions options)
    : config_(std::move(config)),
      options_(std::move(options)),
      credentials_(config_),
      random_(std::random_device{}()),
      loop_(options_.calls_in_flight_max + kSpareConnections) {}

Transport::~Transport() { Shutdown(); }

double Transport::Chance() {
  return static_cast<double>(random_() - std::minstd_rand::min()) /
         (static_cast<double>(std::minstd_rand::max() - std::minstd_rand::min()) + 1);
}

void Transport::StartCall(Request request, std::function<void(StatusOr<Response>)> done) {
  auto call = std::make_shared<Call>();
  call->id = ++last_id_;
  call->request = std::move(request);
  call->done = std::move(done);
  if (!loop_.Post([this, call] { Admit(call); })) call->done(Cancelled("the client has stopped"));
}

uint64_t Transport::StartStream(Request request, std::optional<Duration> idle_timeout,
                                std::function<void(std::string_view)> bytes,
                                std::function<void(Status)> end) {
  auto call = std::make_shared<Call>();
  call->id = ++last_id_;
  call->is_stream = true;
  if (request.deadline) call->deadline = Clock::now() + *request.deadline;
  call->request = std::move(request);
  call->idle_timeout = idle_timeout;
  call->bytes = std::move(bytes);
  call->done = [end = std::move(end)](StatusOr<Response> response) {
    if (!response.ok()) return end(response.status());
    if (response->code < 300) return end(OkStatus());
    end(ErrorOf(*response));
  };
  if (!loop_.Post([this, call] { Admit(call); })) call->done(Cancelled("the client has stopped"));
  return call->id;
}

uint64_t Transport::StartElsewhere(Config server, Request request, size_t body_max,
                                   std::function<void(StatusOr<Response>)> done) {
  auto call = std::make_shared<Call>();
  call->id = ++last_id_;
  call->elsewhere = std::move(server);
  call->body_max = body_max;
  call->request = std::move(request);
  call->done = std::move(done);
  if (!loop_.Post([this, call] { Admit(call); })) call->done(Cancelled("the client has stopped"));
  return call->id;
}

void Transport::Cancel(uint64_t id) {
  loop_.Post([this, id] {
    const auto found = calls_.find(id);
    if (found != calls_.end()) Finish(found->second, Cancelled("cancelled by the caller"));
  });
}

void Transport::Shutdown() {
  is_stopping_ = true;
  loop_.Stop([this] {
    while (!calls_.empty()) Finish(calls_.begin()->second, Cancelled("the client is stopping"));
    waiting_.clear();
    without_credentials_.clear();
  });
  if (plugin_.joinable()) plugin_.join();
}

void Transport::Admit(std::shared_ptr<Call> call) {
  calls_.emplace(call->id, call);
  if (call->is_stream || call->request.is_urgent || call->elsewhere) return Attempt(call);
  waiting_.push_back(std::move(call));
  Pump();
}

void Transport::Pump() {
  while (!waiting_.empty() && in_flight_ < options_.calls_in_flight_max) {
    const std::shared_ptr<Call> call = std::move(waiting_.front());
    waiting_.pop_front();
    if (call->is_over) continue;
    call->has_turn = true;
    ++in_flight_;
    Attempt(call);
  }
}

void Transport::Attempt(const std::shared_ptr<Call>& call) {
  if (call->is_over) return;
  if (!call->is_stream && !call->deadline) {
    call->deadline = Clock::now() + call->request.deadline.value_or(options_.deadline);
  }
  if (call->elsewhere) {
    const Config& server = *call->elsewhere;
    return Send(call, server,
                {.client_certificate = server.client_certificate, .client_key = server.client_key});
  }
  auto identity =
      credentials_.Current(Now<std::chrono::steady_clock>(), Now<std::chrono::system_clock>());
  if (!identity.ok()) return Finish(call, identity.status());
  if (!identity->has_value()) {
    without_credentials_.push_back(call);
    return RunPlugin();
  }
  Send(call, config_, **identity);
}

void Transport::Send(const std::shared_ptr<Call>& call, const Config& server,
                     const Identity& identity) {
  TransferOptions options{.user_agent = options_.user_agent,
                          .connect_timeout = options_.connect_timeout,
                          .idle_timeout = call->idle_timeout,
                          .body_max = call->body_max,
                          .keeps_connection = !call->elsewhere};
  if (call->deadline) {
    options.deadline = *call->deadline - Clock::now();
    if (*options.deadline <= Duration(0)) {
      return Finish(call, DeadlineExceeded("{} {}: no time is left for another attempt",
                                           call->request.method, call->request.path));
    }
  }
  call->transfer = std::make_unique<Transfer>(
      loop_, server, call->request, identity, options, call->bytes,
      [this, call](TransferResult result) { Ended(call, std::move(result)); });
}

void Transport::Ended(const std::shared_ptr<Call>& call, TransferResult result) {
  const std::unique_ptr<Transfer> finished = std::move(call->transfer);
  if (options_.observe && !call->elsewhere) {
    options_.observe({.verb = call->request.verb,
                      .resource = call->request.resource,
                      .code = result.code,
                      .seconds = result.seconds,
                      .attempt = call->attempt});
  }
  if (call->is_over || (!call->elsewhere && Retries(call, result))) return;
  if (!result.status.ok()) {
    const std::string what = fmt::format("{} {}", call->request.method, call->request.path);
    const std::string tries =
        call->attempt > 1 ? fmt::format(", attempt {}", call->attempt) : std::string();
    return Finish(call, Annotate(result.status, what + tries));
  }
  Finish(call, Response{.code = result.code,
                        .headers = std::move(result.headers),
                        .body = std::move(result.body)});
}

bool Transport::Retries(const std::shared_ptr<Call>& call, const TransferResult& result) {
  if (result.code == 401 && credentials_.Invalidate() && !call->has_fresh_identity &&
      !call->is_stream) {
    call->has_fresh_identity = true;
    ++call->attempt;
    AttemptAfter(call, Duration(0));
    return true;
  }
  if (call->is_stream || (result.status.ok() && result.code < 300)) return false;
  const FailedAttempt attempt{.number = call->attempt,
                              .code = result.status.ok() ? result.code : 0,
                              .was_sent = result.was_sent,
                              .is_hopeless = result.is_hopeless,
                              .retry_after = RetryAfterOf(result.headers)};
  const std::optional<Duration> delay =
      RetryDelay(attempt, call->request.is_repeatable, options_, Chance());
  if (!delay || Clock::now() + *delay >= *call->deadline) return false;
  ++call->attempt;
  AttemptAfter(call, *delay);
  return true;
}

void Transport::AttemptAfter(const std::shared_ptr<Call>& call, Duration delay) {
  call->timer = loop_.After(delay, [this, call] { Attempt(call); });
}

void Transport::Finish(std::shared_ptr<Call> call, StatusOr<Response> response) {
  if (call->is_over) return;
  call->is_over = true;
  call->transfer.reset();
  if (call->timer != 0) loop_.Cancel(call->timer);
  calls_.erase(call->id);
  const bool frees_a_turn = call->has_turn;
  const auto done = std::move(call->done);
  call->bytes = nullptr;
  done(std::move(response));
  if (!frees_a_turn) return;
  --in_flight_;
  if (!is_stopping_) Pump();
}

void Transport::RunPlugin() {
  if (plugin_runs_) return;
  plugin_runs_ = true;
  if (plugin_.joinable()) plugin_.join();  // Has ended: it posted its result last of all.
  plugin_ = std::thread([this] {
    auto credential = RunExecPlugin(config_, is_stopping_);
    loop_.Post([this, credential = std::move(credential)] { PluginEnded(credential); });
  });
}

void Transport::PluginEnded(StatusOr<ExecCredential> credential) {
  plugin_runs_ = false;
  std::vector<std::shared_ptr<Call>> calls;
  calls.swap(without_credentials_);
  if (credential.ok()) {
    const bool is_expired =
        credential->expires && *credential->expires <= Now<std::chrono::system_clock>();
    if (is_expired) {
      credential = Unauthenticated("credential plugin {} gave credentials that have expired",
                                   config_.exec.command);
    } else {
      // Those that expire within the margin are still used, once: better than running it forever.
      credentials_.Adopt(*credential);
    }
  }
  for (const auto& call : calls) {
    if (credential.ok()) {
      Attempt(call);
    } else {
      Finish(call, credential.status());
    }
  }
}

}  // namespace paceline::kube

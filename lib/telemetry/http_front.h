// Defines HttpFront: one thread that waits for all clients of an endpoint at once, and hands whole
// requests to a few others.
//
// A connection that is silent, slow to ask or slow to listen costs some memory and no thread. Each
// request, head and body, has one deadline; each limit is one of lib/base/limits.h.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lib/base/status.h"
#include "lib/telemetry/http_connections.h"
#include "lib/telemetry/http_workers.h"

namespace paceline::telemetry {

struct HttpFrontOptions {
  size_t body_bytes_max = 0;
  Duration request_longest{};  // From the first byte of its head to the last of its body.
  std::function<HttpLane(const HttpRequest&)> lane;  // On the front's thread; must not block.
  // On other threads, several at a time. The session is null without TLS.
  std::function<HttpAnswer(const HttpRequest&, const ssl_st*)> answer;
};

class HttpFront {
 public:
  // Serves as soon as it is there. `context` makes it TLS and outlives it, or is null.
  HttpFront(OwnedSocket listening, ssl_ctx_st* context, HttpFrontOptions options);
  ~HttpFront() { Stop(); }

  // Answers what is being answered, forgets what waits, and closes. Idempotent.
  void Stop();

 private:
  struct Answered {
    uint64_t id;
    std::string bytes;
    bool is_last;
  };

  void Run();
  void AcceptSome();
  void LetIn(Accepted accepted, bool is_turned_away);
  bool TurnAwayOne();
  static std::string WhichDescriptorLimit();
  void Serve(HttpConnection& connection);
  void ShakeHands(HttpConnection& connection);
  void ReadSome(HttpConnection& connection);
  bool TakeIn(HttpConnection& connection);
  bool TakeHead(HttpConnection& connection);
  void Submit(HttpConnection& connection);
  void TakeAnswers();
  void Refuse(HttpConnection& connection, const HttpRefusal& refusal);
  void StartWriting(HttpConnection& connection, std::string bytes, bool is_last);
  void WriteSome(HttpConnection& connection);
  void Finish(HttpConnection& connection);
  void Await(HttpConnection& connection, uint32_t events);
  void Unwatch(HttpConnection& connection);
  void Enter(HttpConnection& connection, HttpPhase phase);
  Duration LongestOf(HttpPhase phase) const;
  void Sweep(Time now);
  void SayWhoGaveWay(Time now);
  bool HasLeft();
  void Wake() const;

  const HttpFrontOptions options_;
  ssl_ctx_st* const context_;
  const int port_;
  OwnedSocket listening_;
  OwnedSocket epoll_;
  OwnedSocket wake_;
  OwnedSocket spare_;  // Given up for a client that is told that there are no descriptors.
  bool is_accepting_ = true;

  HttpConnections connections_;
  size_t refused_ = 0;
  size_t said_ = 0;
  Time next_sweep_{};
  Time next_word_{};
  Time next_word_of_limit_{};
  std::optional<Time> end_;  // Once stopping: when whoever still reads is left.

  std::mutex mutex_;
  std::vector<Answered> answered_;  // Guarded by mutex_.
  std::atomic<bool> is_stopping_ = false;
  std::atomic<bool> is_answered_ = false;  // No answerer runs any more.
  HttpWorkers workers_;
  std::thread thread_;
};

}  // namespace paceline::telemetry

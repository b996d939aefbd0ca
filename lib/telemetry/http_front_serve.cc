// What the front does with one connection.
#include <array>
#include <exception>

#include <sys/epoll.h>

#include "lib/base/limits.h"
#include "lib/telemetry/clock.h"
#include "lib/telemetry/http_front.h"

namespace paceline::telemetry {
namespace {

constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr Duration kLingering = Seconds(1);  // For the last bytes to arrive before the close.

HttpAnswer AnswerOf(const HttpFrontOptions& options, const HttpRequest& request,
                    const ssl_st* session) {
  try {
    return options.answer(request, session);
  } catch (const std::exception& error) {
    return {.status = 500, .body = fmt::format("{}\n", error.what())};
  }
}

}  // namespace

Duration HttpFront::LongestOf(HttpPhase phase) const {
  switch (phase) {
    case HttpPhase::kIdle:
      return Seconds(limits::kHttpIdleSecondsMax);
    case HttpPhase::kHandshake:
    case HttpPhase::kRequest:
      return options_.request_longest;
    case HttpPhase::kWriting:
      return Seconds(limits::kHttpUnreadSecondsMax);
    case HttpPhase::kLingering:
      return kLingering;
    case HttpPhase::kAnswering:
      break;
  }
  return Seconds(1e6);  // The answerer's to know.
}

void HttpFront::Enter(HttpConnection& connection, HttpPhase phase) {
  connection.phase = phase;
  connection.deadline = SteadyNow() + LongestOf(phase);
}

void HttpFront::Serve(HttpConnection& connection) {
  switch (connection.phase) {
    case HttpPhase::kHandshake:
      return ShakeHands(connection);
    case HttpPhase::kIdle:
    case HttpPhase::kRequest:
      return ReadSome(connection);
    case HttpPhase::kWriting:
      return WriteSome(connection);
    case HttpPhase::kLingering:
      if (connection.stream.Discard() == Moved::kEnded) connections_.Close(connection);
      return;
    case HttpPhase::kAnswering:
      return;  // Not watched.
  }
}

void HttpFront::ShakeHands(HttpConnection& connection) {
  switch (connection.stream.Handshake()) {
    case Moved::kSome:
      Enter(connection, HttpPhase::kIdle);
      return ReadSome(connection);
    case Moved::kAwaitsInput:
      return Await(connection, EPOLLIN);
    case Moved::kAwaitsOutput:
      return Await(connection, EPOLLOUT);
    case Moved::kEnded:
      return Finish(connection);  // The client may still read why.
  }
}

void HttpFront::ReadSome(HttpConnection& connection) {
  std::array<char, 16 << 10> bytes;
  // What is there of a request that came behind another one.
  if (!connection.in.empty() && TakeIn(connection)) return;
  for (;;) {
    size_t count = 0;
    switch (connection.stream.Read(bytes, count)) {
      case Moved::kSome:
        if (connection.phase == HttpPhase::kIdle) Enter(connection, HttpPhase::kRequest);
        connection.in.append(bytes.data(), count);
        if (TakeIn(connection)) return;
        break;
      case Moved::kAwaitsInput:
        return Await(connection, EPOLLIN);
      case Moved::kAwaitsOutput:
        return Await(connection, EPOLLOUT);
      case Moved::kEnded:
        return connections_.Close(connection);
    }
  }
}

// True if nothing more is to be read for now: the request is whole or refused.
bool HttpFront::TakeIn(HttpConnection& connection) {
  if (connection.phase == HttpPhase::kIdle) Enter(connection, HttpPhase::kRequest);
  if (!connection.head && TakeHead(connection)) return true;
  if (!connection.head) return false;
  if (connection.in.size() < connection.head_size + connection.head->body_bytes) return false;
  Submit(connection);
  return true;
}

// True if the request is refused.
bool HttpFront::TakeHead(HttpConnection& connection) {
  const std::optional<size_t> end = FindHeadEnd(connection.in, connection.seen);
  connection.seen = connection.in.size();
  if (end.value_or(connection.in.size()) > limits::kHttpHeadBytesMax) {
    Refuse(connection, {.status = 431,
                        .body = fmt::format("a request's head must be at most {} bytes long\n",
                                            limits::kHttpHeadBytesMax)});
    return true;
  }
  if (!end) return false;
  HttpHead head;
  std::optional<HttpRefusal> refusal =
      ReadHead(std::string_view(connection.in).substr(0, *end), head);
  if (!refusal && head.body_bytes > options_.body_bytes_max) {
    refusal = {.status = 413,
               .body = fmt::format("a request's body must be at most {} bytes long: got {}\n",
                                   options_.body_bytes_max, head.body_bytes)};
  }
  if (!refusal && connections_.held() + head.body_bytes > limits::kHttpHeldBytesMax)
    refusal = {.status = 503, .body = "too many bodies are under way; try again\n"};
  if (refusal) {
    Refuse(connection, *refusal);
    return true;
  }
  size_t ignored = 0;
  if (head.waits && connection.in.size() < *end + head.body_bytes)
    (void)connection.stream.Write(kGoOn, ignored);
  connections_.Hold(connection, head.body_bytes);
  connection.head_size = *end;
  connection.head = std::move(head);
  return false;
}

void HttpFront::Submit(HttpConnection& connection) {
  if (connection.is_turned_away)
    return Refuse(connection, {.status = 503, .body = WhichDescriptorLimit() + "\n"});
  HttpHead& head = *connection.head;
  head.request.body = connection.in.substr(connection.head_size, head.body_bytes);
  connection.in.erase(0, connection.head_size + head.body_bytes);
  const HttpLane lane = options_.lane(head.request);
  auto work = [this, id = connection.id, request = std::move(head.request), is_last = head.is_last,
               session = connection.stream.session()] {
    std::string bytes = WriteAnswer(AnswerOf(options_, request, session), request.method, is_last);
    {
      std::lock_guard lock(mutex_);
      answered_.push_back({id, std::move(bytes), is_last});
    }
    Wake();
  };
  connection.head.reset();
  connection.seen = 0;
  // Its session is the answerer's now, and it is nobody's to close.
  connections_.Keep(connection);
  Unwatch(connection);
  Enter(connection, HttpPhase::kAnswering);
  if (workers_.Submit(lane, std::move(work))) return;
  connections_.MayGiveWay(connection);
  Refuse(connection, {.status = 503, .body = "too many requests wait; try again\n"});
}

void HttpFront::Refuse(HttpConnection& connection, const HttpRefusal& refusal) {
  StartWriting(connection, WriteAnswer(refusal, "", /*is_last=*/true), /*is_last=*/true);
}

void HttpFront::StartWriting(HttpConnection& connection, std::string bytes, bool is_last) {
  connection.in = is_last ? std::string() : std::move(connection.in);
  connection.out = std::move(bytes);
  connection.written = 0;
  connection.is_last = is_last;
  Enter(connection, HttpPhase::kWriting);
  connections_.Hold(connection, connection.out.size());
  while (connections_.held() > limits::kHttpHeldBytesMax &&
         connections_.CloseOldestReader(connection)) {
  }
  WriteSome(connection);
}

void HttpFront::WriteSome(HttpConnection& connection) {
  while (connection.written < connection.out.size()) {
    size_t count = 0;
    const auto rest = std::string_view(connection.out).substr(connection.written);
    switch (connection.stream.Write(rest, count)) {
      case Moved::kSome:
        connection.written += count;
        Enter(connection, HttpPhase::kWriting);  // Judged by progress.
        break;
      case Moved::kAwaitsInput:
        return Await(connection, EPOLLIN);
      case Moved::kAwaitsOutput:
        return Await(connection, EPOLLOUT);
      case Moved::kEnded:
        return connections_.Close(connection);
    }
  }
  connection.out = std::string();
  connections_.Hold(connection, 0);
  if (connection.is_last) return Finish(connection);
  Enter(connection, HttpPhase::kIdle);
  connections_.MayGiveWay(connection);
  ReadSome(connection);
}

// Closes when the client has, so that what was written last is not lost with what it still sends.
void HttpFront::Finish(HttpConnection& connection) {
  connection.stream.EndWriting();
  Enter(connection, HttpPhase::kLingering);
  Await(connection, EPOLLIN);
}

}  // namespace paceline::telemetry

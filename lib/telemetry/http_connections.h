// Defines HttpConnections: the open connections of an endpoint, as many as its limits allow. Where
// there is no room, the one that has waited longest gives way.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "lib/base/time.h"
#include "lib/telemetry/http_message.h"
#include "lib/telemetry/http_stream.h"

namespace paceline::telemetry {

enum class HttpPhase { kHandshake, kIdle, kRequest, kAnswering, kWriting, kLingering };

// What is known of one connection. Its owner is HttpConnections.
struct HttpConnection {
  using Order = std::list<HttpConnection*>;

  HttpConnection(Accepted accepted, ssl_ctx_st* context)
      : peer(std::move(accepted.peer)), stream(std::move(accepted.socket), context) {}

  uint64_t id = 0;
  const std::string peer;
  HttpStream stream;
  HttpPhase phase = HttpPhase::kIdle;
  Time deadline{};  // Of the phase.

  std::string in;        // Of a request that is not whole, and what came behind it.
  size_t seen = 0;       // So much of `in` holds no end of a head.
  size_t head_size = 0;  // With `head`.
  std::optional<HttpHead> head;

  std::string out;  // The answer...
  size_t written = 0;
  bool is_last = false;  // ...after which the connection ends.

  bool is_turned_away =
      false;  // There is no descriptor for another: whatever it asks, it is told that.

  size_t held = 0;          // Bytes of its body or answer, arrived or not.
  bool is_watched = false;  // By epoll.
  std::optional<std::pair<Order::iterator, Order::iterator>> places;  // Where it may give way.
};

// One owner at a time.
class HttpConnections {
 public:
  HttpConnections(size_t all_max, size_t peer_max) : all_max_(all_max), peer_max_(peer_max) {}

  // Null, and the socket closed, if there is no room and none that could give way.
  HttpConnection* Add(Accepted accepted, ssl_ctx_st* context);
  HttpConnection* Find(uint64_t id);
  void Close(HttpConnection& connection);

  // From now on it may give way, after all that may already; or it may not, while it is answered.
  void MayGiveWay(HttpConnection& connection);
  void Keep(HttpConnection& connection);

  // Closes the oldest that may give way. False if there is none.
  bool CloseOldest();
  // The same among those that an answer is written to, other than `except`.
  bool CloseOldestReader(const HttpConnection& except);

  // What the connection's body or answer takes, instead of what it took; and what all take.
  void Hold(HttpConnection& connection, size_t bytes);
  size_t held() const { return held_; }

  std::unordered_map<uint64_t, std::unique_ptr<HttpConnection>>& all() { return all_; }
  size_t gave_way() const { return gave_way_; }

 private:
  struct Peer {
    size_t count = 0;
    HttpConnection::Order order;
  };

  bool CloseFirst(const HttpConnection::Order& order);

  const size_t all_max_;
  const size_t peer_max_;
  uint64_t last_id_ = 1;  // 0 and 1 are what else the front waits for.
  std::unordered_map<uint64_t, std::unique_ptr<HttpConnection>> all_;
  std::unordered_map<std::string, Peer> peers_;
  HttpConnection::Order order_;
  size_t gave_way_ = 0;
  size_t held_ = 0;
};

}  // namespace paceline::telemetry

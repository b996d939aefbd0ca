#include "lib/telemetry/http_connections.h"

#include <algorithm>
#include <utility>

namespace paceline::telemetry {

HttpConnection* HttpConnections::Add(Accepted accepted, ssl_ctx_st* context) {
  if (const auto peer = peers_.find(accepted.peer);
      peer != peers_.end() && peer->second.count >= peer_max_ && !CloseFirst(peer->second.order))
    return nullptr;
  if (all_.size() >= all_max_ && !CloseFirst(order_)) return nullptr;
  auto connection = std::make_unique<HttpConnection>(std::move(accepted), context);
  connection->id = ++last_id_;
  ++peers_[connection->peer].count;
  HttpConnection* const added = connection.get();
  all_.emplace(added->id, std::move(connection));
  return added;
}

HttpConnection* HttpConnections::Find(uint64_t id) {
  const auto found = all_.find(id);
  return found == all_.end() ? nullptr : found->second.get();
}

void HttpConnections::Close(HttpConnection& connection) {
  Keep(connection);
  Hold(connection, 0);
  const auto peer = peers_.find(connection.peer);
  if (--peer->second.count == 0) peers_.erase(peer);
  all_.erase(connection.id);
}

void HttpConnections::MayGiveWay(HttpConnection& connection) {
  Keep(connection);
  HttpConnection::Order& of_peer = peers_[connection.peer].order;
  connection.places.emplace(order_.insert(order_.end(), &connection),
                            of_peer.insert(of_peer.end(), &connection));
}

void HttpConnections::Keep(HttpConnection& connection) {
  if (!connection.places) return;
  order_.erase(connection.places->first);
  peers_[connection.peer].order.erase(connection.places->second);
  connection.places.reset();
}

void HttpConnections::Hold(HttpConnection& connection, size_t bytes) {
  held_ += bytes - connection.held;
  connection.held = bytes;
}

bool HttpConnections::CloseOldest() { return CloseFirst(order_); }

bool HttpConnections::CloseOldestReader(const HttpConnection& except) {
  const auto found = std::find_if(order_.begin(), order_.end(), [&](const HttpConnection* one) {
    return one->phase == HttpPhase::kWriting && one != &except;
  });
  if (found == order_.end()) return false;
  ++gave_way_;
  Close(**found);
  return true;
}

bool HttpConnections::CloseFirst(const HttpConnection::Order& order) {
  if (order.empty()) return false;
  ++gave_way_;
  Close(*order.front());
  return true;
}

}  // namespace paceline::telemetry

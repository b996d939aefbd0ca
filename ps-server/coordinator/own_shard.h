// Defines OwnShard: the driver's connection to a shard of its own process.
#pragma once

#include "ps-server/coordinator/sessions.h"
#include "ps-server/shard/shard_host.h"

namespace paceline::ps {

class OwnShard final : public ShardConnection {
 public:
  explicit OwnShard(ShardHost* host) : host_(host) {}  // Outlives the connection's use.
  void Send(const protocol::ShardOrder& order) override { host_->Order(order); }
  void Close() override {}

 private:
  ShardHost* const host_;
};

}  // namespace paceline::ps

// Defines MakeChannel: a connection to one coordinator or shard.
//
// Example:
//   auto channel = MakeChannel("unix:/run/job/s0.sock");
//   PACELINE_RETURN_IF_ERROR(WaitForPeer(*channel, "unix:/run/job/s0.sock", Seconds(10)));
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lib/base/ids.h"
#include "lib/base/status.h"
#include "lib/base/time.h"

namespace grpc {
class Channel;
class ChannelCredentials;
}  // namespace grpc

namespace paceline::rpc {

struct ChannelOptions {
  std::shared_ptr<grpc::ChannelCredentials> credentials =
      nullptr;  // Null: neither encrypted nor authenticated.
  // With credentials: whom the parameter server of that rank must prove to be; the address tells
  // not.
  std::function<std::string(ShardId)> peer_names = nullptr;
  Duration keepalive_period = Seconds(20);   // A silent peer is asked this often...
  Duration keepalive_timeout = Seconds(20);  // ...and given up after this.
};

// `address` as gRPC names it: unix:/path or host:port. Never blocks: it connects when first used.
// Each channel is a connection of its own, never shared with another channel to the same address.
// `rank` is the peer's; rank 0 coordinates.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const ChannelOptions& options = {},
                                           ShardId rank = ShardId(0));

// Blocks until the peer accepts connections; a name that does not resolve yet and a peer that is
// not there yet are tried again with a backoff of 50 ms to 1 s, and said in the log every ten
// seconds. Unavailable, naming `address` and what the last attempt met, after `timeout`.
Status WaitForPeer(grpc::Channel& channel, const std::string& address, Duration timeout);

}  // namespace paceline::rpc

// Defines Encode and Decode for what shards and the coordinator say to each other.
//
// Decode: InvalidArgument, naming the field, for an empty message or a value that codec_values.h
// refuses.
#pragma once

#include "paceline/v1/shard_session.pb.h"

#include "lib/base/status.h"
#include "lib/protocol/shard_messages.h"

namespace paceline::rpc {

v1::ShardMessage Encode(const protocol::ShardMessage& message);
StatusOr<protocol::ShardMessage> Decode(const v1::ShardMessage& message);

v1::ShardOrder Encode(const protocol::ShardOrder& order);
StatusOr<protocol::ShardOrder> Decode(const v1::ShardOrder& order);

}  // namespace paceline::rpc

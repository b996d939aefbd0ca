#include "lib/protocol/shard_messages.h"

namespace paceline::protocol {

ShardMessage::ShardMessage() = default;
ShardMessage::ShardMessage(const ShardMessage& other) = default;
ShardMessage::ShardMessage(ShardMessage&& other) noexcept = default;
ShardMessage& ShardMessage::operator=(const ShardMessage& other) = default;
ShardMessage& ShardMessage::operator=(ShardMessage&& other) noexcept = default;
ShardMessage::~ShardMessage() = default;

ShardOrder::ShardOrder() = default;
ShardOrder::ShardOrder(const ShardOrder& other) = default;
ShardOrder::ShardOrder(ShardOrder&& other) noexcept = default;
ShardOrder& ShardOrder::operator=(const ShardOrder& other) = default;
ShardOrder& ShardOrder::operator=(ShardOrder&& other) noexcept = default;
ShardOrder::~ShardOrder() = default;

}  // namespace paceline::protocol

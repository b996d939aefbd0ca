// Defines FrozenCall, by which a worker hands a piece of its frozen tensors to the coordinator, and
// how what is said there looks on the wire.
#pragma once

#include <functional>
#include <string>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/protocol/frozen_file.h"
#include "lib/rpc/channel.h"

namespace paceline::v1 {
class FrozenPart;
class FrozenAnswer;
}  // namespace paceline::v1

namespace paceline::rpc {

void Encode(const protocol::FrozenPart& part, v1::FrozenPart* wire);
protocol::FrozenPart Decode(const v1::FrozenPart& wire);
void Encode(const protocol::FrozenAnswer& answer, v1::FrozenAnswer* wire);
// InvalidArgument: a state that this version does not know.
StatusOr<protocol::FrozenAnswer> Decode(const v1::FrozenAnswer& wire);

// Blocks until the coordinator at `address` has answered, `timeout` at most; who asks waits for one
// that is not there yet, as long. Unavailable, DeadlineExceeded: it did not. Unimplemented: it is
// of a version that takes none.
using FrozenCall = std::function<StatusOr<protocol::FrozenAnswer>(const protocol::FrozenPart&)>;
FrozenCall CallForFrozen(const std::string& address, Duration timeout,
                         const ChannelOptions& options = {});

}  // namespace paceline::rpc

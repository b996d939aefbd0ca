// Defines Encode and Decode for what workers and the coordinator say to each other.
//
// Decode: InvalidArgument, naming the field, for an empty message or a value that codec_values.h
// refuses.
#pragma once

#include "paceline/v1/worker_session.pb.h"

#include "lib/base/status.h"
#include "lib/protocol/worker_messages.h"

namespace paceline::rpc {

v1::WorkerMessage Encode(const protocol::WorkerMessage& message);
StatusOr<protocol::WorkerMessage> Decode(const v1::WorkerMessage& message);

v1::WorkerOrder Encode(const protocol::WorkerOrder& order);
StatusOr<protocol::WorkerOrder> Decode(const v1::WorkerOrder& order);

}  // namespace paceline::rpc

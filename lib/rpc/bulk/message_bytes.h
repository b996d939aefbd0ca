// Defines conversions between small protobuf messages and gRPC's byte buffers, for streams that are
// raw because of the bulk bytes on their other direction.
#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>

#include "lib/base/status.h"

namespace paceline::rpc {

grpc::ByteBuffer ToByteBuffer(const google::protobuf::MessageLite& message);

// InvalidArgument if the bytes are no such message; `message` is then undefined.
Status ParseByteBuffer(const grpc::ByteBuffer& bytes, google::protobuf::MessageLite& message);

}  // namespace paceline::rpc

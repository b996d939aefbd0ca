#include "lib/rpc/bulk/message_bytes.h"

#include <limits>
#include <string>

#include <grpcpp/support/slice.h>

namespace paceline::rpc {

grpc::ByteBuffer ToByteBuffer(const google::protobuf::MessageLite& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return {&slice, 1};
}

Status ParseByteBuffer(const grpc::ByteBuffer& bytes, google::protobuf::MessageLite& message) {
  grpc::Slice slice;
  // Protobuf counts in ints: a longer message would wrap to a part of itself.
  if (bytes.Length() > std::numeric_limits<int>::max() || !bytes.DumpToSingleSlice(&slice).ok() ||
      !message.ParseFromArray(slice.begin(), static_cast<int>(slice.size()))) {
    return InvalidArgument("bytes are no {}: {} bytes", message.GetTypeName(), bytes.Length());
  }
  return OkStatus();
}

}  // namespace paceline::rpc

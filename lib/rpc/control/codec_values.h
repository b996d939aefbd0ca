// Defines Encode and Decode for the values that several messages share: protocol values to wire and
// back.
//
// Decode refuses what no program of ours sends (InvalidArgument, naming the field and the value):
// an unknown or unspecified enum, a range that ends before it begins, a layout that Layout::Create
// refuses.
#pragma once

#include <cstddef>
#include <string_view>

#include "paceline/v1/fences.pb.h"
#include "paceline/v1/layout.pb.h"
#include <fmt/format.h>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/base/version.h"
#include "lib/store/layout.h"
#include "lib/store/push.h"
#include "lib/sync/contract/decision.h"

namespace paceline::rpc {

v1::Generation Encode(const Generation& generation);
Generation Decode(const v1::Generation& generation);

v1::PushId Encode(const store::PushId& id);
store::PushId Decode(const v1::PushId& id);

v1::Slice Encode(const store::Slice& slice);
StatusOr<store::Slice> Decode(const v1::Slice& slice);

v1::Layout Encode(const store::Layout& layout);
StatusOr<store::Layout> Decode(const v1::Layout& layout);

v1::Exactness Encode(sync::Exactness exactness);
StatusOr<sync::Exactness> Decode(v1::Exactness exactness);

inline int64_t EncodeDuration(Duration duration) { return duration.count(); }
inline Duration DecodeDuration(int64_t nanoseconds) { return Duration(nanoseconds); }

// One line of a table that pairs an enum with its wire form.
template <class Value, class Wire>
struct EnumPair {
  Value value;
  Wire wire;
};

template <class Value, class Wire, size_t n>
Wire EncodeEnum(const EnumPair<Value, Wire> (&pairs)[n], Value value) {
  for (const auto& pair : pairs) {
    if (pair.value == value) return pair.wire;
  }
  return Wire{};  // *_UNSPECIFIED, which the receiver refuses.
}

template <class Value, class Wire, size_t n>
StatusOr<Value> DecodeEnum(const EnumPair<Value, Wire> (&pairs)[n], Wire wire,
                           std::string_view field) {
  for (const auto& pair : pairs) {
    if (pair.wire == wire) return pair.value;
  }
  return InvalidArgument("unknown {}: got {}, want 1 to {}", field, static_cast<int>(wire), n);
}

}  // namespace paceline::rpc

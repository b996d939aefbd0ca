#include "lib/rpc/control/codec_values.h"

#include <string>
#include <utility>
#include <vector>

namespace paceline::rpc {
namespace {

constexpr EnumPair<store::DataType, v1::DataType> kDataTypes[] = {
    {store::DataType::kFloat32, v1::DATA_TYPE_FLOAT32},
    {store::DataType::kInt64, v1::DATA_TYPE_INT64},
};
constexpr EnumPair<store::TensorKind, v1::TensorKind> kTensorKinds[] = {
    {store::TensorKind::kParameter, v1::TENSOR_KIND_PARAMETER},
    {store::TensorKind::kBuffer, v1::TENSOR_KIND_BUFFER},
};
constexpr EnumPair<sync::Exactness, v1::Exactness> kExactness[] = {
    {sync::Exactness::kExact, v1::EXACTNESS_EXACT},
    {sync::Exactness::kAtLeast, v1::EXACTNESS_AT_LEAST},
};

}  // namespace

v1::Generation Encode(const Generation& generation) {
  v1::Generation wire;
  wire.set_start(generation.start);
  wire.set_counter(generation.counter);
  return wire;
}

Generation Decode(const v1::Generation& generation) {
  return {.start = generation.start(), .counter = generation.counter()};
}

v1::PushId Encode(const store::PushId& id) {
  v1::PushId wire;
  wire.set_worker(id.worker.value());
  wire.set_incarnation(id.incarnation.value());
  wire.set_sequence(id.sequence.value());
  return wire;
}

store::PushId Decode(const v1::PushId& id) {
  return {WorkerId(id.worker()), Incarnation(id.incarnation()), Sequence(id.sequence())};
}

v1::Slice Encode(const store::Slice& slice) {
  v1::Slice wire;
  wire.set_begin_bytes(slice.begin_bytes);
  wire.set_end_bytes(slice.end_bytes);
  return wire;
}

StatusOr<store::Slice> Decode(const v1::Slice& slice) {
  if (slice.end_bytes() < slice.begin_bytes()) {
    return InvalidArgument("slice ends before it begins: [{}, {})", slice.begin_bytes(),
                           slice.end_bytes());
  }
  return store::Slice{slice.begin_bytes(), slice.end_bytes()};
}

v1::Layout Encode(const store::Layout& layout) {
  v1::Layout wire;
  for (const store::TensorPlace& place : layout.tensors()) {
    v1::TensorSpec& tensor = *wire.add_tensors();
    tensor.set_name(place.spec.name);
    for (const int64_t size : place.spec.shape) tensor.add_shape(size);
    tensor.set_type(EncodeEnum(kDataTypes, place.spec.type));
    tensor.set_kind(EncodeEnum(kTensorKinds, place.spec.kind));
  }
  return wire;
}

StatusOr<store::Layout> Decode(const v1::Layout& layout) {
  if (layout.tensors().empty()) return store::Layout();  // An evaluator may send none.
  std::vector<store::TensorSpec> tensors;
  tensors.reserve(layout.tensors_size());
  for (const v1::TensorSpec& wire : layout.tensors()) {
    store::TensorSpec tensor{.name = wire.name(),
                             .shape = {wire.shape().begin(), wire.shape().end()}};
    PACELINE_ASSIGN_OR_RETURN(tensor.type,
                              DecodeEnum(kDataTypes, wire.type(), "type of tensor " + wire.name()));
    PACELINE_ASSIGN_OR_RETURN(
        tensor.kind, DecodeEnum(kTensorKinds, wire.kind(), "kind of tensor " + wire.name()));
    tensors.push_back(std::move(tensor));
  }
  return store::Layout::Create(tensors);
}

v1::Exactness Encode(sync::Exactness exactness) { return EncodeEnum(kExactness, exactness); }

StatusOr<sync::Exactness> Decode(v1::Exactness exactness) {
  return DecodeEnum(kExactness, exactness, "exactness");
}

}  // namespace paceline::rpc

#include "lib/rpc/bulk/grpc_begun_push.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lib/rpc/bulk/answers.h"
#include "lib/store/kernels.h"
#include "lib/store/slice_parts.h"

namespace paceline::rpc {
namespace {

// What is copied is read next by the kernel, and more than a cache holds comes in between.
void CopyOut(std::span<const std::byte> from, std::span<std::byte> to) {
  const size_t floats = from.size() / sizeof(float) * sizeof(float);
  store::StreamCopy(store::View<float>(from, 0, floats), store::View<float>(to, 0, floats));
  if (floats < from.size()) std::memcpy(&to[floats], &from[floats], from.size() - floats);
}

}  // namespace

GrpcBegunPush::GrpcBegunPush(Options options, std::shared_ptr<std::byte[]> memory)
    : options_(std::move(options)), memory_(std::move(memory)) {
  Begin();
}

GrpcBegunPush::~GrpcBegunPush() {
  making_.is_given_up = true;
  JoinSender();
}

void GrpcBegunPush::Begin() {
  ChunkHeader header = options_.header;
  header.transfer = options_.streams->NextTransfer();
  transfers_.clear();
  for (const store::Slice& slice : options_.slices) {
    transfers_.emplace_back(header, SliceOf(slice), options_.chunk_bytes);
  }
}

std::span<uint16_t> GrpcBegunPush::Rounded(uint64_t begin, uint64_t end) const {
  return {reinterpret_cast<uint16_t*>(memory_.get() + begin / 2), (end - begin) / sizeof(float)};
}

OutgoingSlice GrpcBegunPush::SliceOf(const store::Slice& slice) const {
  const uint64_t rounded = RoundedPart(options_.rounded_end, slice);
  return {.bytes = bytes().subspan(slice.begin_bytes, slice.size_bytes()),
          .rounded = std::as_bytes(Rounded(slice.begin_bytes, slice.begin_bytes + rounded)),
          .owner = memory_};
}

void GrpcBegunPush::Keep(uint64_t offset_bytes, std::span<const std::byte> part) {
  const uint64_t end = offset_bytes + part.size();
  const uint64_t rounded_end = std::clamp(options_.rounded_end, offset_bytes, end);
  const uint64_t rounded = rounded_end - offset_bytes;
  store::RoundToBfloat16(store::View<float>(part, 0, rounded), Rounded(offset_bytes, rounded_end));
  CopyOut(part.subspan(rounded), bytes().subspan(rounded_end, end - rounded_end));
}

void GrpcBegunPush::Put(uint64_t offset_bytes, std::span<const std::byte> part) {
  const uint64_t end_bytes = offset_bytes + part.size();
  const bool is_cut = options_.rounded_end > 0 && (offset_bytes | end_bytes) % sizeof(float) != 0;
  if (end_bytes > total_bytes() || end_bytes < offset_bytes || is_cut ||
      !coverage_.Add(offset_bytes, end_bytes)) {
    is_spoilt_ = true;
    return;
  }
  if (part.empty()) return;
  Keep(offset_bytes, part);
  gathered_.emplace_back(offset_bytes, end_bytes);
  gathered_bytes_ += part.size();
  if (gathered_bytes_ < options_.bucket_bytes || is_spoilt_) return;
  AddGathered();
  if (sender_.joinable()) return options_.streams->Wake();
  sender_ = std::thread([this] { sent_ = Run(&making_); });
}

// What lies side by side travels as one.
void GrpcBegunPush::AddGathered() {
  std::ranges::sort(gathered_);
  for (size_t i = 0; i < gathered_.size();) {
    Stretch stretch = gathered_[i++];
    while (i < gathered_.size() && gathered_[i].first == stretch.second)
      stretch.second = gathered_[i++].second;
    Add(stretch);
  }
  gathered_.clear();
  gathered_bytes_ = 0;
}

void GrpcBegunPush::Add(Stretch stretch) {
  for (size_t rank = 0; rank < transfers_.size(); ++rank) {
    const store::Slice& slice = options_.slices[rank];
    const uint64_t begin = std::max(stretch.first, slice.begin_bytes);
    const uint64_t end = std::min(stretch.second, slice.end_bytes);
    if (begin < end) transfers_[rank].Add(begin - slice.begin_bytes, end - slice.begin_bytes);
  }
}

void GrpcBegunPush::End() {
  for (GrowingPush& transfer : transfers_) transfer.End();
}

StatusOr<PushReport> GrpcBegunPush::Seal() {
  if (is_spoilt_ || !coverage_.IsComplete(total_bytes()))
    return InvalidArgument("each byte of a push is put once: {} bytes", total_bytes());
  const bool is_again = std::exchange(is_tried_, true);
  if (is_again) {  // All of it, under the same identity.
    Begin();
    Add({0, total_bytes()});
  } else {
    AddGathered();
  }
  End();
  making_.is_whole = true;
  const bool is_under_way = sender_.joinable();
  JoinSender();
  PACELINE_RETURN_IF_ERROR(is_under_way ? sent_ : Run(nullptr));
  return Report();
}

Status GrpcBegunPush::Run(const Making* making) {
  std::vector<Transfer*> moving;
  for (GrowingPush& transfer : transfers_) moving.push_back(&transfer);
  return options_.streams->Run(moving, options_.patience, nullptr, making);
}

void GrpcBegunPush::JoinSender() {
  if (!sender_.joinable()) return;
  options_.streams->Wake();
  sender_.join();
}

PushReport GrpcBegunPush::Report() const {
  PushReport report;
  for (const GrowingPush& transfer : transfers_)
    AddReceipt(transfer.receipt().block_squared_norms(), transfer.receipt().is_finite(), report);
  if (options_.rounded_end > 0) report.wire_bytes = total_bytes() - options_.rounded_end / 2;
  if (!report.is_finite) report.non_finite_at = FirstNonFinite();
  return report;
}

std::optional<uint64_t> GrpcBegunPush::FirstNonFinite() const {
  constexpr uint16_t kExponent = 0x7f80;
  const std::span<const uint16_t> rounded = Rounded(0, options_.rounded_end);
  const auto is_bad = [](uint16_t number) { return (number & kExponent) == kExponent; };
  if (const auto bad = std::ranges::find_if(rounded, is_bad); bad != rounded.end())
    return sizeof(float) * (bad - rounded.begin());
  const auto floats = store::View<float>(bytes(), options_.rounded_end, options_.parts.floats_end);
  const auto bad = std::ranges::find_if(floats, [](float x) { return !std::isfinite(x); });
  if (bad == floats.end()) return std::nullopt;
  return options_.rounded_end + sizeof(float) * (bad - floats.begin());
}

}  // namespace paceline::rpc

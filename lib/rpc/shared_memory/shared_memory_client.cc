#include "lib/rpc/shared_memory/shared_memory_client.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "lib/rpc/bulk/answers.h"
#include "lib/rpc/bulk/coverage.h"
#include "lib/rpc/control/codec_values.h"
#include "lib/rpc/shared_memory/in_shares.h"
#include "lib/rpc/shared_memory/judged_copy.h"
#include "lib/rpc/shared_memory/memory_way.h"
#include "lib/store/layout.h"
#include "lib/telemetry/log.h"

namespace paceline::rpc {
namespace {

// Below, copying costs less than the page tables of a place.
constexpr uint64_t kHeldBytesMin = 1 << 20;
// The newest two versions, one in the making, one that somebody holds; of two shards out of step.
constexpr size_t kPlacesMax = 16;
constexpr uint64_t kCacheLineBytes = 64;
constexpr const char* kIsWritten = "the model writes to its own parameters";
constexpr uint64_t kHoldsKept = 64;  // A place that was not used for so many holds goes.

void Copy(std::span<const std::byte> from, std::span<std::byte> to, int threads) {
  if (from.empty()) return;
  InShares(0, from.size(), kCacheLineBytes, threads, [&](uint64_t begin, uint64_t end) {
    std::memcpy(&to[begin], &from[begin], end - begin);
  });
}

}  // namespace

// One way to, or from, all shards.
struct SharedMemoryClient::Way {
  explicit Way(const SharedMemoryClientOptions& options, Mapping::Access access) {
    for (const protocol::ShardAddress& shard : options.shards) {
      by_rank.emplace_back(MemoryWay::Options{.shard = shard,
                                              .access = access,
                                              .idle_timeout = options.idle_timeout,
                                              .is_cancelled = options.is_cancelled});
    }
  }

  // Asks all before it waits for one. What is refused comes second; an error of the connection
  // first, and then no connection has an answer under way any more.
  Status AskAll(const std::function<v1::MemoryRequest(MemoryWay&)>& request) {
    Status status;
    for (MemoryWay& way : by_rank) {
      if (status.ok()) status = way.Ask(request(way));
    }
    return Settle(status);
  }
  Status HearAll() {
    Status status;
    for (MemoryWay& way : by_rank) {
      if (status.ok()) status = way.Hear();
    }
    PACELINE_RETURN_IF_ERROR(Settle(status));
    for (const MemoryWay& way : by_rank) PACELINE_RETURN_IF_ERROR(way.refusal());
    return OkStatus();
  }
  Status Settle(const Status& status) {
    if (!status.ok()) {
      for (MemoryWay& way : by_rank) way.Close();
    }
    return status;
  }

  std::vector<MemoryWay> by_rank;
};

// A push with memory of its own at each shard, or a receipt of an earlier attempt.
class SharedMemoryClient::StagedPush final : public BegunPush {
 public:
  // `pushes` outlives this.
  StagedPush(Way* pushes, uint64_t total_bytes, int threads,
             std::vector<std::optional<JudgedCopy>> parts)
      : pushes_(pushes), total_bytes_(total_bytes), threads_(threads), parts_(std::move(parts)) {}

  bool has_answers() const {
    return std::ranges::any_of(parts_, [](const auto& part) { return !part; });
  }

  void Put(uint64_t offset_bytes, std::span<const std::byte> part) override {
    const uint64_t end_bytes = offset_bytes + part.size();
    if (end_bytes > total_bytes_ || !coverage_.Add(offset_bytes, end_bytes)) {
      is_spoilt_ = true;
      return;
    }
    for (size_t rank = 0; rank < parts_.size(); ++rank) {
      const store::Slice& slice = pushes_->by_rank[rank].slice();
      const uint64_t begin = std::max(offset_bytes, slice.begin_bytes);
      const uint64_t end = std::min(end_bytes, slice.end_bytes);
      if (begin >= end || !parts_[rank]) continue;
      const auto put = [&](uint64_t from, uint64_t to) {
        const uint64_t at = from + slice.begin_bytes - offset_bytes;
        parts_[rank]->Put(from, part.subspan(at, to - from));
      };
      InShares(begin - slice.begin_bytes, end - slice.begin_bytes, store::kBlockBytes, threads_,
               put);
    }
  }

  StatusOr<PushReport> Seal() override {
    if (is_spoilt_ || !coverage_.IsComplete(total_bytes_))
      return InvalidArgument("each byte of a push is put once: {} bytes", total_bytes_);
    for (size_t rank = 0; rank < parts_.size(); ++rank) {
      if (!parts_[rank]) continue;
      MemoryWay& way = pushes_->by_rank[rank];
      const store::Receipt judged = parts_[rank]->Finish();
      v1::MemoryRequest request;
      request.mutable_seal()->set_ticket(way.answer().ticket());
      v1::PushReceipt& receipt = *request.mutable_seal()->mutable_judged();
      receipt.mutable_block_squared_norms()->Add(judged.block_squared_norms.begin(),
                                                 judged.block_squared_norms.end());
      receipt.set_is_finite(judged.is_finite);
      PACELINE_RETURN_IF_ERROR(pushes_->Settle(way.Ask(request)));
    }
    for (MemoryWay& way : pushes_->by_rank) {
      if (way.is_asked()) PACELINE_RETURN_IF_ERROR(pushes_->Settle(way.Hear()));
    }
    PushReport report;
    for (const MemoryWay& way : pushes_->by_rank) {
      PACELINE_RETURN_IF_ERROR(way.refusal());
      const v1::PushReceipt& receipt = way.answer().receipt();
      AddReceipt(receipt.block_squared_norms(), receipt.is_finite(), report);
    }
    for (size_t rank = 0; !report.is_finite && rank < parts_.size(); ++rank) {
      if (report.non_finite_at || !parts_[rank]) continue;
      const std::optional<uint64_t> at = parts_[rank]->FirstNonFinite();
      if (at) report.non_finite_at = pushes_->by_rank[rank].slice().begin_bytes + *at;
    }
    return report;
  }

 private:
  Way* const pushes_;
  const uint64_t total_bytes_;
  const int threads_;
  std::vector<std::optional<JudgedCopy>> parts_;  // By rank; none where the shard has the push.
  Coverage coverage_;
  bool is_spoilt_ = false;
};

StatusOr<std::unique_ptr<SharedMemoryClient>> SharedMemoryClient::Create(
    SharedMemoryClientOptions options, std::unique_ptr<ParameterClient>& sockets) {
  if (options.shards.empty()) return InvalidArgument("there are no shards");
  std::unique_ptr<SharedMemoryClient> client(new SharedMemoryClient(std::move(options)));
  for (MemoryWay& way : client->pulls_->by_rank) PACELINE_RETURN_IF_ERROR(way.Open());
  client->sockets_ = std::move(sockets);
  return client;
}

SharedMemoryClient::SharedMemoryClient(SharedMemoryClientOptions options)
    : options_(std::move(options)),
      total_bytes_(options_.shards.back().slice.end_bytes),
      pushes_(std::make_unique<Way>(options_, Mapping::Access::kWrite)),
      pulls_(std::make_unique<Way>(options_, Mapping::Access::kRead)) {}

// A shard never uses memory again that somebody may still read when his connection ends: it has to
// hear, before that, that this one does not.
SharedMemoryClient::~SharedMemoryClient() {
  if (!held_) return;
  for (size_t rank = 0; rank < held_->regions.size(); ++rank)
    if (HasStill(held_->regions[rank], rank))
      (void)pulls_->by_rank[rank].BeginRelease(held_->regions[rank].region);
}

bool SharedMemoryClient::HasStill(const RegionName& name, size_t rank) const {
  const MemoryWay& way = pulls_->by_rank[rank];
  return name.region != 0 && way.is_open() && way.connection() == name.connection;
}

bool SharedMemoryClient::IsToUseSockets(const Status& status) {
  if (status.code() != StatusCode::kUnimplemented) return false;
  if (!has_no_memory_.exchange(true)) {
    telemetry::Log(telemetry::LogLevel::kWarning, "shared memory is given up for sockets",
                   {{"why", Message(status)}});
  }
  return true;
}

Status SharedMemoryClient::Fill(WorkerId worker, Incarnation incarnation,
                                std::span<const std::byte> payload,
                                std::shared_ptr<const void> owner) {
  return sockets_->Fill(worker, incarnation, payload, std::move(owner));
}

StatusOr<std::unique_ptr<SharedMemoryClient::StagedPush>> SharedMemoryClient::Stage(
    const store::PushId& push) {
  PACELINE_RETURN_IF_ERROR(pushes_->AskAll([&](MemoryWay& way) {
    v1::MemoryRequest request;
    *request.mutable_stage()->mutable_generation() = Encode(options_.generation);
    *request.mutable_stage()->mutable_push() = Encode(push);
    request.mutable_stage()->set_total_bytes(way.slice().size_bytes());
    return request;
  }));
  PACELINE_RETURN_IF_ERROR(pushes_->HearAll());
  std::vector<std::optional<JudgedCopy>> parts;
  for (MemoryWay& way : pushes_->by_rank) {
    const v1::MemoryAnswer& answer = way.answer();
    if (answer.has_receipt()) {  // Of an earlier attempt.
      parts.emplace_back();
      continue;
    }
    const StatusOr<std::span<std::byte>> place = way.Memory();
    if (!place.ok()) return pushes_->Settle(place.status());
    parts.emplace_back(std::in_place,
                       store::SliceParts{answer.parameters_end(), answer.floats_end(),
                                         answer.integers_begin(), way.slice().size_bytes()},
                       *place);
  }
  return std::make_unique<StagedPush>(pushes_.get(), total_bytes_, options_.threads,
                                      std::move(parts));
}

std::unique_ptr<BegunPush> SharedMemoryClient::BeginPush(const store::PushId& push) {
  if (has_no_memory_) return nullptr;
  StatusOr<std::unique_ptr<StagedPush>> staged = Stage(push);
  if (staged.ok() && !(*staged)->has_answers()) return *std::move(staged);
  if (!staged.ok()) (void)IsToUseSockets(staged.status());
  return nullptr;
}

std::optional<StatusOr<PushReport>> SharedMemoryClient::TryPush(
    const store::PushId& push, std::span<const std::byte> payload) {
  if (const Status size = CheckSize("push", payload.size(), total_bytes_); !size.ok()) return size;
  if (has_no_memory_) return std::nullopt;
  StatusOr<std::unique_ptr<StagedPush>> staged = Stage(push);
  if (staged.ok()) {
    (*staged)->Put(0, payload);
    return (*staged)->Seal();
  }
  if (!IsToUseSockets(staged.status())) return staged.status();
  return std::nullopt;
}

StatusOr<PushReport> SharedMemoryClient::Push(const store::PushId& push,
                                              std::span<const std::byte> payload,
                                              std::shared_ptr<const void> owner) {
  if (auto report = TryPush(push, payload)) return *std::move(report);
  return sockets_->Push(push, payload, std::move(owner));
}

StatusOr<PushReport> SharedMemoryClient::PushExactly(const store::PushId& push,
                                                     std::span<const std::byte> payload,
                                                     std::shared_ptr<const void> owner) {
  if (auto report = TryPush(push, payload)) return *std::move(report);
  return sockets_->PushExactly(push, payload, std::move(owner));
}

StatusOr<PullReport> SharedMemoryClient::PullNamed(Version version, sync::Exactness exactness,
                                                   std::span<std::byte> into,
                                                   const OnNamed& on_named) {
  PACELINE_RETURN_IF_ERROR(CheckSize("place to pull into", into.size(), total_bytes_));
  PACELINE_RETURN_IF_ERROR(HoldInstead(std::nullopt));
  if (!has_no_memory_) {
    StatusOr<PullReport> report = TryPull(version, exactness, into, on_named);
    if (report.ok() || !IsToUseSockets(report.status())) return report;
  }
  return sockets_->PullNamed(version, exactness, into, on_named);
}

StatusOr<PullReport> SharedMemoryClient::AskFor(Version version, sync::Exactness exactness) {
  PACELINE_RETURN_IF_ERROR(pulls_->AskAll([&](MemoryWay&) {
    v1::MemoryRequest request;
    *request.mutable_pull()->mutable_generation() = Encode(options_.generation);
    request.mutable_pull()->set_version(version.value());
    request.mutable_pull()->set_exactness(Encode(exactness));
    request.mutable_pull()->set_is_average(options_.pulls_average);
    return request;
  }));
  PACELINE_RETURN_IF_ERROR(pulls_->HearAll());
  PullReport report;
  bool is_first = true;
  for (const MemoryWay& way : pulls_->by_rank) {
    if (!way.answer().is_superseded())
      PACELINE_RETURN_IF_ERROR(CheckAverage(options_.pulls_average, way.answer().is_average()));
    AddAnswer(std::exchange(is_first, false), way.answer().is_superseded(),
              Version(way.answer().version()), report);
  }
  return report;
}

// Only once the shards have heard that it is read is it sure that it was theirs until then. All
// hear it: what one keeps for nobody counts against the next pulls.
Status SharedMemoryClient::ReleaseAnswers() {
  Status status;
  for (MemoryWay& way : pulls_->by_rank) {
    if (!way.is_open() || way.answer().region() == 0) continue;
    const RegionName region{way.connection(), way.answer().region()};
    const Status released = way.Release(region.region);
    // It is one hold, whoever asks.
    const auto rank = static_cast<size_t>(&way - pulls_->by_rank.data());
    if (held_ && held_->regions[rank] == region) held_->regions[rank] = {};
    if (status.ok()) status = released;
  }
  return status;
}

StatusOr<PullReport> SharedMemoryClient::TryPull(Version version, sync::Exactness exactness,
                                                 std::span<std::byte> into,
                                                 const OnNamed& on_named) {
  const StatusOr<PullReport> report = AskFor(version, exactness);
  Status status = report.status();
  if (report.ok() && !report->is_superseded) {
    // Mapped before it is named: what is named is not asked for again.
    for (MemoryWay& way : pulls_->by_rank) {
      if (status.ok()) status = way.Memory().status();
    }
    if (status.ok() && on_named) on_named();
    for (MemoryWay& way : pulls_->by_rank) {
      if (!status.ok()) break;
      const store::Slice slice = way.slice();
      Copy(*way.Memory(), into.subspan(slice.begin_bytes, slice.size_bytes()), options_.threads);
    }
  }
  const Status released = ReleaseAnswers();
  PACELINE_RETURN_IF_ERROR(status);
  PACELINE_RETURN_IF_ERROR(released);
  return report;
}

StatusOr<std::optional<PullReport>> SharedMemoryClient::Hold(Version version,
                                                             sync::Exactness exactness,
                                                             const OnHeld& on_held) {
  if (has_no_memory_ || total_bytes_ < kHeldBytesMin || ++holds_ < holds_again_at_)
    return std::optional<PullReport>();
  if (held_ && held_->place->is_spoilt()) {
    HoldNoMore(kIsWritten);
    return std::optional<PullReport>();
  }
  StatusOr<std::optional<PullReport>> held = TryHold(version, exactness, on_held);
  if (!held.ok() && IsToUseSockets(held.status())) return std::optional<PullReport>();
  return held;
}

StatusOr<std::optional<PullReport>> SharedMemoryClient::TryHold(Version version,
                                                                sync::Exactness exactness,
                                                                const OnHeld& on_held) {
  const StatusOr<PullReport> report = AskFor(version, exactness);
  StatusOr<std::optional<Room>> room = std::optional<Room>();
  if (report.ok() && !report->is_superseded) room = RoomOfAnswers();
  if (room.ok() && *room && on_held((*room)->place)) {
    PACELINE_RETURN_IF_ERROR(HoldInstead(*std::move(room)));
    return std::optional(*report);
  }
  const Status released = ReleaseAnswers();
  PACELINE_RETURN_IF_ERROR(report.status());
  PACELINE_RETURN_IF_ERROR(room.status());
  PACELINE_RETURN_IF_ERROR(released);
  if (report->is_superseded) return std::optional(*report);
  return std::optional<PullReport>();
}

Status SharedMemoryClient::HoldInstead(std::optional<Room> room) {
  const std::optional<Room> former = std::exchange(held_, std::move(room));
  if (!former) return OkStatus();
  if (former->place->is_spoilt()) HoldNoMore(kIsWritten);
  Status status;
  for (size_t rank = 0; rank < former->regions.size(); ++rank) {
    const RegionName& region = former->regions[rank];
    const bool is_held_still = held_ && held_->regions[rank] == region;  // One hold, whoever asks.
    if (is_held_still || !HasStill(region, rank)) continue;
    const Status released = pulls_->by_rank[rank].Release(region.region);
    if (status.ok()) status = released;
  }
  return status;
}

StatusOr<std::optional<SharedMemoryClient::Room>> SharedMemoryClient::RoomOfAnswers() {
  std::vector<RegionName> regions;
  for (const MemoryWay& way : pulls_->by_rank)
    regions.push_back({way.connection(), way.answer().region()});
  const auto known = std::ranges::find(rooms_, regions, &Room::regions);
  if (known != rooms_.end()) {
    std::rotate(known, known + 1, rooms_.end());
  } else {
    std::erase_if(rooms_, [&](const Room& room) {
      for (size_t rank = 0; rank < regions.size(); ++rank)
        if (room.regions[rank].connection != regions[rank].connection) return true;
      return false;
    });
    if (rooms_.size() == kPlacesMax && rooms_.front().used_at + kHoldsKept > holds_) {
      // Shards of versions that differ have more pairs of regions than there is to gain by.
      holds_again_at_ = holds_ + kHoldsKept;
      return std::optional<Room>();
    }
    if (rooms_.size() == kPlacesMax) rooms_.erase(rooms_.begin());
    PACELINE_ASSIGN_OR_RETURN(std::shared_ptr<VersionRoom> place, MakeRoom());
    if (place == nullptr) return std::optional<Room>();
    rooms_.push_back({.regions = std::move(regions), .place = std::move(place)});
  }
  rooms_.back().used_at = holds_;
  return std::optional(rooms_.back());
}

StatusOr<std::shared_ptr<VersionRoom>> SharedMemoryClient::MakeRoom() {
  std::vector<telemetry::OwnedSocket> memory(pulls_->by_rank.size());
  std::vector<VersionRoom::Part> parts;
  for (size_t rank = 0; rank < memory.size(); ++rank) {
    MemoryWay& way = pulls_->by_rank[rank];
    parts.push_back({.slice = way.slice()});
    if (way.answer().region() == 0) continue;
    PACELINE_ASSIGN_OR_RETURN(memory[rank], way.Descriptor());
    parts.back().memory = &memory[rank];
  }
  StatusOr<std::unique_ptr<VersionRoom>> place = VersionRoom::Of(parts);
  if (place.ok()) return std::shared_ptr<VersionRoom>(*std::move(place));
  HoldNoMore(Message(place.status()));
  return std::shared_ptr<VersionRoom>();
}

void SharedMemoryClient::HoldNoMore(const std::string& why) {
  constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
  rooms_.clear();
  if (std::exchange(holds_again_at_, kNever) == kNever) return;
  telemetry::Log(telemetry::LogLevel::kInfo, "versions are copied, not computed on in their place",
                 {{"why", why}});
}

}  // namespace paceline::rpc

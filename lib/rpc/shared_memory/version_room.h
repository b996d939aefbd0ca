// Defines VersionRoom: a range of addresses at which the slices of one version stand side by side,
// as the layout has them, in the memory in which the shards have published them.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lib/base/status.h"
#include "lib/rpc/bulk/version_place.h"
#include "lib/rpc/shared_memory/page_range.h"
#include "lib/rpc/shared_memory/written_pages.h"
#include "lib/store/layout.h"
#include "lib/telemetry/listening_socket.h"

namespace paceline::rpc {

// What is written to it stays in this process, page by page (as after fork).
//
// Whoever computes in the place of the room itself (`values`) writes there seldom, and the room is
// then spoilt: what was written stands there for all later versions, too. Such a write is noticed
// by the fault that it causes, whoever writes: the process' handler for SIGSEGV is put before the
// one that is there, which gets every other fault. Whoever has the room move elsewhere needs no
// handler: pages that are written there are looked for afterwards, and dropped.
//
// One owner; is_spoilt is thread-safe.
class VersionRoom final : public VersionPlace {
 public:
  struct Part {
    store::Slice slice;
    const telemetry::OwnedSocket* memory = nullptr;  // A region's descriptor. Null: an empty slice.
  };

  // Slices in order, without gaps. InvalidArgument if a slice begins within a page, or a region is
  // not sealed against shrinking or too small; ResourceExhausted if the kernel has no room. Pages
  // are fetched here.
  static StatusOr<std::unique_ptr<VersionRoom>> Of(const std::vector<Part>& parts);
  ~VersionRoom() override;
  VersionRoom(const VersionRoom&) = delete;
  VersionRoom& operator=(const VersionRoom&) = delete;

  static constexpr size_t kRoomsMax = 32;  // Of a process, to compute in.

  std::span<const std::byte> bytes() const override { return {range_.begin(), size_bytes_}; }
  // Empty if there are kRoomsMax.
  std::span<std::byte> values() override;
  // ResourceExhausted too where the kernel does not tell which pages are written.
  Status MoveTo(std::byte* there, size_t size_bytes) override;
  void ComeBack() override;
  // Written to in its own place; or so much elsewhere that a copy would have cost less.
  bool is_spoilt() const;

 private:
  VersionRoom(PageRange range, size_t size_bytes, std::vector<store::Slice> pieces)
      : range_(std::move(range)), size_bytes_(size_bytes), pieces_(std::move(pieces)) {}
  // The part of a piece that moves with so many bytes: as many, from the piece's begin on.
  static size_t Moves(const store::Slice& piece, size_t size_bytes);

  const PageRange range_;
  const size_t size_bytes_;
  const std::vector<store::Slice> pieces_;  // What is one mapping each.
  std::optional<size_t> guarded_;           // Its place among those that the handler knows.
  std::optional<WrittenPages> written_;     // Once it may be written to elsewhere.
  std::byte* there_ = nullptr;              // Where it has moved to...
  size_t moved_bytes_ = 0;                  // ...and how much of it.
  std::atomic<bool> is_much_written_ = false;
};

}  // namespace paceline::rpc

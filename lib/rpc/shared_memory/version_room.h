// Defines VersionRoom: a range of addresses at which the slices of one version stand side by side,
// as the layout has them, in the memory in which the shards have published them.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "lib/base/status.h"
#include "lib/store/layout.h"
#include "lib/telemetry/listening_socket.h"

namespace paceline::rpc {

// What is written to it stays in this process, page by page (as after fork), and the room is then
// spoilt: what was written stands there for all later versions, too. A write is noticed by the
// fault that it causes, whoever writes: the process' handler for SIGSEGV is put before the one that
// is there, which gets every other fault. One owner; is_spoilt is thread-safe.
class VersionRoom {
 public:
  struct Part {
    store::Slice slice;
    const telemetry::OwnedSocket* memory = nullptr;  // A region's descriptor. Null: an empty slice.
  };

  // Slices in order, without gaps. InvalidArgument if a slice begins within a page, or a region is
  // not sealed against shrinking or too small; ResourceExhausted if the kernel has no room, or
  // there are kRoomsMax in the process. Pages are fetched here.
  static StatusOr<std::unique_ptr<VersionRoom>> Of(const std::vector<Part>& parts);
  ~VersionRoom();
  VersionRoom(const VersionRoom&) = delete;
  VersionRoom& operator=(const VersionRoom&) = delete;

  static constexpr size_t kRoomsMax = 32;

  std::span<std::byte> values() const { return {begin_, size_bytes_}; }
  bool is_spoilt() const;

 private:
  VersionRoom(std::byte* begin, size_t size_bytes, size_t place)
      : begin_(begin), size_bytes_(size_bytes), place_(place) {}

  std::byte* const begin_;
  const size_t size_bytes_;
  const size_t place_;  // Among those that the handler knows.
};

}  // namespace paceline::rpc

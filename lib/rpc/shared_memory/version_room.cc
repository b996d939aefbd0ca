#include "lib/rpc/shared_memory/version_room.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include <sys/mman.h>

#include "lib/base/check.h"
#include "lib/base/size_text.h"
#include "lib/rpc/shared_memory/mapping.h"
#include "lib/store/region.h"

namespace paceline::rpc {
namespace {

// More threads than ever fault on a room at once; a fault that comes again and again is none of
// ours.
constexpr uint32_t kFaultsMax = 10'000;
// A page that is written costs as much as eight that are copied: a fault, a copy, and a fault again
// once it is dropped.
constexpr size_t kWrittenShare = 8;

// A room as the handler sees it, which may run at any moment on any thread: `begin` is set last and
// cleared first.
struct Guarded {
  std::atomic<uintptr_t> begin = 0;
  std::atomic<size_t> size_bytes = 0;
  std::atomic<uint32_t> faults = 0;
};
static_assert(std::atomic<uintptr_t>::is_always_lock_free);

std::array<Guarded, VersionRoom::kRoomsMax> guarded_rooms;
struct sigaction previous_action;

// Somebody writes to a room: the page becomes the process' own, and so does each that is written
// after it. Only what a handler may call.
void OnFault(int signal, siginfo_t* info, void* /*context*/) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (Guarded& room : guarded_rooms) {
    const uintptr_t begin = room.begin.load();
    if (begin == 0 || address < begin || address - begin >= room.size_bytes.load()) continue;
    if (info->si_code != SEGV_ACCERR || room.faults.fetch_add(1) >= kFaultsMax) break;
    const int saved = errno;
    const bool is_opened = ::mprotect(reinterpret_cast<void*>(begin), room.size_bytes.load(),
                                      PROT_READ | PROT_WRITE) == 0;
    errno = saved;
    if (is_opened) return;
  }
  // Faults again, and the handler before this one has it.
  ::sigaction(signal, &previous_action, nullptr);
}

void GuardWrites() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = OnFault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGSEGV, &action, &previous_action);
  });
}

Status NoRoom(size_t size_bytes) {
  return ResourceExhausted("no room for {} of a version: {}", SizeText(size_bytes),
                           std::generic_category().message(errno));
}

Status Map(std::byte* begin, const std::vector<VersionRoom::Part>& parts) {
  for (const VersionRoom::Part& part : parts) {
    if (part.memory == nullptr) continue;
    std::byte* const place = begin + part.slice.begin_bytes;
    if (reinterpret_cast<uintptr_t>(place) % store::PagesFor(1) != 0)
      return InvalidArgument("a slice begins within a page: {}", part.slice.begin_bytes);
    PACELINE_RETURN_IF_ERROR(CheckMappable(*part.memory, part.slice.size_bytes()));
    // Private: what this process writes is its own, and what it has not written is the shard's.
    if (::mmap(place, store::PagesFor(part.slice.size_bytes()), PROT_READ,
               MAP_PRIVATE | MAP_FIXED | MAP_POPULATE | MAP_NORESERVE, part.memory->get(),
               0) == MAP_FAILED) {
      return NoRoom(part.slice.size_bytes());
    }
  }
  return OkStatus();
}

// The place of a room that the handler is to know; nothing if there are too many.
std::optional<size_t> TakePlace(std::byte* begin, size_t size_bytes) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  for (size_t place = 0; place < guarded_rooms.size(); ++place) {
    Guarded& room = guarded_rooms[place];
    if (room.begin.load() != 0) continue;
    room.faults = 0;
    room.size_bytes = size_bytes;
    room.begin = reinterpret_cast<uintptr_t>(begin);
    return place;
  }
  return std::nullopt;
}

}  // namespace

StatusOr<std::unique_ptr<VersionRoom>> VersionRoom::Of(const std::vector<Part>& parts) {
  const size_t size_bytes = parts.empty() ? 0 : parts.back().slice.end_bytes;
  if (size_bytes == 0) return InvalidArgument("a version has no bytes");
  PACELINE_ASSIGN_OR_RETURN(PageRange range, PageRange::Of(size_bytes, PageRange::Holds::kNothing));
  PACELINE_RETURN_IF_ERROR(Map(range.begin(), parts));
  std::vector<store::Slice> pieces;
  for (const Part& part : parts)
    if (part.memory != nullptr) pieces.push_back(part.slice);
  return std::unique_ptr<VersionRoom>(
      new VersionRoom(std::move(range), size_bytes, std::move(pieces)));
}

VersionRoom::~VersionRoom() {
  if (guarded_) guarded_rooms[*guarded_].begin = 0;
}

std::span<std::byte> VersionRoom::values() {
  if (!guarded_) {
    GuardWrites();
    guarded_ = TakePlace(range_.begin(), size_bytes_);
  }
  if (!guarded_) return {};
  return {range_.begin(), size_bytes_};
}

size_t VersionRoom::Moves(const store::Slice& piece, size_t size_bytes) {
  if (piece.begin_bytes >= size_bytes) return 0;
  return std::min(store::PagesFor(piece.size_bytes()), size_bytes - piece.begin_bytes);
}

Status VersionRoom::MoveTo(std::byte* there, size_t size_bytes) {
  PACELINE_CHECK(!guarded_ && there_ == nullptr, "the room is in use");
  if (!written_) {
    WrittenPages written;
    if (!written.can_tell())
      return ResourceExhausted("the kernel does not tell which pages are written");
    if (::mprotect(range_.begin(), range_.size_bytes(), PROT_READ | PROT_WRITE) != 0)
      return NoRoom(range_.size_bytes());
    written_ = std::move(written);
  }
  for (const store::Slice& piece : pieces_) {
    const size_t moves = Moves(piece, size_bytes);
    if (moves == 0) continue;
    PACELINE_RETURN_IF_ERROR(
        MovePages(range_.begin() + piece.begin_bytes, there + piece.begin_bytes, moves));
  }
  there_ = there;
  moved_bytes_ = size_bytes;
  return OkStatus();
}

void VersionRoom::ComeBack() {
  std::byte* const there = std::exchange(there_, nullptr);
  PACELINE_CHECK(there != nullptr, "the room has not moved");
  size_t written = 0;
  for (const store::Slice& piece : pieces_) {
    const size_t moves = Moves(piece, moved_bytes_);
    if (moves == 0) continue;
    std::byte* const home = range_.begin() + piece.begin_bytes;
    // Pages that stay there are replaced together with their mapping, and these are fetched anew.
    if (MovePages(there + piece.begin_bytes, home, moves).ok())
      written += written_->Drop(home, moves);
  }
  const size_t pages = moved_bytes_ / store::PagesFor(1);
  if (written * kWrittenShare > pages) is_much_written_ = true;
}

bool VersionRoom::is_spoilt() const {
  return is_much_written_ || (guarded_ && guarded_rooms[*guarded_].faults.load() > 0);
}

}  // namespace paceline::rpc

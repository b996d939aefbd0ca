#include "lib/rpc/shared_memory/version_room.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <optional>
#include <system_error>

#include <sys/mman.h>

#include "lib/rpc/shared_memory/mapping.h"
#include "lib/store/region.h"

namespace paceline::rpc {
namespace {

// More threads than ever fault on a room at once; a fault that comes again and again is none of
// ours.
constexpr uint32_t kFaultsMax = 10'000;

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
  return ResourceExhausted("no room for {} bytes of a version: {}", size_bytes,
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
               MAP_PRIVATE | MAP_FIXED | MAP_POPULATE, part.memory->get(), 0) == MAP_FAILED) {
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
  const size_t reserved_bytes = store::PagesFor(size_bytes);
  void* const reserved =
      ::mmap(nullptr, reserved_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reserved == MAP_FAILED) return NoRoom(size_bytes);
  auto* const begin = static_cast<std::byte*>(reserved);
  Status status = Map(begin, parts);
  std::optional<size_t> place;
  if (status.ok()) {
    GuardWrites();
    place = TakePlace(begin, size_bytes);
    if (!place) status = ResourceExhausted("{} versions have rooms in this process", kRoomsMax);
  }
  if (!status.ok()) {
    ::munmap(reserved, reserved_bytes);
    return status;
  }
  return std::unique_ptr<VersionRoom>(new VersionRoom(begin, size_bytes, *place));
}

VersionRoom::~VersionRoom() {
  guarded_rooms[place_].begin = 0;
  ::munmap(begin_, store::PagesFor(size_bytes_));
}

bool VersionRoom::is_spoilt() const { return guarded_rooms[place_].faults.load() > 0; }

}  // namespace paceline::rpc

#include "lib/rpc/shared_memory/page_range.h"

#include <cerrno>
#include <cstdint>
#include <system_error>

#include <sys/mman.h>

#include "lib/base/size_text.h"
#include "lib/store/region.h"

namespace paceline::rpc {
namespace {

constexpr size_t kPageTableBytes = 2 << 20;  // That one table of pages tells of.

Status NoRoom(const char* what, size_t size_bytes) {
  return ResourceExhausted("no room to {} {}: {}", what, SizeText(size_bytes),
                           std::generic_category().message(errno));
}

}  // namespace

StatusOr<PageRange> PageRange::Of(size_t size_bytes, Holds holds) {
  const size_t wanted = store::PagesFor(size_bytes);
  const size_t reserved = wanted + kPageTableBytes;
  const int protection = holds == Holds::kZeros ? PROT_READ | PROT_WRITE : PROT_NONE;
  void* const mapped =
      ::mmap(nullptr, reserved, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return NoRoom("reserve", size_bytes);
  auto* const first = static_cast<std::byte*>(mapped);
  const size_t before = -reinterpret_cast<uintptr_t>(first) % kPageTableBytes;
  if (before > 0) ::munmap(first, before);
  ::munmap(first + before + wanted, reserved - before - wanted);
  return PageRange(first + before, wanted);
}

PageRange::~PageRange() {
  if (begin_ != nullptr) ::munmap(begin_, size_bytes_);
}

Status MovePages(std::byte* from, std::byte* to, size_t size_bytes) {
  constexpr int kHow = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
  if (::mremap(from, size_bytes, size_bytes, kHow, to) == MAP_FAILED)
    return NoRoom("move", size_bytes);
  return OkStatus();
}

}  // namespace paceline::rpc

#include "lib/rpc/shared_memory/written_pages.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/store/region.h"

namespace paceline::rpc {
namespace {

// Of an entry of /proc/self/pagemap, one for each page (Documentation/admin-guide/mm/pagemap.rst).
constexpr uint64_t kIsPresent = uint64_t{1} << 63;
constexpr uint64_t kIsSwapped = uint64_t{1} << 62;
constexpr uint64_t kIsOfFile = uint64_t{1} << 61;
constexpr size_t kEntriesAtOnce = 4096;

// A page of the file that is swapped out has no entry of its own.
bool IsWritten(uint64_t entry) {
  return (entry & kIsSwapped) != 0 || (entry & (kIsPresent | kIsOfFile)) == kIsPresent;
}

}  // namespace

WrittenPages::WrittenPages() : table_(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}

size_t WrittenPages::Drop(std::byte* begin, size_t size_bytes) const {
  const size_t page_bytes = store::PagesFor(1);
  const size_t pages = store::PagesFor(size_bytes) / page_bytes;
  const size_t first = reinterpret_cast<uintptr_t>(begin) / page_bytes;
  size_t written = 0;
  std::array<uint64_t, kEntriesAtOnce> entries;
  for (size_t page = 0; page < pages; page += entries.size()) {
    const size_t count = std::min(entries.size(), pages - page);
    const size_t wanted = count * sizeof(uint64_t);
    const auto at = static_cast<off_t>((first + page) * sizeof(uint64_t));
    if (::pread(table_.get(), entries.data(), wanted, at) != static_cast<ssize_t>(wanted)) {
      ::madvise(begin, pages * page_bytes, MADV_DONTNEED);
      return pages;
    }
    const auto end = entries.begin() + static_cast<std::ptrdiff_t>(count);
    for (auto from = std::find_if(entries.begin(), end, IsWritten); from != end;) {
      const auto to = std::find_if_not(from, end, IsWritten);
      const auto run = static_cast<size_t>(to - from);
      const size_t offset = page + static_cast<size_t>(from - entries.begin());
      ::madvise(begin + offset * page_bytes, run * page_bytes, MADV_DONTNEED);
      written += run;
      from = std::find_if(to, end, IsWritten);
    }
  }
  return written;
}

}  // namespace paceline::rpc

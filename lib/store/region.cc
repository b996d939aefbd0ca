#include "lib/store/region.h"

#include <atomic>
#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/size_text.h"

namespace paceline::store {
namespace {

#ifndef F_SEAL_FUTURE_WRITE
constexpr int F_SEAL_FUTURE_WRITE = 0x0010;  // Linux 5.1.
#endif

uint64_t NextId() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

std::string Words(int error) { return std::generic_category().message(error); }

// Closes it unless it is released.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  int get() const { return value_; }
  int Release() { return std::exchange(value_, -1); }

 private:
  int value_;
};

}  // namespace

size_t PagesFor(size_t size_bytes) {
  static const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return (size_bytes + page - 1) / page * page;
}

Region::Region(std::byte* data, size_t size_bytes, int descriptor)
    : data_(data), size_bytes_(size_bytes), descriptor_(descriptor), id_(NextId()) {}

Region::~Region() {
  if (data_ != nullptr) ::munmap(data_, PagesFor(size_bytes_));
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::unique_ptr<Region> Region::Private(size_t size_bytes, std::string why) {
  if (size_bytes == 0) return std::unique_ptr<Region>(new Region(nullptr, 0, -1));
  void* const mapped = ::mmap(nullptr, PagesFor(size_bytes), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  std::unique_ptr<Region> region(new Region(static_cast<std::byte*>(mapped), size_bytes, -1));
  region->why_private_ = std::move(why);
  return region;
}

StatusOr<std::unique_ptr<Region>> Region::Shareable(size_t size_bytes, Others others) {
  if (others == Others::kNobody || size_bytes == 0) return Private(size_bytes);
  const size_t pages = PagesFor(size_bytes);
  Descriptor memory(::memfd_create("paceline", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (memory.get() < 0) return ResourceExhausted("no shared memory: memfd: {}", Words(errno));
  if (::ftruncate(memory.get(), static_cast<off_t>(pages)) != 0)
    return ResourceExhausted("no shared memory of {}: {}", SizeText(pages), Words(errno));
  // Otherwise the want of memory would be a signal, when the page is written.
  if (::fallocate(memory.get(), 0, 0, static_cast<off_t>(pages)) != 0)
    return ResourceExhausted("no shared memory of {}: {}", SizeText(pages), Words(errno));
  void* const mapped =
      ::mmap(nullptr, pages, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, memory.get(), 0);
  if (mapped == MAP_FAILED)
    return ResourceExhausted("cannot map {} of shared memory: {}", SizeText(pages), Words(errno));
  std::unique_ptr<Region> region(
      new Region(static_cast<std::byte*>(mapped), size_bytes, memory.Release()));
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL |
                    (others == Others::kRead ? F_SEAL_FUTURE_WRITE : 0);
  if (::fcntl(region->descriptor_, F_ADD_SEALS, seals) != 0)
    return Unimplemented("cannot seal shared memory: {}", Words(errno));
  return region;
}

}  // namespace paceline::store

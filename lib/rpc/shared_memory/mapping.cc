#include "lib/rpc/shared_memory/mapping.h"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/base/size_text.h"
#include "lib/store/region.h"

namespace paceline::rpc {

Status CheckMappable(const telemetry::OwnedSocket& memory, size_t size_bytes) {
  struct stat file {};
  const int seals = ::fcntl(memory.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
    return InvalidArgument("shared memory is not sealed against shrinking");
  if (::fstat(memory.get(), &file) != 0 || static_cast<size_t>(file.st_size) < size_bytes) {
    return InvalidArgument("shared memory is too small: got {} bytes, want {}", file.st_size,
                           size_bytes);
  }
  return OkStatus();
}

StatusOr<Mapping> Mapping::Of(const telemetry::OwnedSocket& memory, size_t size_bytes,
                              Access access) {
  PACELINE_RETURN_IF_ERROR(CheckMappable(memory, size_bytes));
  const int protection = access == Access::kWrite ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const mapped = ::mmap(nullptr, store::PagesFor(size_bytes), protection,
                              MAP_SHARED | MAP_POPULATE, memory.get(), 0);
  if (mapped == MAP_FAILED) {
    return ResourceExhausted("cannot map {} of shared memory: {}", SizeText(size_bytes),
                             std::generic_category().message(errno));
  }
  return Mapping(static_cast<std::byte*>(mapped), size_bytes);
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, store::PagesFor(size_bytes_));
}

}  // namespace paceline::rpc

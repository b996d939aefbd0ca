#include "lib/files/mapped_file.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/files/disk.h"

namespace paceline::files {

StatusOr<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return FileError("open", path, errno);
  struct stat stat = {};
  void* mapping = nullptr;
  int error_number = 0;
  if (::fstat(descriptor, &stat) != 0) {
    error_number = errno;
  } else if (!S_ISREG(stat.st_mode)) {
    error_number = EISDIR;
  } else if (stat.st_size > 0) {  // An empty file cannot be mapped.
    mapping =
        ::mmap(nullptr, static_cast<size_t>(stat.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (mapping == MAP_FAILED) error_number = errno;
  }
  ::close(descriptor);
  if (error_number != 0) return FileError("read", path, error_number);
  return std::shared_ptr<const MappedFile>(
      new MappedFile({static_cast<const std::byte*>(mapping), static_cast<size_t>(stat.st_size)}));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace paceline::files

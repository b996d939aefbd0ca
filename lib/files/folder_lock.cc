#include "lib/files/folder_lock.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "lib/files/disk.h"

namespace paceline::files {
namespace {

constexpr size_t kNameBytesMax = 1024;

std::string NameIn(int descriptor) {
  std::string name(kNameBytesMax, 0);
  const ssize_t got = ::pread(descriptor, name.data(), name.size(), 0);
  name.resize(got > 0 ? static_cast<size_t>(got) : 0);
  name.resize(std::min(name.find('\n'), name.size()));
  return name.empty() ? "a process that has not said its name yet" : name;
}

}  // namespace

StatusOr<FolderLock> FolderLock::Take(const std::string& file, const std::string& owner) {
  // No link is followed, which others may have put there: what it led to would be written over.
  const int descriptor =
      ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (descriptor < 0) return FileError("open", file, errno);
  FolderLock lock(file, descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return FailedPrecondition("{}", NameIn(descriptor));
    return lock;
  }
  if (!IsStill(file, descriptor)) return FailedPrecondition("a process that has ended just now");
  lock.is_held_ = true;
  const std::string line = owner.substr(0, kNameBytesMax - 1) + "\n";
  if (::ftruncate(descriptor, 0) != 0 ||
      ::pwrite(descriptor, line.data(), line.size(), 0) != static_cast<ssize_t>(line.size())) {
    // On a full disk, say. It is ours without a name, too.
  }
  return lock;
}

std::string FolderLock::OwnerOf(const std::string& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return "";
  const bool is_taken = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  std::string owner = is_taken ? NameIn(descriptor) : "";
  ::close(descriptor);
  return owner;
}

FolderLock::FolderLock(FolderLock&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      is_held_(std::exchange(other.is_held_, false)) {}

FolderLock& FolderLock::operator=(FolderLock&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(is_held_, other.is_held_);
  return *this;
}

void FolderLock::RemoveFile() {
  if (is_held_ && IsStill(path_, descriptor_)) (void)::unlink(path_.c_str());
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace paceline::files

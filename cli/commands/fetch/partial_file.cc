#include "cli/commands/fetch/partial_file.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/check.h"
#include "lib/files/disk.h"

namespace paceline::commands {
namespace {

using files::FileError;

// Another user could change a file that they made, or that has a second name, after its digest was
// checked.
bool IsOursAlone(const struct stat& file) {
  return S_ISREG(file.st_mode) && file.st_nlink == 1 && file.st_uid == ::geteuid();
}

}  // namespace

StatusOr<PartialFile> PartialFile::Open(const std::string& path, store::FileDigest expected) {
  const std::string partial = fmt::format("{}.{}.partial", path, expected.sha256.substr(0, 12));
  // No link is followed: what it led to would be written over. A FIFO is not waited at.
  const int descriptor =
      ::open(partial.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (descriptor < 0 && errno == ELOOP)
    return InvalidArgument("{} is a symbolic link, and paceline makes none: remove it", partial);
  if (descriptor < 0) return FileError("open", partial, errno);
  PartialFile file(path, partial, std::move(expected), descriptor, 0);
  struct stat known {};
  if (::fstat(descriptor, &known) != 0) return FileError("look at", partial, errno);
  if (!IsOursAlone(known)) {
    return InvalidArgument(
        "{} is not a file of this user alone, which a download would go on with: remove it",
        partial);
  }
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 || !files::IsStill(partial, descriptor))
    return Aborted("somebody else fetches it just now, into {}", partial);
  // Its writer before us may have made it longer.
  if (::fstat(descriptor, &known) != 0) return FileError("look at", partial, errno);
  file.bytes_ = static_cast<uint64_t>(known.st_size);
  if (file.bytes_ > file.expected_.bytes) {
    if (::ftruncate(descriptor, 0) != 0) return FileError("shorten", partial, errno);
    file.bytes_ = 0;
  }
  return file;
}

PartialFile::PartialFile(std::string path, std::string partial_path, store::FileDigest expected,
                         int descriptor, uint64_t bytes)
    : path_(std::move(path)),
      partial_path_(std::move(partial_path)),
      expected_(std::move(expected)),
      descriptor_(descriptor),
      bytes_(bytes) {}

PartialFile::PartialFile(PartialFile&& other) noexcept
    : path_(std::move(other.path_)),
      partial_path_(std::move(other.partial_path_)),
      expected_(std::move(other.expected_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      bytes_(other.bytes_) {}

PartialFile::~PartialFile() {
  if (descriptor_ >= 0) ::close(descriptor_);  // And the lock with it.
}

Status PartialFile::Append(std::string_view piece) {
  PACELINE_CHECK(piece.size() <= bytes_missing(), "{} bytes more than there are",
                 piece.size() - bytes_missing());
  while (!piece.empty()) {
    const ssize_t written =
        ::pwrite(descriptor_, piece.data(), piece.size(), static_cast<off_t>(bytes_));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError("write", partial_path_, errno);
    bytes_ += static_cast<uint64_t>(written);
    piece.remove_prefix(static_cast<size_t>(written));
  }
  return OkStatus();
}

Status PartialFile::Commit() {
  PACELINE_CHECK(bytes_missing() == 0, "{} bytes are missing", bytes_missing());
  if (::fsync(descriptor_) != 0) return FileError("flush", partial_path_, errno);
  PACELINE_ASSIGN_OR_RETURN(const store::FileDigest digest, store::DigestFile(partial_path_));
  if (!files::IsStill(partial_path_, descriptor_))
    return Aborted("another process put another file in the place of {}", partial_path_);
  if (digest != expected_) {
    ::unlink(partial_path_.c_str());
    return DataLoss("what came is not the model: SHA-256 is {}, want {}; it was thrown away",
                    digest.sha256, expected_.sha256);
  }
  PACELINE_RETURN_IF_ERROR(files::SystemDisk().Rename(partial_path_, path_));
  return files::FlushFolder(files::ParentOf(path_));
}

}  // namespace paceline::commands

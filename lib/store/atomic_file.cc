#include "lib/store/atomic_file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace paceline::store {
namespace {

// So that the files that several threads write to one path do not meet.
std::atomic<uint64_t> files_made = 0;

}  // namespace

Status FileError(const char* what, const std::string& path, int error_number) {
  const std::string message =
      std::string(what) + " " + path + ": " + std::generic_category().message(error_number);
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return MakeStatus(StatusCode::kResourceExhausted, message);
    case ENOENT:
    case ENOTDIR:
      return MakeStatus(StatusCode::kNotFound, message);
    case EACCES:
    case EPERM:
    case EROFS:
      return MakeStatus(StatusCode::kPermissionDenied, message);
    case EISDIR:
      return MakeStatus(StatusCode::kInvalidArgument, message);
    default:
      return MakeStatus(StatusCode::kInternal, message);
  }
}

StatusOr<AtomicFile> AtomicFile::Create(const std::string& path) {
  std::string temporary = fmt::format("{}.{}.{}.tmp", path, ::getpid(), ++files_made);
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0) return FileError("create", temporary, errno);
  return AtomicFile(path, std::move(temporary), descriptor);
}

AtomicFile::AtomicFile(std::string path, std::string temporary, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status AtomicFile::Write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    // Linux writes 2 GiB at most in one call.
    const ssize_t written =
        ::write(descriptor_, bytes.data(), std::min<size_t>(bytes.size(), 1 << 30));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError("write", temporary_, errno);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return OkStatus();
}

Status AtomicFile::Commit() {
  if (::fsync(descriptor_) != 0) return FileError("flush", temporary_, errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) return FileError("close", temporary_, errno);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0)
    return FileError("rename to", path_, errno);
  temporary_.clear();
  std::string folder = std::filesystem::path(path_).parent_path().string();
  if (folder.empty()) folder = ".";
  const int folder_descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_descriptor < 0) return FileError("open", folder, errno);
  const int flushed = ::fsync(folder_descriptor);
  const int error_number = errno;
  ::close(folder_descriptor);
  if (flushed != 0) return FileError("flush", folder, error_number);
  return OkStatus();
}

}  // namespace paceline::store

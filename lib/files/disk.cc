#include "lib/files/disk.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace paceline::files {
namespace {

namespace fs = std::filesystem;

int FlagsFor(OpenFor what) {
  switch (what) {
    case OpenFor::kNew:
      return O_WRONLY | O_CREAT | O_EXCL;
    case OpenFor::kAppend:
      return O_WRONLY | O_CREAT | O_APPEND;
    case OpenFor::kOverwrite:
      return O_WRONLY | O_CREAT | O_TRUNC;
    case OpenFor::kFolder:
      return O_RDONLY | O_DIRECTORY;
  }
  return O_RDONLY;
}

// False if somebody who swept took the file for a leftover before it was locked. A disk without
// locks has no sweepers either (AtomicFile).
bool IsOurs(int descriptor) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
  struct stat stat = {};
  return ::fstat(descriptor, &stat) == 0 && stat.st_nlink > 0;
}

class Machine final : public Disk {
 public:
  StatusOr<OpenFile> Open(const std::string& path, OpenFor what) override {
    const int descriptor = ::open(path.c_str(), FlagsFor(what) | O_CLOEXEC, 0644);
    if (descriptor < 0) return FileError(what == OpenFor::kNew ? "create" : "open", path, errno);
    if (what == OpenFor::kNew && !IsOurs(descriptor)) {
      ::close(descriptor);
      return FileError("create", path, EEXIST);
    }
    return OpenFile{descriptor, path};
  }

  Status Write(const OpenFile& file, std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      // Linux writes 2 GiB at most in one call.
      const ssize_t written =
          ::write(file.descriptor, bytes.data(), std::min<size_t>(bytes.size(), 1 << 30));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return FileError("write", file.path, errno);
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
    return OkStatus();
  }

  Status Flush(const OpenFile& file) override {
    return ::fsync(file.descriptor) == 0 ? OkStatus() : FileError("flush", file.path, errno);
  }
  Status Close(const OpenFile& file) override {
    return ::close(file.descriptor) == 0 ? OkStatus() : FileError("close", file.path, errno);
  }
  Status Rename(const std::string& from, const std::string& to) override {
    return ::rename(from.c_str(), to.c_str()) == 0 ? OkStatus() : FileError("rename to", to, errno);
  }
  Status Remove(const std::string& path) override {
    return std::remove(path.c_str()) == 0 ? OkStatus() : FileError("remove", path, errno);
  }
  Status MakeFolder(const std::string& path) override {
    return ::mkdir(path.c_str(), 0777) == 0 ? OkStatus() : FileError("make", path, errno);
  }
};

}  // namespace

Disk& SystemDisk() {
  static Machine machine;
  return machine;
}

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
    case EEXIST:
      return MakeStatus(StatusCode::kAlreadyExists, message);
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

bool IsStill(const std::string& path, int descriptor) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(descriptor, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

std::string ParentOf(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

Status FlushFolder(const std::string& path, Disk& disk) {
  PACELINE_ASSIGN_OR_RETURN(const OpenFile folder, disk.Open(path, OpenFor::kFolder));
  const Status flushed = disk.Flush(folder);
  const Status closed = disk.Close(folder);
  return flushed.ok() ? closed : flushed;
}

Status MakeFolders(const std::string& path, Disk& disk) {
  std::error_code error;
  if (fs::is_directory(path, error)) return OkStatus();
  const std::string parent = ParentOf(path);
  if (parent != path) PACELINE_RETURN_IF_ERROR(MakeFolders(parent, disk));
  const Status made = disk.MakeFolder(path);
  // Another process, a shard of the same job, may have made it meanwhile.
  if (!made.ok() && !(made.code() == StatusCode::kAlreadyExists && fs::is_directory(path, error)))
    return made;
  return FlushFolder(parent, disk);
}

Status RemoveTree(const std::string& path, Disk& disk) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (status.type() == fs::file_type::not_found) return OkStatus();
  if (fs::is_directory(status)) {
    for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error))
      PACELINE_RETURN_IF_ERROR(RemoveTree(at->path().string(), disk));
  }
  if (error) return FileError("read", path, error.value());
  const Status removed = disk.Remove(path);
  return removed.code() == StatusCode::kNotFound ? OkStatus() : removed;
}

StatusOr<DiskSpace> SpaceOf(const std::string& path) {
  struct statvfs space = {};
  if (::statvfs(path.c_str(), &space) != 0) return FileError("look at", path, errno);
  return DiskSpace{uint64_t{space.f_blocks} * space.f_frsize,
                   uint64_t{space.f_bavail} * space.f_frsize};
}

}  // namespace paceline::files

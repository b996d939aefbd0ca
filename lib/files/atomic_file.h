// Defines AtomicFile, a file that is there whole or not at all, and how small files are written by
// it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "lib/base/status.h"
#include "lib/files/disk.h"

namespace paceline::files {

// Written beside `path` under a name of chance, PATH.0123456789abcdef.tmp, flushed, renamed, and
// the folder flushed: after a Commit that succeeded a crash of the machine takes nothing of it.
//
// Example:
//   PACELINE_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
//   PACELINE_RETURN_IF_ERROR(file.Write(bytes));
//   return file.Commit();
//
// One owner at a time. Errors as of Disk. Without a Commit that succeeded, `path` is as it was and
// nothing is left behind (only a failed flush of the folder itself leaves the new file in place).
class AtomicFile {
 public:
  // Sweeps first what dead writers of the same path have left: their names, and no lock on them.
  // `disk` outlives the file.
  static StatusOr<AtomicFile> Create(const std::string& path, Disk& disk = SystemDisk());
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  Status Write(std::span<const std::byte> bytes);
  // Flushes to the disk, renames to `path`, and flushes the folder.
  Status Commit();

 private:
  AtomicFile(std::string path, OpenFile file, Disk& disk);

  std::string path_;
  OpenFile file_;  // Descriptor -1: closed. Path empty: renamed.
  Disk* disk_;
};

// The whole of `path`, or nothing changes. A device or a pipe is written to.
Status WriteFile(const std::string& path, std::string_view text, Disk& disk = SystemDisk());

// For what cannot be renamed to, since it is a mount point or a device: in place, not flushed.
Status OverwriteFile(const std::string& path, std::string_view text, Disk& disk = SystemDisk());

}  // namespace paceline::files

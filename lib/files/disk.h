// Defines Disk: the system calls by which we change files, behind one seam.
//
// Whoever writes a file takes a Disk, so that tests can put in one that fails at a chosen call, or
// that forgets what was never flushed (testing/faulty_disk.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "lib/base/status.h"

namespace paceline::files {

enum class OpenFor {
  kNew,     // A file that there is not yet: AlreadyExists if there is one. Locked as its writer's
            // until it is closed, or its process ends: whatever has no lock is a leftover.
  kAppend,  // At the end of what is there; made where it is missing.
  kOverwrite,  // In place of what is there; made where it is missing.
  kFolder,     // Only to Flush it.
};

// Whoever opened it closes it.
struct OpenFile {
  int descriptor = -1;
  std::string path;
};

// Thread-safe. Errors: ResourceExhausted if the disk (or a quota, or the limit of a file's size) is
// full, NotFound if the folder is missing, PermissionDenied (a read-only disk too), InvalidArgument
// for a folder where a file is wanted, AlreadyExists, else Internal; always with the path and the
// system's words.
class Disk {
 public:
  virtual ~Disk() = default;
  virtual StatusOr<OpenFile> Open(const std::string& path, OpenFor what) = 0;
  virtual Status Write(const OpenFile& file, std::span<const std::byte> bytes) = 0;  // All of them.
  // Until then a crash of the machine loses what was written; of a folder: the names in it.
  virtual Status Flush(const OpenFile& file) = 0;
  virtual Status Close(const OpenFile& file) = 0;  // The descriptor is gone, whatever it returns.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  virtual Status Remove(const std::string& path) = 0;      // A file, or an empty folder.
  virtual Status MakeFolder(const std::string& path) = 0;  // Its parent is there.
};

// This machine's.
Disk& SystemDisk();

// What `error_number` means: "write /a/b: No space left on device".
Status FileError(const char* what, const std::string& path, int error_number);

// Whether `path` still names the file that was opened, itself and not by a link: whoever had its
// lock meanwhile may have renamed or removed it.
bool IsStill(const std::string& path, int descriptor);

// "." for a name alone.
std::string ParentOf(const std::string& path);

Status FlushFolder(const std::string& path, Disk& disk = SystemDisk());

// Makes `path` and what is missing above it, each flushed into its parent.
Status MakeFolders(const std::string& path, Disk& disk = SystemDisk());

// Takes a folder away with all that is in it. OK if there is none. After an error some of it is
// left.
Status RemoveTree(const std::string& path, Disk& disk = SystemDisk());

struct DiskSpace {
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;  // For those who are not root.
};
// Of the disk that holds `path`, which exists.
StatusOr<DiskSpace> SpaceOf(const std::string& path);

}  // namespace paceline::files

// Defines AtomicFile, a file that is there whole or not at all.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "lib/base/status.h"

namespace paceline::store {

// Example:
//   PACELINE_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
//   PACELINE_RETURN_IF_ERROR(file.Write(bytes));
//   return file.Commit();
//
// One owner at a time. Errors: ResourceExhausted if the disk (or a quota, or the file-size limit)
// is full, NotFound if the folder is missing, PermissionDenied, else Internal, always with the
// path. Without a Commit that succeeded, `path` is as it was and nothing is left behind (only a
// failed flush of the folder itself leaves the new file in place).
class AtomicFile {
 public:
  static StatusOr<AtomicFile> Create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  Status Write(std::span<const std::byte> bytes);
  // Flushes to the disk, renames to `path`, and flushes the folder.
  Status Commit();

 private:
  AtomicFile(std::string path, std::string temporary, int descriptor);

  std::string path_;
  std::string temporary_;  // Empty once it is renamed.
  int descriptor_ = -1;
};

// The error that `error_number` means: "write /a/b: No space left on device".
Status FileError(const char* what, const std::string& path, int error_number);

}  // namespace paceline::store

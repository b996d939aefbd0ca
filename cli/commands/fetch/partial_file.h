// Defines PartialFile: a file on its way here, which is there under its name whole and right, or
// not at all, and whose download goes on where an earlier one was cut off.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/status.h"
#include "lib/store/sha256.h"

namespace paceline::commands {

// What has come lies beside the file, as NAME.DIGEST.partial, until it is whole. One owner at a
// time; another process that fetches the same is kept away by a lock on it. Errors are
// files::Disk's, with the path; InvalidArgument where something else has that name already, a link
// say, in a folder where others may write.
class PartialFile {
 public:
  // `expected` is what the whole has to be. What an earlier attempt at it left is gone on from.
  // Aborted if somebody fetches it just now.
  static StatusOr<PartialFile> Open(const std::string& path, store::FileDigest expected);
  PartialFile(PartialFile&& other) noexcept;
  PartialFile& operator=(PartialFile&&) = delete;
  ~PartialFile();  // What has come stays, for the next attempt.

  const std::string& partial_path() const { return partial_path_; }
  uint64_t bytes() const { return bytes_; }  // That have come.
  uint64_t bytes_missing() const { return expected_.bytes - bytes_; }
  // At most bytes_missing().
  Status Append(std::string_view piece);
  // Flushes to the disk, and renames, once all is there and is what it has to be. DataLoss if it is
  // not: then nothing is left of it, and the next attempt begins anew.
  Status Commit();

 private:
  PartialFile(std::string path, std::string partial_path, store::FileDigest expected,
              int descriptor, uint64_t bytes);

  std::string path_;
  std::string partial_path_;
  store::FileDigest expected_;
  int descriptor_;  // -1 once it is moved from.
  uint64_t bytes_;
};

}  // namespace paceline::commands

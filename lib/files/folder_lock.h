// Defines FolderLock: it names the process that writes to a folder to all others that want to.
#pragma once

#include <string>
#include <utility>

#include "lib/base/status.h"

namespace paceline::files {

// A lock (flock) on a file, in which the owner's name stands. It ends with the last process that
// has its descriptor open: its taker's, and those that were given it to inherit. The
// file stays, and the next taker locks it again, unless its owner calls RemoveFile.
//
// One owner at a time, from any thread.
class FolderLock {
 public:
  FolderLock() = default;  // Holds nothing.
  // Makes `file` where it is missing; its folder is there. FailedPrecondition, with the owner's
  // name alone, if another process has it; else errors as of Disk.
  static StatusOr<FolderLock> Take(const std::string& file, const std::string& owner);
  // The name of the process that has `file` locked; empty if no process has, if there is no such
  // file, if this process may not read it, or if the disk knows no locks. Changes nothing.
  static std::string OwnerOf(const std::string& file);
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&& other) noexcept;
  ~FolderLock();

  // False where the disk knows no locks: nothing protects the folder then.
  bool is_held() const { return is_held_; }
  // Removes the file; the next taker makes another. The owner calls it when no other process has
  // the descriptor any more. It does nothing where nothing is held, or where the folder has moved.
  void RemoveFile();
  int descriptor() const { return descriptor_; }  // Closed on exec; -1 where nothing is held.

 private:
  FolderLock(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_ = -1;
  bool is_held_ = false;
};

}  // namespace paceline::files

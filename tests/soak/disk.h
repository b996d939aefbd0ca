// Defines Disk: a small file system that can be filled up or made read-only under a running job.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "lib/base/status.h"

namespace paceline::soak {

// Gives this process a mount table of its own, so that what is mounted ends with it, however it
// ends. Call before any thread is started. PermissionDenied, with the system's words, where it may
// not: there are no disks then.
Status TakeOwnMounts();

// In memory. One owner at a time.
class Disk {
 public:
  // Mounts it on `folder`, which is there. Needs TakeOwnMounts.
  static StatusOr<Disk> Mount(const std::string& folder, size_t size_bytes);
  Disk(Disk&& other) noexcept : folder_(std::exchange(other.folder_, "")) {}
  Disk& operator=(Disk&&) = delete;
  ~Disk();  // Unmounts, also what is in use.

  const std::string& folder() const { return folder_; }

  Status Fill();   // Until nothing is free, by a file of its own...
  Status Empty();  // ...which goes.
  // Unavailable while some file is open for writing.
  Status MakeReadOnly();
  Status MakeWritable();

 private:
  explicit Disk(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
};

}  // namespace paceline::soak

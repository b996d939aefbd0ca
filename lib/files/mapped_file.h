// Defines MappedFile: a file's bytes as memory, of which the machine reads what is looked at.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "lib/base/status.h"

namespace paceline::files {

// An immutable value. Nobody may shorten the file meanwhile, or reading what is gone ends the
// process; replacing it by rename is fine.
class MappedFile {
 public:
  // Errors as of Disk (disk.h); InvalidArgument for a folder.
  static StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }  // Of an empty file none.

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  const std::span<const std::byte> bytes_;
};

}  // namespace paceline::files

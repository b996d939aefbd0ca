// Defines Sha256 and FileDigest: by which a file read is known to be the file that was written.
//
// The digest is the one that the program `sha256sum` prints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "lib/base/status.h"
#include "lib/store/meter.h"

namespace paceline::store {

// Example:
//   Sha256 sum;
//   sum.Add(bytes);
//   sum.Finish();   // 64 hexadecimal digits, lower case
//
// One owner at a time.
class Sha256 {
 public:
  explicit Sha256(Meter* meter = nullptr);  // Counts what was added; outlives it.
  ~Sha256();
  void Add(std::span<const std::byte> bytes);
  uint64_t bytes() const { return bytes_; }  // All that were added.
  std::string Finish();                      // Once, the last call.

 private:
  struct State;
  std::unique_ptr<State> state_;
  Meter* const meter_;
  uint64_t bytes_ = 0;
};

struct FileDigest {
  uint64_t bytes = 0;
  std::string sha256;
  friend bool operator==(const FileDigest&, const FileDigest&) = default;
};

// Reads the whole file. Errors as of files::Disk.
StatusOr<FileDigest> DigestFile(const std::string& path, Meter* meter = nullptr);

}  // namespace paceline::store

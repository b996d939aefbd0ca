// Defines SafetensorsFile and WriteSafetensors: named tensors in one file that Python's
// `safetensors` opens too.
//
// Format: 8 bytes of little-endian header length, a JSON object, and the tensors' bytes without
// gaps. Offsets count from the header's end. Models, data sets and checkpoints are such files.
//
// Example:
//   PACELINE_ASSIGN_OR_RETURN(const SafetensorsFile file,
//   SafetensorsFile::Open("train.safetensors")); const SafetensorsTensor* images =
//   file.Find("images");
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/files/disk.h"
#include "lib/files/mapped_file.h"
#include "lib/store/sha256.h"

namespace paceline::store {

// In order of alignment, as files are written: the last first.
enum class SafetensorsType {
  kBool,
  kU8,
  kI8,
  kI16,
  kU16,
  kF16,
  kBF16,
  kI32,
  kU32,
  kF32,
  kF64,
  kI64,
  kU64,
  kF8E4M3,  // Named after their bits: sign, exponent, mantissa.
  kF8E5M2
};

std::string_view NameOf(SafetensorsType type);  // "F32"
uint64_t ElementBytes(SafetensorsType type);

struct SafetensorsTensor {
  std::string name;
  SafetensorsType type = SafetensorsType::kF32;
  std::vector<int64_t> shape;        // Empty for a scalar.
  std::span<const std::byte> bytes;  // Row-major, little-endian; whose they are, its source says.
};

// A file mapped for reading. Its tensors' bytes live as long as it does (moves included), and begin
// at a multiple of their element's size if the file was written by us or by Python's `safetensors`.
// Nobody may shorten the file meanwhile (replacing it by rename is fine).
class SafetensorsFile {
 public:
  // NotFound if there is no such file; InvalidArgument, naming the tensor, if the file is not
  // exactly as the format wants it: no gap, no overlap, no byte too many.
  static StatusOr<SafetensorsFile> Open(const std::string& path);

  const std::vector<SafetensorsTensor>& tensors() const {
    return tensors_;
  }  // In order of their bytes.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const SafetensorsTensor* Find(std::string_view name) const;  // Null if there is none.

 private:
  SafetensorsFile() = default;
  Status Parse();

  std::shared_ptr<const files::MappedFile> mapped_;
  std::vector<SafetensorsTensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

// Writes a file beside `path`, flushes it to the disk and renames it: at `path` there is the old
// file or the whole new one, never a part. Tensors are put in the order of Python's `safetensors`,
// so that equal tensors give equal files.
//
// InvalidArgument if a name comes twice or is "__metadata__", or a size does not fit its shape.
// ResourceExhausted if the disk is full. On failure nothing is left behind. `digest`, where given,
// is fed all bytes of the file.
Status WriteSafetensors(const std::string& path, std::vector<SafetensorsTensor> tensors,
                        const std::map<std::string, std::string>& metadata = {},
                        Sha256* digest = nullptr, files::Disk& disk = files::SystemDisk());

// Of its tensors, for people: "a, b", the first few of many; "none".
std::string NamesIn(const SafetensorsFile& file);

}  // namespace paceline::store

#include "lib/store/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <utility>

#include "lib/files/atomic_file.h"
#include "lib/store/safetensors_header.h"

namespace paceline::store {
namespace {

static_assert(std::endian::native == std::endian::little,
              "files are read and written as they lie in memory");

constexpr uint64_t kLengthBytes = 8;
constexpr size_t kPieceBytes = 4 << 20;
constexpr uint64_t kHeaderBytesMax = 100'000'000;  // As Python's `safetensors` wants.

Status CheckForWriting(const std::vector<SafetensorsTensor>& tensors) {
  std::set<std::string_view> names;
  for (const SafetensorsTensor& tensor : tensors) {
    if (tensor.name == "__metadata__")
      return InvalidArgument("tensor must not be named __metadata__");
    if (!names.insert(tensor.name).second)
      return InvalidArgument("tensor {} is named twice", tensor.name);
    const std::optional<uint64_t> size = SizeBytes(tensor.shape, tensor.type);
    if (!size || *size != tensor.bytes.size()) {
      return InvalidArgument("tensor {} has {} bytes, which does not fit its shape", tensor.name,
                             tensor.bytes.size());
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  SafetensorsFile file;
  PACELINE_ASSIGN_OR_RETURN(file.mapped_, files::MappedFile::Open(path));
  PACELINE_RETURN_IF_ERROR(Annotate(file.Parse(), path));
  return file;
}

Status SafetensorsFile::Parse() {
  const std::span<const std::byte> bytes = mapped_->bytes();
  if (bytes.size() < kLengthBytes)
    return InvalidArgument("file is too short: got {} bytes", bytes.size());
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), kLengthBytes);
  const uint64_t room = bytes.size() - kLengthBytes;
  if (header_bytes > room || header_bytes > kHeaderBytesMax) {
    return InvalidArgument("header length must be at most {}: got {}",
                           std::min(room, kHeaderBytesMax), header_bytes);
  }
  const std::string_view json(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes,
                              header_bytes);
  const std::span<const std::byte> data = bytes.subspan(kLengthBytes + header_bytes);
  PACELINE_ASSIGN_OR_RETURN(SafetensorsHeader header, ParseHeader(json, data.size()));
  metadata_ = std::move(header.metadata);
  for (SafetensorsEntry& entry : header.entries) {
    tensors_.push_back({std::move(entry.name), entry.type, std::move(entry.shape),
                        data.subspan(entry.begin, entry.end - entry.begin)});
  }
  return OkStatus();
}

const SafetensorsTensor* SafetensorsFile::Find(std::string_view name) const {
  const auto found =
      std::find_if(tensors_.begin(), tensors_.end(),
                   [&](const SafetensorsTensor& tensor) { return tensor.name == name; });
  return found == tensors_.end() ? nullptr : &*found;
}

Status WriteSafetensors(const std::string& path, std::vector<SafetensorsTensor> tensors,
                        const std::map<std::string, std::string>& metadata, Sha256* digest,
                        files::Disk& disk) {
  PACELINE_RETURN_IF_ERROR(Annotate(CheckForWriting(tensors), path));
  std::sort(tensors.begin(), tensors.end(),
            [](const SafetensorsTensor& a, const SafetensorsTensor& b) {
              return std::tie(b.type, a.name) < std::tie(a.type, b.name);
            });
  SafetensorsHeader header{.entries = {}, .metadata = metadata};
  uint64_t at = 0;
  for (const SafetensorsTensor& tensor : tensors) {
    header.entries.push_back(
        {tensor.name, tensor.type, tensor.shape, at, at + tensor.bytes.size()});
    at += tensor.bytes.size();
  }
  const std::string json = FormatHeader(header);
  const uint64_t header_bytes = json.size();
  PACELINE_ASSIGN_OR_RETURN(files::AtomicFile file, files::AtomicFile::Create(path, disk));
  // In pieces, so that whoever counts what goes into the digest sees it move.
  const auto write = [&](std::span<const std::byte> bytes) -> Status {
    while (!bytes.empty()) {
      const auto piece = bytes.first(std::min(bytes.size(), kPieceBytes));
      if (digest != nullptr) digest->Add(piece);
      PACELINE_RETURN_IF_ERROR(file.Write(piece));
      bytes = bytes.subspan(piece.size());
    }
    return OkStatus();
  };
  PACELINE_RETURN_IF_ERROR(write(std::as_bytes(std::span(&header_bytes, 1))));
  PACELINE_RETURN_IF_ERROR(write(std::as_bytes(std::span(json))));
  for (const SafetensorsTensor& tensor : tensors) PACELINE_RETURN_IF_ERROR(write(tensor.bytes));
  return file.Commit();
}

std::string NamesIn(const SafetensorsFile& file) {
  std::string names;
  for (const SafetensorsTensor& tensor : file.tensors()) {
    names += (names.empty() ? "" : ", ") + tensor.name;
    if (names.size() > 200) return names + ", ...";
  }
  return names.empty() ? "none" : names;
}

}  // namespace paceline::store

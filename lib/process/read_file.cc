#include "lib/process/read_file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

namespace paceline::process {

StatusOr<std::string> ReadFile(const std::string& path) {
  return ReadFile(path, std::numeric_limits<size_t>::max());
}

StatusOr<std::string> ReadFile(const std::string& path, size_t bytes_max) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return InvalidArgument("is a folder, not a file: {}", path);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int error = errno;
    if (error == EACCES) return PermissionDenied("cannot read {}: {}", path, std::strerror(error));
    return NotFound("cannot read {}: {}", path, std::strerror(error));
  }
  std::string text;
  std::array<char, 64 << 10> chunk;
  while (file.read(chunk.data(), chunk.size()) || file.gcount() > 0) {
    text.append(chunk.data(), static_cast<size_t>(file.gcount()));
    if (text.size() > bytes_max)
      return InvalidArgument("{} is too long: it must be at most {} bytes", path, bytes_max);
  }
  return text;
}

}  // namespace paceline::process

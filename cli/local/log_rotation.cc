#include "cli/local/log_rotation.h"

#include <array>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace paceline::local {
namespace {

namespace fs = std::filesystem;

// Up to its end, which moves. Replaces `to`.
bool CopyTo(const std::string& to, int from) {
  const int descriptor =
      open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (descriptor < 0) return false;
  std::array<char, 64 << 10> chunk;
  off_t at = 0;
  ssize_t got = 0;
  bool is_written = true;
  while (is_written && (got = pread(from, chunk.data(), chunk.size(), at)) > 0) {
    is_written = write(descriptor, chunk.data(), static_cast<size_t>(got)) == got;
    at += got;
  }
  close(descriptor);
  return is_written && got == 0;
}

}  // namespace

bool RotateLog(const std::string& path, uint64_t bytes_max) {
  struct stat seen {};
  if (stat(path.c_str(), &seen) != 0 || !S_ISREG(seen.st_mode) ||
      static_cast<uint64_t>(seen.st_size) < bytes_max / 2)
    return false;
  const int log = open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC);
  if (log < 0) return false;
  const std::string older = path + ".1";
  const bool is_kept = CopyTo(older, log);
  const bool is_empty = ftruncate(log, 0) == 0;
  if (!is_kept) {
    std::error_code ignored;
    fs::remove(older, ignored);
  }
  const std::string note = is_kept ? fmt::format("paceline: older output is in {}\n",
                                                 fs::path(older).filename().string())
                                   : "paceline: older output is gone: there was no room for it\n";
  if (is_empty) (void)!write(log, note.data(), note.size());
  close(log);
  return is_empty;
}

}  // namespace paceline::local

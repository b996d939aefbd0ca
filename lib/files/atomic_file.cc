#include "lib/files/atomic_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <random>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace paceline::files {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".tmp";
constexpr size_t kChanceDigits = 16;
constexpr int kNamesTried = 10;

// Of the system's own entropy: processes of equal ids, in pods one after the other, differ too.
std::string NameOfChance(const std::string& path) {
  std::random_device device;
  const uint64_t chance = (uint64_t{device()} << 32) | device();
  return fmt::format("{}.{:016x}{}", path, chance, kSuffix);
}

// Whether `name` is what a writer of `target` writes to: TARGET.0123456789abcdef.tmp, or
// TARGET.1.1.tmp, as processes of former releases named theirs.
bool IsTemporaryOf(std::string_view name, std::string_view target) {
  if (!name.starts_with(target) || !name.ends_with(kSuffix)) return false;
  if (name.size() < target.size() + kSuffix.size() + 2 || name[target.size()] != '.') return false;
  name.remove_prefix(target.size() + 1);
  name.remove_suffix(kSuffix.size());
  const bool is_chance = name.size() == kChanceDigits &&
                         name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  const size_t dot = name.find('.');
  const bool is_numbers = dot != std::string_view::npos && dot > 0 && dot + 1 < name.size() &&
                          std::ranges::count(name, '.') == 1 &&
                          name.find_first_not_of("0123456789.") == std::string_view::npos;
  return is_chance || is_numbers;
}

// Whoever writes holds a lock (OpenFor::kNew), and loses it with his life. Where the disk knows no
// locks nothing is a leftover.
void RemoveIfDead(const std::string& path, Disk& disk) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return;
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) (void)disk.Remove(path);
  ::close(descriptor);
}

void Sweep(const std::string& path, Disk& disk) {
  const std::string target = fs::path(path).filename();
  std::error_code error;
  for (fs::directory_iterator at(ParentOf(path), error), end; !error && at != end;
       at.increment(error)) {
    if (IsTemporaryOf(at->path().filename().string(), target) && at->is_regular_file(error))
      RemoveIfDead(at->path().string(), disk);
  }
}

}  // namespace

StatusOr<AtomicFile> AtomicFile::Create(const std::string& path, Disk& disk) {
  Sweep(path, disk);
  StatusOr<OpenFile> file = AlreadyExists("not tried: {}", path);
  for (int i = 0; i < kNamesTried && file.status().code() == StatusCode::kAlreadyExists; ++i)
    file = disk.Open(NameOfChance(path), OpenFor::kNew);
  PACELINE_RETURN_IF_ERROR(file.status());
  return AtomicFile(path, *std::move(file), disk);
}

AtomicFile::AtomicFile(std::string path, OpenFile file, Disk& disk)
    : path_(std::move(path)), file_(std::move(file)), disk_(&disk) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, OpenFile{})),
      disk_(other.disk_) {}

AtomicFile::~AtomicFile() {
  // First, since without its lock it is anybody's.
  if (!file_.path.empty()) (void)disk_->Remove(file_.path);
  if (file_.descriptor >= 0) (void)disk_->Close(file_);
}

Status AtomicFile::Write(std::span<const std::byte> bytes) { return disk_->Write(file_, bytes); }

Status AtomicFile::Commit() {
  PACELINE_RETURN_IF_ERROR(disk_->Flush(file_));
  PACELINE_RETURN_IF_ERROR(disk_->Rename(file_.path, path_));
  file_.path.clear();
  // Flushed and renamed, it is there: what a close may still complain of is nothing of it.
  (void)disk_->Close({std::exchange(file_.descriptor, -1), path_});
  return FlushFolder(ParentOf(path_), *disk_);
}

Status WriteFile(const std::string& path, std::string_view text, Disk& disk) {
  std::error_code error;
  if (const fs::file_status status = fs::status(path, error);
      fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status))
    return OverwriteFile(path, text, disk);
  PACELINE_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path, disk));
  PACELINE_RETURN_IF_ERROR(file.Write(std::as_bytes(std::span(text))));
  return file.Commit();
}

Status OverwriteFile(const std::string& path, std::string_view text, Disk& disk) {
  PACELINE_ASSIGN_OR_RETURN(const OpenFile file, disk.Open(path, OpenFor::kOverwrite));
  const Status written = disk.Write(file, std::as_bytes(std::span(text)));
  const Status closed = disk.Close(file);
  return written.ok() ? closed : written;
}

}  // namespace paceline::files

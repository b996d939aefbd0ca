#include "tests/soak/disk.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

namespace paceline::soak {
namespace {

constexpr const char* kFiller = "/filler";

Status Failed(const std::string& what) {
  const int reason = errno;
  if (reason == EBUSY) return Unavailable("{}: {}", what, std::strerror(reason));
  return PermissionDenied("{}: {}", what, std::strerror(reason));
}

// Root among its own mounts, and nowhere else.
Status BecomeRootOfOwnNamespace() {
  const uid_t user = getuid();
  const gid_t group = getgid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return Failed("no mount table of its own");
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << fmt::format("0 {} 1", user);
  std::ofstream("/proc/self/gid_map") << fmt::format("0 {} 1", group);
  return OkStatus();
}

}  // namespace

Status TakeOwnMounts() {
  if (unshare(CLONE_NEWNS) != 0) PACELINE_RETURN_IF_ERROR(BecomeRootOfOwnNamespace());
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return Failed("mounts cannot be kept to itself");
  return OkStatus();
}

StatusOr<Disk> Disk::Mount(const std::string& folder, size_t size_bytes) {
  if (mount("soak", folder.c_str(), "tmpfs", 0, fmt::format("size={}", size_bytes).c_str()) != 0)
    return Failed("cannot mount a disk on " + folder);
  return Disk(folder);
}

Disk::~Disk() {
  if (!folder_.empty()) (void)umount2(folder_.c_str(), MNT_DETACH);
}

Status Disk::Fill() {
  const std::string path = folder_ + kFiller;
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return Failed("cannot fill " + folder_);
  const std::vector<char> zeros(64 * 1024);
  // Smaller and smaller pieces, down to the last byte that is free.
  for (size_t piece = zeros.size(); piece > 0; piece /= 2) {
    while (write(descriptor, zeros.data(), piece) == static_cast<ssize_t>(piece)) {
    }
  }
  close(descriptor);
  return OkStatus();
}

Status Disk::Empty() {
  return unlink((folder_ + kFiller).c_str()) == 0 ? OkStatus() : Failed("cannot empty " + folder_);
}

Status Disk::MakeReadOnly() {
  const int done = mount("soak", folder_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr);
  return done == 0 ? OkStatus() : Failed("cannot make read-only: " + folder_);
}

Status Disk::MakeWritable() {
  const int done = mount("soak", folder_.c_str(), "tmpfs", MS_REMOUNT, nullptr);
  return done == 0 ? OkStatus() : Failed("cannot make writable: " + folder_);
}

}  // namespace paceline::soak

#include "lib/files/room.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "lib/files/disk.h"

namespace paceline::files {
namespace {

Status NotEnough(const std::string& folder, uint64_t bytes) {
  const StatusOr<DiskSpace> space = SpaceOf(folder);
  return ResourceExhausted("the disk of {} has {} bytes free, want {}", folder,
                           space.ok() ? space->free_bytes : 0, bytes);
}

}  // namespace

StatusOr<Room> Room::Reserve(const std::string& folder, uint64_t bytes) {
  PACELINE_ASSIGN_OR_RETURN(const DiskSpace space, SpaceOf(folder));
  if (space.free_bytes < bytes) return NotEnough(folder, bytes);
  const int descriptor = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    const bool is_unknown = errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT;
    return is_unknown ? StatusOr<Room>(Room()) : FileError("reserve room in", folder, errno);
  }
  Room room(descriptor);
  if (bytes == 0 || fallocate(descriptor, 0, 0, static_cast<off_t>(bytes)) == 0) return room;
  if (errno == ENOSPC || errno == EDQUOT) {
    room.Release();
    return NotEnough(folder, bytes);
  }
  if (errno == EOPNOTSUPP) return Room();
  return FileError("reserve room in", folder, errno);
}

Room::Room(Room&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Room& Room::operator=(Room&& other) noexcept {
  if (this != &other) {
    Release();
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

void Room::Release() {
  if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
}

}  // namespace paceline::files

// Defines Room: space of a disk that is kept free for what will be written later.
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/status.h"

namespace paceline::files {

// A file without a name. Nothing of it stays, however the process ends. One owner at a time.
class Room {
 public:
  // ResourceExhausted, naming the folder, what is wanted and what is free, if the disk has not so
  // much. Where a disk cannot set space aside, nothing is held: it had so much at this moment.
  // Other errors as of Disk.
  static StatusOr<Room> Reserve(const std::string& folder, uint64_t bytes);
  Room() = default;  // None.
  Room(Room&& other) noexcept;
  Room& operator=(Room&& other) noexcept;
  ~Room() { Release(); }

  void Release();  // For whoever writes next.
  bool is_held() const { return descriptor_ >= 0; }

 private:
  explicit Room(int descriptor) : descriptor_(descriptor) {}

  int descriptor_ = -1;
};

}  // namespace paceline::files

// Defines WrittenPages: which pages of a private mapping this process has written to.
#pragma once

#include <cstddef>

#include "lib/telemetry/listening_socket.h"

namespace paceline::rpc {

// Asks the kernel's table of pages, after the fact: nothing stands in the way of a write. One
// owner.
class WrittenPages {
 public:
  WrittenPages();
  // False where there is no such table to read.
  bool can_tell() const { return table_.get() >= 0; }
  // Of a file's private mapping: what was written is gone, and reads as the file again. How many
  // pages that were; all of them, where nobody can tell.
  size_t Drop(std::byte* begin, size_t size_bytes) const;

 private:
  telemetry::OwnedSocket table_;
};

}  // namespace paceline::rpc

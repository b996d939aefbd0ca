// Defines MakePrivateFolder: where a run's sockets, port files and token lie.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/base/status.h"

namespace paceline::local {

// The path of a socket has 107 bytes at most (unix(7)), of which the folder and the longest name in
// it, that of a shard's shared memory, take some.
inline constexpr size_t kPlaceBytesMax = 70;

struct PrivateFolder {
  std::string path;    // Absolute, mode 0700, empty.
  std::string passed;  // "TMPDIR=/x/y has 143 characters, want at most 70": empty where the first
                       // place was taken.
};

// TMPDIR (or TMP, TEMP, TEMPDIR, the first that is set), /tmp, XDG_RUNTIME_DIR, /dev/shm.
std::vector<std::string> PrivatePlaces();

// In the first place where it can be made and where gRPC can name a socket: of at most
// kPlaceBytesMax, and of characters that an URI takes as they are. Unavailable with what is wrong
// with each, and nothing made.
StatusOr<PrivateFolder> MakePrivateFolder(const std::vector<std::string>& places);

}  // namespace paceline::local

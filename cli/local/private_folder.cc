#include "cli/local/private_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdlib.h>
#include <sys/un.h>

namespace paceline::local {
namespace {

constexpr std::string_view kPattern = "/paceline-XXXXXX";
constexpr std::string_view kLongestName = "/ps-9999.sock.memory";
static_assert(kPlaceBytesMax + kPattern.size() + kLongestName.size() <
              sizeof(sockaddr_un::sun_path));

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("/._-+=,@~").find(c) != std::string_view::npos;
}

// Empty: it was made, in `path`.
std::string TryIn(const std::string& place, std::string& path) {
  std::error_code error;
  const std::string absolute = std::filesystem::absolute(place, error).lexically_normal().string();
  if (error) return error.message();
  if (absolute.size() > kPlaceBytesMax) {
    return fmt::format("has {} characters, want at most {}", absolute.size(), kPlaceBytesMax);
  }
  if (!std::ranges::all_of(absolute, IsPlain))
    return "holds a character that cannot stand in the address of a socket";
  std::string made = absolute + std::string(kPattern);
  if (mkdtemp(made.data()) == nullptr) return std::strerror(errno);
  path = std::move(made);
  return "";
}

}  // namespace

std::vector<std::string> PrivatePlaces() {
  std::vector<std::string> places;
  const auto add = [&](const char* name) {
    const char* const value = std::getenv(name);
    const bool is_set = value != nullptr && *value != 0;
    if (is_set) places.emplace_back(value);
    return is_set;
  };
  (void)(add("TMPDIR") || add("TMP") || add("TEMP") || add("TEMPDIR"));
  places.emplace_back("/tmp");
  add("XDG_RUNTIME_DIR");
  places.emplace_back("/dev/shm");
  return places;
}

StatusOr<PrivateFolder> MakePrivateFolder(const std::vector<std::string>& places) {
  PrivateFolder folder;
  std::vector<std::string> wrong;
  for (const std::string& place : places) {
    const std::string why = TryIn(place, folder.path);
    if (why.empty()) {
      folder.passed = fmt::format("{}", fmt::join(wrong, "; "));
      return folder;
    }
    wrong.push_back(fmt::format("{} {}", place, why));
  }
  return Unavailable(
      "no folder for the sockets of this run: {}. Set TMPDIR to a folder that you may write to, of "
      "at most {} characters",
      fmt::join(wrong, "; "), kPlaceBytesMax);
}

}  // namespace paceline::local

#include "lib/base/testing/places.h"

namespace paceline {
namespace {

std::string In(std::string folder, std::string_view path) {
  if (path.empty()) return folder;
  return folder.append("/").append(path);
}

}  // namespace

std::string InSource(std::string_view path) { return In(PACELINE_SOURCE_DIR, path); }

std::string InBuild(std::string_view path) { return In(PACELINE_BINARY_DIR, path); }

}  // namespace paceline

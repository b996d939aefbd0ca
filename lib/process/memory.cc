#include "lib/process/memory.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include <sys/mman.h>

namespace paceline::process {
namespace {

struct Mapping {
  char* begin = nullptr;
  char* end = nullptr;
  bool is_constant_file = false;  // Of a file, and not writable.
};

// The line with which smaps begins to tell of a mapping.
std::optional<Mapping> ParseMapping(const std::string& line) {
  Mapping mapping;
  char access[5] = "";
  int path = 0;
  void *begin = nullptr, *end = nullptr;
  if (std::sscanf(line.c_str(), "%p-%p %4s %*s %*s %*s %n", &begin, &end, access, &path) < 3)
    return std::nullopt;
  mapping.begin = static_cast<char*>(begin);
  mapping.end = static_cast<char*>(end);
  const std::string allowed = access;
  mapping.is_constant_file = (allowed == "r-xp" || allowed == "r--p") && path > 0 &&
                             line[static_cast<size_t>(path)] == '/';
  return mapping;
}

}  // namespace

void KeepToWhatIsUsed() {
  std::ifstream maps("/proc/self/smaps");
  Mapping mapping;
  for (std::string line; std::getline(maps, line);) {
    if (const auto begun = ParseMapping(line)) {
      mapping = *begun;
    } else if (line.starts_with("Anonymous:") && mapping.is_constant_file &&
               std::strtol(line.c_str() + sizeof("Anonymous:"), nullptr, 10) == 0) {
      // Nothing was ever written there, not even by the loader: the file has all of it.
      madvise(mapping.begin, static_cast<size_t>(mapping.end - mapping.begin), MADV_DONTNEED);
    }
  }
}

}  // namespace paceline::process

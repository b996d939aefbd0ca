#include "simulator/progress.h"

#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace paceline::simulator {

Progress::Progress()
    : is_shown_(isatty(STDERR_FILENO) == 1), began_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (is_shown_) fmt::print(stderr, "\r\033[K");
}

void Progress::Show(const std::string& what, size_t done, size_t all) {
  if (!is_shown_) return;
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began_;
  std::string line = fmt::format("\r\033[K{} of {}: {}", done + 1, all, what);
  if (done > 0) {
    line += fmt::format(", {:.0f} s to go", passed.count() / static_cast<double>(done) *
                                                static_cast<double>(all - done));
  }
  fmt::print(stderr, "{}", line);
}

}  // namespace paceline::simulator

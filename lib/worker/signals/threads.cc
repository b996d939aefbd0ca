#include "lib/worker/signals/threads.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include <fmt/format.h>

namespace paceline::worker {
namespace {

std::optional<int> FirstOf(std::string_view list) {
  const std::string_view first = list.substr(0, list.find(','));
  int count = 0;
  const auto [end, error] = std::from_chars(first.data(), first.data() + first.size(), count);
  if (error != std::errc() || end != first.data() + first.size() || count < 1) return std::nullopt;
  return count;
}

}  // namespace

Threads ChooseThreads(std::optional<int64_t> asked, const char* omp_num_threads,
                      std::optional<double> cores_max) {
  if (asked) return {static_cast<int>(*asked), "spec.workers.threads", ""};
  Threads threads{1, "nothing says more", ""};
  if (omp_num_threads != nullptr) {
    if (const std::optional<int> count = FirstOf(omp_num_threads))
      return {*count, "OMP_NUM_THREADS", ""};
    threads.ignored = fmt::format("OMP_NUM_THREADS is \"{}\", want a whole number of at least 1",
                                  omp_num_threads);
  }
  if (!cores_max) return threads;
  constexpr double kMost = std::numeric_limits<int>::max();
  threads.count = static_cast<int>(std::clamp(std::floor(*cores_max), 1.0, kMost));
  threads.why = fmt::format("a CPU limit of {:g}", *cores_max);
  return threads;
}

}  // namespace paceline::worker

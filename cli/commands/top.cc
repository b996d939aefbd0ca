#include "cli/commands/top.h"

#include <chrono>
#include <cstdio>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands/coordinator_api.h"
#include "cli/local/live_state.h"
#include "cli/local/live_table.h"
#include "lib/process/exit.h"

namespace paceline::commands {
namespace {

constexpr auto kLookPeriod = std::chrono::seconds(1);
constexpr int kSilencesMax = 10;  // Looks in vain, one after the other: it is gone.

StatusOr<CoordinatorApi> Find(const TopOptions& options) {
  if (!options.url.empty()) return CoordinatorApi::OfUrl(options.url, options.tls_folder);
  if (!options.run.empty()) return CoordinatorApi::OfRun(options.run);
  PACELINE_ASSIGN_OR_RETURN(const std::string newest, NewestRun(options.runs_folder));
  return CoordinatorApi::OfRun(newest);
}

StatusOr<local::LiveState> Look(const CoordinatorApi& coordinator) {
  PACELINE_ASSIGN_OR_RETURN(const std::string text, coordinator.Get("/v1/job"));
  return local::ParseLiveState(text);
}

int Fail(const Status& status) {
  fmt::print(stderr, "paceline: {}\n", Message(status));
  return process::ExitCodeFor(status);
}

}  // namespace

int Top(const TopOptions& options) {
  const StatusOr<CoordinatorApi> coordinator = Find(options);
  if (!coordinator.ok()) return Fail(coordinator.status());
  const bool is_drawing = !options.is_once && isatty(STDOUT_FILENO) == 1;
  for (int silences = 0;;) {
    const StatusOr<local::LiveState> state = Look(*coordinator);
    if (!state.ok()) {
      if (options.is_once || ++silences >= kSilencesMax) return Fail(state.status());
    } else {
      silences = 0;
      // The whole screen anew, from its corner, in one write.
      fmt::print("{}{}{}", is_drawing ? "\x1b[H\x1b[J" : "", local::LiveText(*state),
                 is_drawing || options.is_once ? "" : "\n");
      std::fflush(stdout);
      if (options.is_once || state->finished) return process::kExitDone;
    }
    std::this_thread::sleep_for(kLookPeriod);
  }
}

}  // namespace paceline::commands

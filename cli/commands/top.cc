#include "cli/commands/top.h"

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands/coordinator_api.h"
#include "cli/commands/status_text.h"
#include "cli/local/display/live_state.h"
#include "cli/local/display/live_table.h"
#include "cli/local/display/print.h"
#include "lib/base/printable.h"
#include "lib/job/manifest/encode.h"
#include "lib/job/plan/plan.h"
#include "lib/kube/core/api_error.h"
#include "lib/process/exit.h"

namespace paceline::commands {
namespace {

constexpr auto kLookPeriod = std::chrono::seconds(1);
constexpr int kSilencesMax = 10;  // Looks in vain, one after the other: it is gone.

// What there is to see of a job just now.
struct Shown {
  std::string text;
  bool is_over = false;
  Status coordinator;  // Why it could not be asked, where it should answer.
};
using Look = std::function<StatusOr<Shown>()>;

StatusOr<Shown> ShownOf(std::string_view answer) {
  PACELINE_ASSIGN_OR_RETURN(const local::LiveState state, local::ParseLiveState(answer));
  return Shown{.text = local::LiveText(state), .is_over = state.finished.has_value()};
}

StatusOr<Shown> LookAtCoordinator(const CoordinatorApi& coordinator) {
  PACELINE_ASSIGN_OR_RETURN(const std::string answer, coordinator.Get("/v1/job"));
  return ShownOf(answer);
}

StatusOr<Shown> LookAtCluster(const ClusterJob& cluster) {
  PACELINE_ASSIGN_OR_RETURN(const kube::Json object, cluster.Read());
  // Fields of a newer version are none of ours.
  const job::TrainingJob job = job::FromJson(object).job;
  if (job::IsFinished(job.status)) return Shown{.text = StatusText(job), .is_over = true};
  if (job::Holds(job.status, job::ConditionType::kSuspended)) return Shown{.text = StatusText(job)};
  const StatusOr<std::string> answer = cluster.AskCoordinator();
  if (kube::IsForbidden(answer.status())) return answer.status();
  StatusOr<Shown> shown = answer.ok() ? ShownOf(*answer) : StatusOr<Shown>(answer.status());
  if (!shown.ok()) return Shown{.text = StatusText(job), .coordinator = shown.status()};
  shown->text = Headline(job) + shown->text;
  return shown;
}

StatusOr<CoordinatorApi> FindCoordinator(const TopOptions& options) {
  if (!options.url.empty()) return CoordinatorApi::OfUrl(options.url, options.tls_folder);
  if (!options.run.empty()) return CoordinatorApi::OfRun(options.run);
  const StatusOr<std::string> newest = NewestRun(options.runs_folder);
  if (!newest.ok())
    return NotFound("{}; of a cluster, name the job: paceline top JOB", Message(newest.status()));
  return CoordinatorApi::OfRun(*newest);
}

StatusOr<Look> Find(const TopOptions& options) {
  if (options.job.empty()) {
    PACELINE_ASSIGN_OR_RETURN(const CoordinatorApi coordinator, FindCoordinator(options));
    return Look([coordinator] { return LookAtCoordinator(coordinator); });
  }
  PACELINE_ASSIGN_OR_RETURN(ClusterJob opened, ClusterJob::Open(options.cluster, options.job));
  return Look([cluster = std::make_shared<ClusterJob>(std::move(opened))] {
    return LookAtCluster(*cluster);
  });
}

// Whether another look may do better.
bool MayPass(const Status& status) {
  return process::ExitCodeFor(status) == process::kExitFailed &&
         status.code() != StatusCode::kUnauthenticated;
}

int Fail(const Status& status) {
  local::Print(stderr, "paceline: {}\n", Message(status));
  return process::ExitCodeFor(status);
}

// The whole screen anew, from its corner, in one write; elsewhere, one look after another.
void Print(const Shown& shown, bool is_drawing, bool is_once) {
  fmt::print("{}{}{}", is_drawing ? "\x1b[H\x1b[J" : "", Printable(shown.text),
             is_drawing || is_once ? "" : "\n");
  std::fflush(stdout);
}

}  // namespace

int Top(const TopOptions& options) {
  const StatusOr<Look> look = Find(options);
  if (!look.ok()) return Fail(look.status());
  const bool is_drawing = !options.is_once && isatty(STDOUT_FILENO) == 1;
  for (int silences = 0;;) {
    const StatusOr<Shown> shown = (*look)();
    if (!shown.ok()) {
      const bool is_final = options.is_once || !MayPass(shown.status());
      if (is_final || ++silences >= kSilencesMax) return Fail(shown.status());
    } else {
      silences = 0;
      Print(*shown, is_drawing, options.is_once);
      if (options.is_once && !shown->coordinator.ok()) {
        local::Print(stderr, "paceline: its coordinator does not answer: {}\n",
                     Message(shown->coordinator));
        return process::kExitFailed;
      }
      if (options.is_once || shown->is_over) return process::kExitDone;
    }
    std::this_thread::sleep_for(kLookPeriod);
  }
}

}  // namespace paceline::commands

// Defines Supervisor: makes this machine's processes agree with a TrainingJob. The second shell of
// lib/job's planner.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "cli/local/display/live_state.h"
#include "cli/local/display/progress_view.h"
#include "cli/local/health_watch.h"
#include "cli/local/job_folder.h"
#include "cli/local/launch.h"
#include "cli/local/process_table.h"
#include "cli/local/signals.h"
#include "lib/job/manifest/training_job.h"
#include "lib/job/plan/plan.h"

namespace paceline::local {

struct SupervisorOptions {
  job::TrainingJob job;  // Valid, with its defaults.
  LaunchOptions launch;
  std::function<void(const LiveState&)> on_state = nullptr;  // Whenever the coordinator has said.
  // A coordinator whose /healthz does not answer well for so long is killed, and started again as
  // one that failed.
  Duration health_patience = std::chrono::seconds(30);
};

struct Outcome {
  bool is_success = false;
  bool is_interrupted = false;
  std::string reason;
  int64_t restarts = 0;                         // Of processes.
  std::optional<job::RecoveryStatus> recovery;  // What roll backs cost, over all coordinators.
  std::optional<LiveState> state;               // The coordinator's last word.
};

// One owner at a time. The job is read again from the folder's job.json whenever that changes.
class Supervisor {
 public:
  // `folder`, `signals` and `view` outlive this.
  Supervisor(SupervisorOptions options, const JobFolder* folder, Signals* signals,
             ProgressView* view);

  // Until the job is over and no process of it is left. Blocks.
  Outcome Run();

 private:
  void AskCoordinator(Time now);
  void TellCoordinator(Time now);  // What it is not told by a changed job.
  void AskItsHealth();
  // Tells of roll backs, and of checkpoints that failed or were found.
  void NoteChanges(const LiveState& now);
  void ReadJobAgain();
  job::Observation Observe() const;
  void Start(const job::Start& start, Time now);
  void Apply(const job::Plan& plan, Time now);
  void StopForInterruption(Time now);
  void NoteWhatIsMissing();  // Of what an ended job leaves.
  Outcome Interrupted();
  void Wait(const job::Plan& plan, Time now);

  job::TrainingJob job_;  // As it is wanted now.
  const LaunchOptions launch_;
  const std::function<void(const LiveState&)> on_state_;
  const job::PlanOptions plan_options_;
  const JobFolder* const folder_;
  Signals* const signals_;
  ProgressView* const view_;

  ProcessTable processes_;
  HealthWatch health_;
  job::JobStatus status_;
  std::optional<LiveState> state_;                // The coordinator's last word, for people...
  std::optional<job::CoordinatorReport> report_;  // ...and for the planner.
  std::optional<int> http_port_;
  Time asked_at_{};
  Time told_at_{};
  std::filesystem::file_time_type job_written_{};
  int interruptions_seen_ = 0;
};

}  // namespace paceline::local

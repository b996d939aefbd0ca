#include "cli/local/supervisor.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/json_text.h"
#include "lib/base/limits.h"
#include "lib/files/atomic_file.h"
#include "lib/job/manifest/encode.h"
#include "lib/job/state/coordinator_report.h"
#include "lib/process/read_file.h"
#include "lib/process/tree.h"
#include "lib/telemetry/access_token.h"
#include "lib/telemetry/http_get.h"

namespace paceline::local {
namespace {

constexpr Duration kAskPeriod = std::chrono::milliseconds(200);
constexpr Duration kAskTimeout = std::chrono::seconds(2);
constexpr Duration kTellPeriod = std::chrono::seconds(5);
constexpr Duration kStopGrace = std::chrono::seconds(5);
// The coordinator writes a checkpoint before it goes.
constexpr Duration kStopGraceWithCheckpoint = std::chrono::seconds(20);

// Conditions carry times of day, so the planner is told the wall clock.
Time WallNow() {
  return Time(
      std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()));
}

// The words of the condition that ended the job.
std::string ReasonFor(const job::JobStatus& status) {
  for (const job::ConditionType type :
       {job::ConditionType::kFailed, job::ConditionType::kSucceeded}) {
    if (job::Holds(status, type)) return job::FindCondition(status, type)->message;
  }
  return "stopped";
}

// Where the coordinator of that run is told of changes, with the token that it asks for.
Status PutSpec(const JobFolder& folder, const job::TrainingJob& job) {
  PACELINE_ASSIGN_OR_RETURN(const std::string port, process::ReadFile(folder.ApiPortFile()));
  PACELINE_ASSIGN_OR_RETURN(const std::string token,
                            telemetry::AccessToken(folder.TokenFile()).Read());
  return telemetry::HttpSend({.host = "127.0.0.1",
                              .port = std::atoi(port.c_str()),
                              .path = "/v1/job/spec",
                              .method = "PUT",
                              .body = JsonText(job::ToJson(job)),
                              .headers = {{telemetry::kTokenHeader, token}}},
                             kAskTimeout)
      .status();
}

}  // namespace

Supervisor::Supervisor(SupervisorOptions options, const JobFolder* folder, Signals* signals,
                       ProgressView* view)
    : job_(std::move(options.job)),
      launch_(std::move(options.launch)),
      on_state_(std::move(options.on_state)),
      plan_options_({.has_place_for_checkpoints = launch_.has_default_checkpoints,
                     .can_recover_shards = true,
                     .unfit_retries = 1,  // There is no other machine.
                     .stop_grace = launch_.checkpoint_folder.empty() ? kStopGrace
                                                                     : kStopGraceWithCheckpoint}),
      folder_(folder),
      signals_(signals),
      view_(view),
      health_(options.health_patience) {}

Outcome Supervisor::Run() {
  process::AdoptOrphans();
  while (true) {
    const Time now = WallNow();
    processes_.Update(now);
    AskCoordinator(now);
    AskItsHealth();
    ReadJobAgain();
    if (signals_->interruptions() > 0) {
      StopForInterruption(now);
      if (!processes_.IsAnyRunning()) return Interrupted();
      Wait({}, now);
      continue;
    }
    const job::Plan plan = job::PlanJob(job_, Observe(), now, plan_options_);
    status_ = plan.status;
    Apply(plan, now);
    TellCoordinator(now);
    if (job::IsFinished(status_) && !processes_.IsAnyRunning()) break;
    Wait(plan, now);
  }
  view_->Clear();
  const bool is_success = job::Holds(status_, job::ConditionType::kSucceeded);
  if (is_success) NoteWhatIsMissing();
  const bool has_reason = is_success && state_ && state_->finished;
  return {.is_success = is_success,
          .reason = has_reason ? state_->finished->reason : ReasonFor(status_),
          .restarts = status_.restarts,
          .recovery = status_.recovery,
          .state = state_};
}

// The model is written before it, so that a full disk takes the summary alone.
void Supervisor::NoteWhatIsMissing() {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(folder_->SummaryFile(), ignored)) return;
  view_->Note(
      fmt::format("{} could not be written, maybe since its disk is full: keep what this "
                  "command prints at its end, nothing else holds the job's figures",
                  folder_->SummaryFile()));
}

// The job may have been done with its work for all that.
Outcome Supervisor::Interrupted() {
  // The coordinator is gone, and what it left says more than what it was last heard to say.
  const StatusOr<std::string> text = process::ReadFile(folder_->SummaryFile());
  StatusOr<LiveState> last = text.ok() ? ParseLiveState(*text) : StatusOr<LiveState>(text.status());
  if (last.ok()) state_ = *std::move(last);
  view_->Clear();
  if (state_ && state_->finished && state_->finished->is_success) {
    return {.is_success = true,
            .reason = state_->finished->reason,
            .restarts = status_.restarts,
            .recovery = status_.recovery,
            .state = state_};
  }
  std::string reason = "interrupted";
  if (state_ && !state_->model_problem.empty()) {
    reason += ": " + (state_->suspended.empty()
                          ? "the final model is not written: " + state_->model_problem
                          : state_->suspended);
    view_->Note(reason);
  }
  return {.is_interrupted = true,
          .reason = std::move(reason),
          .restarts = status_.restarts,
          .recovery = status_.recovery,
          .state = state_};
}

// `paceline ctl set` changes the file once the coordinator has taken the change over: who is
// started from now on is told the same.
void Supervisor::ReadJobAgain() {
  std::error_code error;
  const auto written = std::filesystem::last_write_time(folder_->JobFile(), error);
  if (error || written == job_written_) return;
  const bool is_first = job_written_ == std::filesystem::file_time_type();
  job_written_ = written;
  if (is_first) return;
  const StatusOr<std::string> text =
      process::ReadFile(folder_->JobFile(), limits::kStoredJobBytesMax);
  if (!text.ok()) return;
  job::Decoded decoded = job::FromJsonText(*text);
  if (!decoded.errors.empty()) return view_->Note("job.json is no good any more, and not read");
  job_ = std::move(decoded.job);
  view_->Note("the job was changed");
}

// While it runs, over HTTP; after it ended, from the file that it left.
void Supervisor::AskCoordinator(Time now) {
  if (state_ && state_->finished) return;
  const job::SeenProcess* coordinator =
      processes_.Find(job::ProcessName(job_.metadata.name, job::Role::kParameterServer, 0));
  if (coordinator == nullptr) return;
  StatusOr<std::string> text = Unavailable("not asked");
  if (coordinator->state == job::ProcessState::kExited) {
    text = process::ReadFile(folder_->SummaryFile());
  } else {
    if (now - asked_at_ < kAskPeriod) return;
    asked_at_ = now;
    if (!http_port_) {
      const StatusOr<std::string> port = process::ReadFile(folder_->PortFile(coordinator->name));
      if (!port.ok()) return;
      http_port_ = std::atoi(port->c_str());
      health_.Begin(now);
      // The API's port was written before the other one.
      const int api_port =
          std::atoi(process::ReadFile(folder_->ApiPortFile()).value_or("").c_str());
      const Status told =
          files::WriteFile(folder_->UrlFile(), fmt::format("http://127.0.0.1:{}\n", *http_port_));
      if (!told.ok()) view_->Note("other commands will not find this run: " + Message(told));
      const Status control = files::WriteFile(
          folder_->ControlFile(),
          fmt::format("http://127.0.0.1:{}\n{}\n", api_port, folder_->TokenFile()));
      if (!control.ok()) view_->Note("paceline ctl cannot change this run: " + Message(control));
      view_->Note(
          fmt::format("metrics and state: http://127.0.0.1:{}/metrics and /v1/job", *http_port_));
    }
    text = telemetry::HttpGet("127.0.0.1", *http_port_, "/v1/job", kAskTimeout);
  }
  if (!text.ok()) return;
  StatusOr<LiveState> state = ParseLiveState(*text);
  StatusOr<job::CoordinatorReport> report = job::ParseCoordinatorReport(job_, *text);
  if (!state.ok() || !report.ok()) return;
  report_ = *std::move(report);
  NoteChanges(*state);
  state_ = *std::move(state);
  if (on_state_) on_state_(*state_);
  view_->Show(*state_, now);
}

// As the kubelet does in a cluster. That its port takes connections says nothing.
void Supervisor::AskItsHealth() {
  const Time asked = WallNow();
  const job::SeenProcess* coordinator =
      processes_.Find(job::ProcessName(job_.metadata.name, job::Role::kParameterServer, 0));
  const bool may_be_asked = coordinator != nullptr && !coordinator->is_stopping &&
                            coordinator->state == job::ProcessState::kRunning && http_port_ &&
                            !(state_ && state_->finished);
  if (!may_be_asked || !health_.IsDue(asked)) return;
  const StatusOr<std::string> answer =
      telemetry::HttpGet("127.0.0.1", *http_port_, "/healthz", health_.timeout());
  if (!health_.Answered(answer.ok(), asked, WallNow())) return;
  view_->Note(
      fmt::format("{} hangs and is killed: {}", coordinator->name, Message(answer.status())));
  health_.Begin(WallNow());
  processes_.Kill(coordinator->name);
}

void Supervisor::NoteChanges(const LiveState& now) {
  const LiveState before = state_.value_or(LiveState());
  if (now.checkpoint_note != before.checkpoint_note && !now.checkpoint_note.empty())
    view_->Note("training " + now.checkpoint_note);
  if (now.checkpoint_problem != before.checkpoint_problem && !now.checkpoint_problem.empty())
    view_->Note("training goes on, but " + now.checkpoint_problem);
  if (now.room_problem != before.room_problem && !now.room_problem.empty()) {
    view_->Note("make room before training ends, else the model cannot be written: " +
                now.room_problem);
  }
  if (before.standstill.empty() && !now.standstill.empty())
    view_->Note("training stands still: " + now.standstill);
}

// An evaluator that is not started again: training may have nothing left that ends it.
void Supervisor::TellCoordinator(Time now) {
  const bool is_told =
      !report_ || report_->knows_evaluator_gone || report_->phase >= job::TrainingPhase::kSucceeded;
  if (!job::IsEvaluatorGone(status_) || is_told || !http_port_) return;
  if (now - told_at_ < kTellPeriod) return;
  told_at_ = now;
  job::TrainingJob told = job_;
  told.status.evaluator_gone = status_.evaluator_gone;
  const Status taken = PutSpec(*folder_, told);
  if (!taken.ok()) {
    view_->Note("the coordinator cannot be told that the evaluator is gone: " + Message(taken));
  }
}

job::Observation Supervisor::Observe() const {
  job::Observation seen;
  seen.processes = processes_.Seen();
  seen.status = status_;
  seen.coordinator = report_;
  return seen;
}

void Supervisor::Apply(const job::Plan& plan, Time now) {
  for (const job::PlanEvent& event : plan.events) {
    if (event.type == job::EventType::kWarning) view_->Note(event.message);
  }
  for (const job::Action& action : plan.actions) {
    if (const auto* start = std::get_if<job::Start>(&action)) {
      Start(*start, now);
    } else {
      const auto& stop = std::get<job::Stop>(action);
      processes_.Stop(stop.name, stop.grace, now);
    }
  }
}

void Supervisor::Start(const job::Start& start, Time now) {
  if (start.role == job::Role::kParameterServer) {
    // An earlier life's port and last state are not this one's.
    std::error_code ignored;
    std::filesystem::remove(folder_->PortFile(start.name), ignored);
    if (start.index == 0) {
      std::filesystem::remove(folder_->SummaryFile(), ignored);
      std::filesystem::remove(folder_->ApiPortFile(), ignored);
      http_port_.reset();
      state_.reset();
    }
    report_.reset();  // Who is lost, for one, is said anew.
  }
  Command command = LaunchCommand(launch_, *folder_, start);
  command.log_bytes_max = static_cast<uint64_t>(job_.spec.observability.logs.max_bytes);
  processes_.Start(start, command, folder_->LastWordFile(start.name), now);
}

// The first interruption asks everybody to end, a second one does not ask.
void Supervisor::StopForInterruption(Time now) {
  const int interruptions = signals_->interruptions();
  if (interruptions == interruptions_seen_) return;
  if (interruptions_seen_ == 0) {
    view_->Note(launch_.checkpoint_folder.empty()
                    ? "interrupted: stopping"
                    : "interrupted: stopping, with a checkpoint to go on from in " +
                          launch_.checkpoint_folder);
    processes_.StopAll(plan_options_.stop_grace, now);
  }
  if (interruptions > 1) processes_.KillAll();
  interruptions_seen_ = interruptions;
}

void Supervisor::Wait(const job::Plan& plan, Time now) {
  Duration wait = kAskPeriod;
  if (plan.requeue_at) wait = std::min(wait, *plan.requeue_at - now);
  if (const auto kill = processes_.NextKill()) wait = std::min(wait, *kill - now);
  signals_->Wait(std::max(wait, Duration(std::chrono::milliseconds(1))));
}

}  // namespace paceline::local

// Walks random lives of small jobs through the planner and a shell that keeps the contract of
// plan.h.
#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/job/plan/plan.h"
#include "lib/job/plan/testing/scenes.h"

namespace paceline::job {
namespace {

using namespace paceline::job::testing;  // NOLINT: scenes are this test's language.

class World {
 public:
  explicit World(uint64_t seed) : random_(seed) {
    job_ = SmallJob();
    job_.spec.parameter_server.shards = 1 + Below(2);
    job_.spec.workers.replicas = 1 + Below(3);
    job_.spec.run_policy.backoff_limit = Below(6);
    if (Below(3) == 0) job_.spec.run_policy.active_deadline_seconds = 1 + Below(300);
    if (Below(2) == 0) job_.spec.workers.straggler_policy.action = StragglerAction::kReplace;
    job_.spec.run_policy.clean_pod_policy = static_cast<CleanPodPolicy>(Below(2));
    options_.can_recover_shards = Below(2) == 0;
    options_.serves_models = Below(2) == 0;
    if (Below(2) == 0) options_.ending_grace = Seconds(10);
    if (Below(2) == 0) job_.spec.evaluator.emplace();
    if (Below(3) == 0)
      job_.spec.output.volume.emplace().persistent_volume_claim = Claim{.claim_name = "out"};
  }

  // How the job ended, and what became of its model: "Succeeded Fetched".
  std::string Run() {
    for (int round = 0; round < 400 && !::testing::Test::HasFatalFailure(); ++round) {
      const bool is_calm =
          round > 200;  // From here on nothing bad happens, and training comes to its end.
      Plan();
      const bool leaves_rest = job_.spec.run_policy.clean_pod_policy == CleanPodPolicy::kRunning;
      const bool is_clean =
          std::all_of(seen_.processes.begin(), seen_.processes.end(), [&](const SeenProcess& p) {
            return leaves_rest && p.state == ProcessState::kExited && !p.is_stopping;
          });
      if (IsFinished(seen_.status) && is_clean) return End();
      for (int i = Below(4); i > 0; --i) Happen(is_calm);
      now_ += Seconds(is_calm ? 10 : 0.1 * static_cast<double>(Below(100)));
    }
    ADD_FAILURE() << "not over and clean: " << seen_.status.state;
    return seen_.status.state;
  }

 private:
  std::string End() const {
    const std::optional<ModelStatus>& model = seen_.status.model;
    return seen_.status.state + (model ? " " + std::string(ToWord(model->state)) : "");
  }

  // A model that there is, is said to be somewhere or to be lost; what was settled stays so.
  void CheckModel(const JobStatus& before, const JobStatus& after) {
    if (!options_.serves_models || !IsFinished(after)) return;
    ASSERT_TRUE(after.model || !Holds(after, ConditionType::kSucceeded));
    if (IsFinished(before)) {
      ASSERT_EQ(before.model.has_value(), after.model.has_value());
    }
    if (before.model && before.model->state != ModelState::kAvailable) {
      ASSERT_EQ(*before.model, *after.model);
    }
  }

  int64_t Below(int64_t limit) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit));
  }

  void Plan() {
    if (seen_.coordinator)
      seen_.coordinator->generation_start = static_cast<uint64_t>(seen_.status.coordinator_starts);
    if (seen_.coordinator) {
      is_finishing_ = seen_.coordinator->phase >= TrainingPhase::kFinishing;
      is_model_written_ = seen_.coordinator->model_version.has_value();
    }
    const bool was_finished = IsFinished(seen_.status);
    const JobStatus before = seen_.status;
    const paceline::job::Plan plan = PlanJob(job_, seen_, now_, options_);
    for (const char* words : {"", "Recovering", "TrainingFailed", "Resumed"}) {
      CheckReworded(plan, words);
      if (::testing::Test::HasFatalFailure()) return;
    }
    const paceline::job::Plan same = PlanJob(job_, seen_, now_, options_);
    ASSERT_TRUE(plan.actions == same.actions && plan.status == same.status &&
                plan.events == same.events);
    ASSERT_GT(plan.requeue_at.value_or(now_ + Seconds(1)), now_);
    for (ConditionType type : {ConditionType::kSucceeded, ConditionType::kFailed}) {
      ASSERT_TRUE(!Holds(before, type) || Holds(plan.status, type));
    }
    ASSERT_FALSE(Holds(plan.status, ConditionType::kSucceeded) &&
                 Holds(plan.status, ConditionType::kFailed));
    ASSERT_GE(plan.status.coordinator_starts, before.coordinator_starts);
    CheckVerdict(before, plan.status);
    CheckModel(before, plan.status);
    const bool serves = plan.status.model && plan.status.model->state == ModelState::kAvailable;
    seen_.status = plan.status;
    for (const Action& action : plan.actions) {
      ASSERT_FALSE(serves && ToString(action).starts_with("stop digits-ps-0") &&
                   !ToString(action).ends_with(" now"))
          << ToString(action);
      ASSERT_TRUE(!IsFinished(plan.status) || std::holds_alternative<Stop>(action))
          << ToString(action);
      if (IsCoordinator(action)) {
        ASSERT_FALSE(is_model_written_) << "trains what is trained";
        is_finishing_ = false;
      }
      // Now and then the shell fails, and the next plan must say so again.
      if (Below(10) != 0) Apply(action, was_finished);
    }
  }

  // Whatever people read in a status, no plan is another one for it.
  void CheckReworded(const paceline::job::Plan& plan, const char* words) {
    if (!seen_.status.remembered) return;  // Nothing was planned yet.
    Observation reworded = seen_;
    reworded.status = Reworded(seen_.status, words);
    const paceline::job::Plan same = PlanJob(job_, reworded, now_, options_);
    ASSERT_TRUE(plan.actions == same.actions) << words;
    ASSERT_EQ(plan.requeue_at, same.requeue_at) << words;
    ASSERT_EQ(plan.is_expired, same.is_expired) << words;
    ASSERT_TRUE(Reworded(plan.status, "") == Reworded(same.status, "")) << words;
    ASSERT_EQ(Kinds(plan), Kinds(same)) << words;
  }

  static std::vector<std::pair<EventType, PlanReason>> Kinds(const paceline::job::Plan& plan) {
    std::vector<std::pair<EventType, PlanReason>> kinds;
    for (const PlanEvent& event : plan.events) kinds.emplace_back(event.type, event.reason);
    return kinds;
  }

  static bool IsCoordinator(const Action& action) {
    const Start* start = std::get_if<Start>(&action);
    return start != nullptr && start->role == Role::kParameterServer && start->index == 0;
  }

  // A model that is written is no failure of anybody, and neither is who ends once training is
  // over; an evaluator never ends a job.
  void CheckVerdict(const JobStatus& before, const JobStatus& after) {
    if (IsFinished(before) || !Holds(after, ConditionType::kFailed)) return;
    const Condition& failed = *FindCondition(after, ConditionType::kFailed);
    const bool is_word = failed.reason == ToWord(PlanReason::kTrainingFailed);
    ASSERT_TRUE(!is_model_written_ || is_word) << failed.message;
    const bool is_exit = failed.reason == ToWord(PlanReason::kCannotWork) ||
                         failed.reason == ToWord(PlanReason::kBackoffLimitExceeded);
    ASSERT_TRUE(!is_exit || failed.message.find("digits-evaluator") == std::string::npos)
        << failed.message;
    ASSERT_TRUE(!is_exit || !is_finishing_ || failed.message.find("digits-worker") != 0)
        << failed.message;
  }

  // Whoever ended by itself counts, and waits longer each time.
  void CheckRestart(const Start& start, const SeenProcess& ended) {
    ASSERT_TRUE(!is_finishing_ || start.role != Role::kWorker) << ToString(Action(start));
    const bool is_forgiven = ended.ended_at - ended.started_at >= options_.healthy_after;
    ASSERT_EQ(start.disruptions,
              (is_forgiven ? 0 : ended.disruptions) + (ended.is_disruption ? 1 : 0))
        << ToString(Action(start));
    if (ended.is_disruption) {
      ASSERT_EQ(start.failures, is_forgiven ? 0 : ended.failures) << ToString(Action(start));
      ASSERT_GE(now_, ended.ended_at + options_.backoff_min);
      return;
    }
    const bool is_unfit = start.role == Role::kWorker && ended.exit_code == kExitCannotWorkHere;
    ASSERT_EQ(start.failures, (is_forgiven ? 0 : ended.failures) + (is_unfit ? 0 : 1))
        << ToString(Action(start));
    ASSERT_EQ(start.unfit, (is_forgiven ? 0 : ended.unfit) + (is_unfit ? 1 : 0))
        << ToString(Action(start));
    const int64_t ends = start.failures + start.unfit;
    ASSERT_GE(now_, ended.ended_at + options_.backoff_min * (int64_t{1} << (ends - 1)));
  }

  void Apply(const Action& action, bool was_finished) {
    if (const Start* start = std::get_if<Start>(&action)) {
      ASSERT_FALSE(was_finished);
      for (const SeenProcess& process : seen_.processes) {
        if (process.name != start->name) continue;
        ASSERT_EQ(process.state, ProcessState::kExited) << ToString(action);
        ASSERT_FALSE(process.is_stopping) << ToString(action);
        CheckRestart(*start, process);
      }
      Remove(seen_, start->name);
      SeenProcess process = Running(start->role, start->index);
      process.state = ProcessState::kPending;
      process.started_at = now_;
      process.attempt = start->attempt;
      process.failures = start->failures;
      process.unfit = start->unfit;
      process.disruptions = start->disruptions;
      seen_.processes.push_back(process);
      if (IsCoordinator(action)) seen_.coordinator.reset();
      return;
    }
    const Stop& stop = std::get<Stop>(action);
    bool is_there = false;
    for (SeenProcess& process : seen_.processes) {
      if (process.name != stop.name) continue;
      const bool is_forced = stop.grace == Duration::zero();
      ASSERT_TRUE(is_forced || !process.is_stopping) << "stopped twice: " << stop.name;
      ASSERT_TRUE(!is_forced || process.is_stopping || process.node_lost_since || IsLost(process))
          << "forced what can be asked: " << stop.name;
      process.is_stopping = true;
      process.gone_by = now_ + stop.grace;
      is_there = true;
    }
    ASSERT_TRUE(is_there) << "stopped what is not there: " << stop.name;
    if (stop.grace == Duration::zero()) Remove(seen_, stop.name);
  }

  bool IsLost(const SeenProcess& process) const {
    return process.role == Role::kParameterServer && seen_.coordinator &&
           std::ranges::any_of(seen_.coordinator->lost_shards, [&](const SeenLostShard& lost) {
             return lost.rank == process.index;
           });
  }

  void Happen(bool is_calm) {
    // What is on a dead machine does not go by itself.
    std::erase_if(seen_.processes, [&](const SeenProcess& process) {
      return process.is_stopping && !process.node_lost_since && Below(2) == 0;
    });
    if (is_calm) job_.spec.run_policy.suspend = false;
    if (!is_calm && Below(40) == 0) job_.spec.run_policy.suspend = !job_.spec.run_policy.suspend;
    if (!is_calm && Below(40) == 0) job_.spec.workers.replicas = 1 + Below(4);
    if (is_calm || Below(10) == 0)
      seen_.resources_trouble = is_calm || Below(2) == 0 ? "" : "exceeded quota";
    if (seen_.processes.empty()) return;
    SeenProcess& process =
        seen_.processes[static_cast<size_t>(Below(static_cast<int64_t>(seen_.processes.size())))];
    if (!is_calm && !process.node_lost_since && Below(60) == 0) process.node_lost_since = now_;
    if (process.is_stopping || process.node_lost_since) return;
    if (process.state == ProcessState::kPending && (is_calm || Below(8) != 0))
      process.state = ProcessState::kRunning;
    if (!is_calm && process.state == ProcessState::kRunning && Below(25) == 0) {
      process.state = ProcessState::kExited;
      process.ended_at = now_;
      process.is_disruption = Below(3) == 0;
      const bool is_server = process.role == Role::kParameterServer;
      process.exit_code = Below(20) == 0                  ? kExitCannotWork
                          : Below(4) == 0                 ? kExitCannotWorkHere
                          : (Below(4) == 0 && !is_server) ? 0
                                                          : 1;
      if (Below(8) == 0)
        seen_.processes.erase(seen_.processes.begin() + (&process - seen_.processes.data()));
    }
    Progress(is_calm);
  }

  void Progress(bool is_calm) {
    const bool is_alive =
        std::any_of(seen_.processes.begin(), seen_.processes.end(), [](const SeenProcess& process) {
          return process.role == Role::kParameterServer && process.index == 0 &&
                 process.state == ProcessState::kRunning && !process.is_stopping;
        });
    if (!is_alive) {
      if (!is_last_word_) seen_.coordinator.reset();
      return;
    }
    if (!seen_.coordinator) seen_.coordinator.emplace();
    CoordinatorReport& report = *seen_.coordinator;
    report.stragglers.clear();
    if (Below(10) == 0) report.stragglers.push_back({Below(job_.spec.workers.replicas), 300});
    report.lost_shards.clear();
    if (!is_calm && Below(10) == 0) {
      report.lost_shards.push_back(
          {Below(2), "silent", static_cast<double>(Below(100)), Below(2) == 0});
    }
    Trouble(report);
    if (report.phase == TrainingPhase::kStartup) report.phase = TrainingPhase::kTraining;
    if (IsFinished(seen_.status)) return ServeOn(report);
    if (report.phase == TrainingPhase::kTraining && Below(is_calm ? 5 : 100) == 0)
      report.phase = TrainingPhase::kFinishing;
    if (report.phase == TrainingPhase::kFinishing && Below(5) == 0) report.model_version = 7;
    if (Below(is_calm ? 5 : 300) == 0) report.phase = TrainingPhase::kSucceeded;
    if (!is_calm && Below(500) == 0) report.phase = TrainingPhase::kFailed;
    if (report.phase == TrainingPhase::kSucceeded ||
        (report.phase == TrainingPhase::kFailed && Below(2) == 0))
      report.model = SeenModel{.size_bytes = 10, .sha256 = "ab"};
  }

  // What is told of, and changes nothing.
  void Trouble(CoordinatorReport& report) {
    const auto now_and_then = [&](std::string& trouble) {
      if (Below(10) == 0) trouble = Below(2) == 0 ? "" : "no space left on device";
    };
    for (std::string* trouble : {&report.checkpoint_trouble, &report.standstill,
                                 &report.checkpoint_note, &report.target_problem})
      now_and_then(*trouble);
    report.restored_from = report.generation_start > 1 ? 3 : 0;
    report.progress = paceline::job::Progress{.step = 5 + Below(3)};
  }

  // Sooner or later somebody fetches what is served, or the time is over.
  void ServeOn(CoordinatorReport& report) {
    if (!seen_.status.model || seen_.status.model->state != ModelState::kAvailable) return;
    if (Below(100) == 0) now_ += std::chrono::hours(24);
    if (Below(5) != 0) return;
    SeenProcess& coordinator = Find(seen_, "digits-ps-0");
    coordinator.state = ProcessState::kExited;
    coordinator.ended_at = now_;
    report.model = SeenModel{.size_bytes = 10, .sha256 = "ab", .is_fetched = true};
    is_last_word_ = true;
  }

  std::mt19937_64 random_;
  TrainingJob job_;
  PlanOptions options_;
  Observation seen_;
  // As the coordinator that runs, or ran last, has said to a plan.
  bool is_finishing_ = false;
  bool is_model_written_ = false;
  Time now_ = At(1000);
  bool is_last_word_ = false;  // The coordinator has left one.
};

TEST(PlannerWalk, EveryLifeKeepsTheRulesAndComesToItsEnd) {
  std::map<std::string, int> ends;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    ++ends[World(seed).Run()];
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(ends["Succeeded"], 200);  // By shells that say themselves where models are.
  EXPECT_GT(ends["Failed"], 200);
  for (const char* end : {"Succeeded Fetched", "Succeeded Expired", "Succeeded Lost",
                          "Succeeded OnVolume", "Failed Fetched"})
    EXPECT_GT(ends[end], 0) << end;
}

}  // namespace
}  // namespace paceline::job

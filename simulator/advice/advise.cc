#include <algorithm>
#include <utility>

#include "simulator/advice/advice.h"
#include "simulator/calibration/fit.h"
#include "simulator/calibration/scenario_text.h"
#include "simulator/calibration/still.h"
#include "simulator/scenario/scenario.h"

namespace paceline::simulator {
namespace {

// What the recorded scheme may take, as many times a step of its slowest worker: at the least rate
// BSP takes a fifth of it.
constexpr double kRecordedSteps = 2'000;

Status CheckSteps(const FittedCluster& cluster) {
  const FittedWorker& most = *std::ranges::max_element(cluster.workers, {}, &FittedWorker::steps);
  if (most.steps >= kStepsMin) return OkStatus();
  return InvalidArgument(
      "too few pushes to say how fast anything is: {} steps of {} count, want {}", most.steps,
      most.worker, kStepsMin);
}

// By way of the scenario that paceline calibrate writes, so that both are of one cluster.
StatusOr<ClusterOptions> ClusterOf(const Recording& recording) {
  PACELINE_ASSIGN_OR_RETURN(const FittedCluster fitted, Fit(recording));
  PACELINE_RETURN_IF_ERROR(CheckSteps(fitted));
  LoadedScenario loaded = LoadScenario(ScenarioText(recording, fitted, "", ""));
  if (!loaded.errors.empty()) {
    return InvalidArgument("its cluster cannot be simulated: {}",
                           job::ToString(loaded.errors.front()));
  }
  double slowest = 0;
  for (const FittedWorker& worker : fitted.workers) {
    const double samples =
        static_cast<double>(recording.batch) / static_cast<double>(fitted.workers.size());
    slowest = std::max(slowest,
                       (fitted.fixed_seconds + samples * fitted.per_sample_seconds) / worker.speed);
  }
  ClusterOptions cluster = std::move(loaded.scenario.cluster);
  cluster.steps_max = 0;
  cluster.seconds_max = kRecordedSteps * slowest;
  return cluster;
}

// As the recording's, whatever the first version was and how many workers were wanted.
StatusOr<Candidate> RecordedCandidate(const Recording& recording) {
  PACELINE_ASSIGN_OR_RETURN(const sync::PolicySpec policy, sync::ParsePolicySpec(recording.policy));
  return Candidate{"recorded", {}, policy, MixesVersions(policy)};
}

bool IsSame(sync::PolicySpec a, const sync::PolicySpec& b) {
  a.workers_expected = b.workers_expected;
  a.first_version = b.first_version;
  return a == b;
}

// The candidate that the recorded scheme is, or the recorded scheme before all.
void PutRecorded(Candidate recorded, std::vector<TriedArm>& arms) {
  for (TriedArm& arm : arms) arm.is_recorded = IsSame(arm.candidate.policy, recorded.policy);
  if (std::ranges::none_of(arms, &TriedArm::is_recorded))
    arms.insert(arms.begin(), {std::move(recorded), true, {}});
  std::stable_partition(arms.begin(), arms.end(),
                        [](const TriedArm& arm) { return arm.is_recorded; });
}

// Of a version of that scheme on the cluster, until it has made as many as were recorded, whatever
// they are worth: what is slow later in a run counts as it did there.
StatusOr<double> SecondsOfVersion(const Report& report, const sync::PolicySpec& recorded) {
  ClusterOptions options = report.cluster;
  options.policy = recorded;
  options.target_loss = 0;
  options.seconds_max = 0;
  options.steps_max = report.recording.versions;
  PACELINE_ASSIGN_OR_RETURN(const Life life, Simulate(options));
  return life.versions.back().at_seconds / static_cast<double>(life.versions.size());
}

void SetTraining(const Setting& setting, ClusterOptions& cluster) {
  cluster.learning_rate = setting.simulated_rate;
  cluster.schedule.warmup_steps = setting.warmup_steps;
  cluster.momentum = setting.momentum;
}

// Of the arms on the cluster as it would have been, had its workers not hindered each other.
StatusOr<Advice> JudgedStill(std::vector<TriedArm> arms, const Report& report,
                             const AdviseOptions& options) {
  PACELINE_ASSIGN_OR_RETURN(ClusterOptions cluster, ClusterOf(Still(report.recording)));
  SetTraining(report.setting, cluster);
  PACELINE_ASSIGN_OR_RETURN(const TriedArms screened,
                            TryArms(std::move(arms), std::move(cluster), {.seeds = options.seeds},
                                    " by itself", options.on_arm));
  return Judge(screened.tried, report.setting.momentum > 0, AtBest::kMedian);
}

void TryTheModel(const std::vector<TriedArm>& tried, const AdviseOptions& options, Report& report) {
  report.why_no_model = options.why_no_model;
  if (!options.model) return;
  if (report.still && !report.still->best) {
    report.why_no_model =
        "on the objective nothing is faster where its processes do not hinder each other";
    return;
  }
  StatusOr<OnModel> found =
      TryOnModel(*options.model, report.cluster, report.recording.seconds, tried, report.advice,
                 {.seeds_max = options.seeds,
                  .seconds = options.model_seconds,
                  .now = options.now,
                  .on_arm = options.on_arm,
                  .still = report.still ? &*report.still : nullptr});
  if (found.ok()) {
    report.on_model = *std::move(found);
  } else {
    report.why_no_model = Message(found.status());
  }
}

}  // namespace

StatusOr<Report> Advise(const std::string& trace, const std::string& job_json,
                        const AdviseOptions& options) {
  Report report{.source = options.source, .seeds = options.seeds};
  PACELINE_ASSIGN_OR_RETURN(report.recording, ReadRecording(trace));
  PACELINE_ASSIGN_OR_RETURN(report.cluster, ClusterOf(report.recording));
  PACELINE_ASSIGN_OR_RETURN(report.setting, SettingOf(job_json, report.recording));
  PACELINE_ASSIGN_OR_RETURN(Candidate recorded, RecordedCandidate(report.recording));
  const auto workers = static_cast<uint32_t>(report.cluster.workers.size());
  Candidates candidates = CandidatesFor(report.setting.manifest, workers);
  report.left_out = std::move(candidates.left_out);
  SetTraining(report.setting, report.cluster);

  PACELINE_ASSIGN_OR_RETURN(report.simulated_seconds, SecondsOfVersion(report, recorded.policy));
  std::vector<TriedArm> arms;
  for (Candidate& candidate : candidates.all) arms.push_back({std::move(candidate), false, {}});
  PutRecorded(std::move(recorded), arms);
  if (options.is_on_one_machine) {
    PACELINE_ASSIGN_OR_RETURN(report.still, JudgedStill(arms, report, options));
  }
  PACELINE_ASSIGN_OR_RETURN(
      const TriedArms screened,
      TryArms(std::move(arms), report.cluster, {.seeds = options.seeds}, "", options.on_arm));
  report.left_out.insert(report.left_out.end(), screened.left_out.begin(), screened.left_out.end());
  report.advice = Judge(screened.tried, report.setting.momentum > 0, AtBest::kEverySeed,
                        report.still ? &*report.still : nullptr);
  TryTheModel(screened.tried, options, report);
  return report;
}

}  // namespace paceline::simulator

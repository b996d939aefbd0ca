// What judging versions does to a job: early stopping, the learning rate, which version is kept.
#include <vector>

#include <gtest/gtest.h>

#include "lib/coordination/testing.h"

namespace paceline::coordination {
namespace {

using testing::Job;

constexpr uint64_t kEvaluator = 9;

CoordinatorOptions Options() {
  CoordinatorOptions options;
  options.workers_max = 4;
  options.global_batch_size = 8;
  options.epochs_max = 100;
  options.has_evaluator = true;
  options.evaluation_period = Seconds(0);
  return options;
}

void Open(Job& job) {
  job.Opened({{1, 0}});
  job.JoinEvaluator(kEvaluator);
}

// One step, whose version is judged.
void Step(Job& job, uint64_t version, double loss) {
  job.PushFor(1);
  job.CommittedEverywhere(version);
  job.Hear(kEvaluator, protocol::Evaluated{Version(version), loss, std::nullopt, 100});
}

std::vector<Version> Unpinned(const Job& job) {
  std::vector<Version> versions;
  for (const protocol::Unpin& order : job.AllOrdered<protocol::Unpin>())
    versions.push_back(order.version);
  return versions;
}

TEST(JudgedTest, TrainingEndsEarlyAfterAsManyEvaluationsWithoutABetterOne) {
  CoordinatorOptions options = Options();
  options.judging.patience = 2;
  Job job(options);
  Open(job);
  const double losses[] = {0.5, 0.6, 0.4, 0.45};
  for (uint64_t i = 0; i < 4; ++i) Step(job, i + 1, losses[i]);
  EXPECT_EQ(job.coordinator.status().phase, Phase::kTraining);
  Step(job, 5, 0.4);
  EXPECT_EQ(job.coordinator.status().phase, Phase::kFinishing);
  job.Step(ModelSaved{job.Last<SaveModel>().version, {1, 0}, ""});
  job.Hear(kEvaluator, protocol::Evaluated{job.Last<SaveModel>().version, 0.4, std::nullopt, 100});
  EXPECT_TRUE(job.Last<Finished>().is_success);
  EXPECT_EQ(job.outcome(), "stopped early: no better Loss than 0.4 of v3 in 2 evaluations");
}

TEST(JudgedTest, ATargetMayBeAMetricOfTheModelsOwn) {
  CoordinatorOptions options = Options();
  options.target = Target{{"perplexity", false}, 20};
  Job job(options);
  Open(job);
  job.PushFor(1);
  job.CommittedEverywhere(1);
  job.Hear(kEvaluator,
           protocol::Evaluated{Version(1), 9, std::nullopt, 100, "", {{"perplexity", 20.5}}});
  EXPECT_EQ(job.coordinator.status().phase, Phase::kTraining);
  EXPECT_EQ(job.coordinator.status().target_problem, "");
  job.PushFor(1);
  job.CommittedEverywhere(2);
  job.Hear(kEvaluator,
           protocol::Evaluated{Version(2), 9, std::nullopt, 100, "", {{"perplexity", 19.5}}});
  job.Step(ModelSaved{Version(2), {1, 0}, ""});
  EXPECT_EQ(job.outcome(), "target perplexity <= 20 reached: 19.5 at v2");
}

TEST(JudgedTest, AMetricThatIsNotThereEndsWhatHangsOnIt) {
  CoordinatorOptions options = Options();
  options.judging.patience = 3;
  options.judging.measure = {"f1", true};
  Job endless(options);
  Open(endless);
  Step(endless, 1, 0.5);
  EXPECT_EQ(endless.coordinator.status().phase, Phase::kTraining);  // It has epochs.
  EXPECT_EQ(endless.coordinator.status().target_problem,
            "no version can be judged by its f1: there is no metric f1, and no other of the "
            "model's own");
  options.epochs_max = 0;
  Job job(options);
  Open(job);
  Step(job, 1, 0.5);
  EXPECT_EQ(job.coordinator.status().phase, Phase::kFinishing);
  EXPECT_EQ(job.coordinator.status().stop_reason.value_or(""),
            endless.coordinator.status().target_problem);
  // Patience ends it some day, where the target cannot be judged...
  options.judging.measure = {"Loss", false};
  options.target = Target{{"f1", true}, 0.1};
  Job early(options);
  Open(early);
  Step(early, 1, 0.5);
  EXPECT_EQ(early.coordinator.status().phase, Phase::kTraining);
  // ...and a target that can be.
  options.judging.measure = {"f1", true};
  options.target = Target{{"Loss", false}, 0.1};
  Job other(options);
  Open(other);
  Step(other, 1, 0.5);
  EXPECT_EQ(other.coordinator.status().phase, Phase::kTraining);
}

// Trained to the end, with the best version, 3, written; the last one is not judged yet.
CoordinatorOptions FiveSteps() {
  CoordinatorOptions options = Options();
  options.judging.keeps_best = true;
  options.epochs_max = 0;
  options.steps_max = 5;
  return options;
}
void SaveTheThird(Job& job) {
  Open(job);
  const double losses[] = {0.5, 0.6, 0.4, 0.45};
  for (uint64_t i = 0; i < 4; ++i) Step(job, i + 1, losses[i]);
  job.PushFor(1);
  job.CommittedEverywhere(5);
  EXPECT_EQ(job.Last<SaveModel>().version, Version(3));
  job.Step(ModelSaved{Version(3), {1, 0}, ""});
  EXPECT_FALSE(job.Has<Finished>());
  EXPECT_EQ(job.Sent<protocol::Evaluate>(kEvaluator).version, Version(5));
}
void JudgeTheLast(Job& job, double loss) {
  job.Hear(kEvaluator, protocol::Evaluated{Version(5), loss, std::nullopt, 100});
}

TEST(JudgedTest, TheBestVersionStaysPinned) {
  Job job(FiveSteps());
  Open(job);
  Step(job, 1, 0.5);
  EXPECT_EQ(Unpinned(job), std::vector<Version>{});
  Step(job, 2, 0.6);
  EXPECT_EQ(Unpinned(job), std::vector<Version>{Version(2)});
  Step(job, 3, 0.4);
  EXPECT_EQ(Unpinned(job), (std::vector<Version>{Version(2), Version(1)}));
  EXPECT_EQ(job.coordinator.status().kept, Version(3));
}

TEST(JudgedTest, TheBestVersionIsTheModel) {
  Job job(FiveSteps());
  SaveTheThird(job);
  JudgeTheLast(job, 0.7);
  EXPECT_EQ(job.outcome(), "stopped after 5 steps; the model is v3, the best: Loss 0.4");
  EXPECT_EQ(job.coordinator.status().evaluation->loss, 0.4);
}

TEST(JudgedTest, TheOutcomeSaysThatTheModelIsAnAverage) {
  CoordinatorOptions options = FiveSteps();
  options.averages_weights = true;
  Job job(options);
  SaveTheThird(job);
  JudgeTheLast(job, 0.7);
  EXPECT_EQ(job.outcome(),
            "stopped after 5 steps; the model is v3, the best: Loss 0.4; the model is the moving "
            "average of the weights");
}

TEST(JudgedTest, AVersionThatMetTheTargetIsTheModelThoughAnotherIsBetter) {
  CoordinatorOptions options = FiveSteps();
  options.target = Target{{"Accuracy", true}, 0.9};
  Job job(options);
  Open(job);
  Step(job, 1, 0.25);
  job.PushFor(1);
  job.CommittedEverywhere(2);
  job.Hear(kEvaluator, protocol::Evaluated{Version(2), 0.5, 0.95, 100});
  EXPECT_EQ(job.Last<SaveModel>().version, Version(2));
}

TEST(JudgedTest, TheLastVersionMayBeTheBest) {
  for (const char* const problem : {"", "disk full"}) {
    Job job(FiveSteps());
    SaveTheThird(job);
    JudgeTheLast(job, 0.3);
    EXPECT_EQ(job.Last<SaveModel>().version, Version(5));
    job.Step(ModelSaved{Version(5), {1, 0}, problem});
    EXPECT_EQ(job.outcome(),
              *problem == 0 ? "stopped after 5 steps; the model is v5, the best: Loss 0.3"
                            : "stopped after 5 steps; the model is v3; the best, v5 of Loss 0.3, "
                              "cannot be saved: disk full");
  }
}

TEST(JudgedTest, ABetterVersionThatShardsHadBeforeIsToldAsLost) {
  CoordinatorOptions options = FiveSteps();
  options.has_evaluator = false;
  options.steps_max = 2;
  options.checkpoint.emplace();
  options.checkpoint->period = Seconds(1);
  Job before(options);
  before.Opened({{1, 0}});
  before.Keep();
  before.PassBeating(Seconds(1), {1});
  before.PushFor(1);
  before.CommittedEverywhere(1);
  before.Keep();
  EXPECT_EQ(before.Last<CompleteCheckpoint>().checkpoint.state.judged, Judged());
  options.generation = {2, 0};
  options.checkpoint->serial = 2;
  options.checkpoint->found = {before.Last<CompleteCheckpoint>().checkpoint};
  options.checkpoint->found[0].state.judged.best = Best{Version(1), 0.25};
  Job job(options);
  job.Register(0);
  job.OpenedAgain({2, 0}, true, {{1, 0}});
  EXPECT_EQ(job.coordinator.status().judged.best, (Best{Version(1), 0.25}));
  job.PushFor(1);
  job.CommittedEverywhere(2);
  job.Keep();
  job.Step(ModelSaved{Version(2), {2, 0}, ""});
  EXPECT_EQ(job.outcome(),
            "stopped after 2 steps; the model is v2, the last: no version could be judged; v1 was "
            "better, 0.25, and is lost with what the shards had before");
}

TEST(JudgedTest, ACheckpointHasWhatWasFound) {
  CoordinatorOptions options = Options();
  options.checkpoint.emplace();
  options.checkpoint->period = Seconds(1);
  Job job(options);
  Open(job);
  job.Keep();
  Step(job, 1, 0.5);
  job.PassBeating(Seconds(1), {1, kEvaluator});
  Step(job, 2, 0.75);
  job.Keep();
  const Judged judged = job.Last<CompleteCheckpoint>().checkpoint.state.judged;
  EXPECT_EQ(judged.best, (Best{Version(1), 0.5}));
}

// Up to version 2, with version 1 the best, and a checkpoint of 2 or a later one.
Checkpoint WithTheFirstBest(CoordinatorOptions options) {
  options.checkpoint.emplace();
  options.checkpoint->period = Seconds(1);
  Job job(options);
  Open(job);
  job.Keep();
  EXPECT_EQ(job.AllOrdered<protocol::SaveSlice>().back().kept, std::nullopt);
  Step(job, 1, 0.25);
  job.PassBeating(Seconds(1), {1, kEvaluator});
  Step(job, 2, 0.75);
  EXPECT_EQ(job.AllOrdered<protocol::SaveSlice>().back().kept, Version(1));
  job.Keep();
  return job.Last<CompleteCheckpoint>().checkpoint;
}

// A later life of it.
CoordinatorOptions GoingOn(CoordinatorOptions options) {
  const Checkpoint from = WithTheFirstBest(options);
  options.generation = {2, 0};
  options.checkpoint.emplace();
  options.checkpoint->serial = from.serial;
  options.checkpoint->found = {from};
  return options;
}

TEST(JudgedTest, TheBestVersionComesBackWithTheCheckpoint) {
  CoordinatorOptions options = FiveSteps();
  options.steps_max = 3;
  options = GoingOn(options);
  options.has_evaluator = false;
  Job job(options);
  job.Register(0);
  ASSERT_TRUE(job.Last<ConfigureShards>().restore.has_value());
  EXPECT_EQ(job.Last<ConfigureShards>().restore->kept, Version(1));
  job.OpenedAgain({2, 0}, true, {{1, 0}});
  EXPECT_EQ(job.coordinator.status().kept, Version(1));
  job.PushFor(1);
  job.CommittedEverywhere(3);
  job.Keep();
  EXPECT_EQ(job.Last<SaveModel>().version, Version(1));
  job.Step(ModelSaved{Version(1), {2, 0}, ""});
  EXPECT_EQ(job.outcome(), "stopped after 3 steps; the model is v1, the best: Loss 0.25");
  EXPECT_EQ(job.coordinator.status().evaluation->loss, 0.25);
}

TEST(JudgedTest, ABetterOneTakesThePlaceOfWhatTheCheckpointKept) {
  Job job(GoingOn(FiveSteps()));
  job.Register(0);
  job.OpenedAgain({2, 0}, true, {{1, 0}});
  job.JoinEvaluator(kEvaluator);
  Step(job, 3, 0.125);
  EXPECT_EQ(Unpinned(job), std::vector<Version>{Version(1)});
  EXPECT_EQ(job.coordinator.status().kept, Version(3));
}

TEST(JudgedTest, NothingIsKeptThatIsNotWantedAnyMore) {
  CoordinatorOptions last = GoingOn(FiveSteps());
  last.judging.keeps_best = false;
  CoordinatorOptions other = GoingOn(FiveSteps());
  other.judging.measure = {"Accuracy", true};
  for (const CoordinatorOptions& options : {last, other}) {
    Job job(options);
    job.Register(0);
    ASSERT_TRUE(job.Last<ConfigureShards>().restore.has_value());
    EXPECT_EQ(job.Last<ConfigureShards>().restore->kept, std::nullopt);
    EXPECT_EQ(job.coordinator.status().kept, std::nullopt);
  }
  // By another measure nothing that was judged counts, but the rate stays cut.
  other.checkpoint->found[0].state.judged.cuts = 2;
  EXPECT_EQ(Job(other).coordinator.status().judged, (Judged{.cuts = 2}));
}

TEST(JudgedTest, AnotherMeasureBeginsAnew) {
  CoordinatorOptions options = Options();
  options.judging.keeps_best = true;
  Job job(options);
  Open(job);
  Step(job, 1, 0.5);
  SpecChanged changed;
  changed.evaluations = Evaluations{Seconds(0), {"Loss", false}, 0.2};
  job.Step(changed);
  Step(job, 2, 0.4);  // Not by enough.
  EXPECT_EQ(job.coordinator.status().judged.best, (Best{Version(1), 0.5}));
  changed.evaluations->measure = {"Loss", /*is_higher_better=*/true};
  job.Step(changed);
  EXPECT_EQ(Unpinned(job), (std::vector<Version>{Version(2), Version(1)}));
  Step(job, 3, 0.3);
  EXPECT_EQ(job.coordinator.status().judged.best, (Best{Version(3), 0.3}));
  Step(job, 4, 0.9);
  EXPECT_EQ(job.coordinator.status().judged.best, (Best{Version(4), 0.9}));
  changed.evaluations->period = Seconds(3600);
  job.Step(changed);
  job.PushFor(1);
  EXPECT_FALSE(job.AllOrdered<protocol::CommitAll>().back().commit.is_pinned);
}

TEST(JudgedTest, CutsOfThePlateauAreOfTheNextCommit) {
  CoordinatorOptions options = Options();
  options.schedule.base = 0.5;
  options.judging.plateau = JudgingOptions::Plateau{0.5, 1, 0.1};
  Job job(options);
  Open(job);
  const double losses[] = {1, 1, 1, 1, 1, 1, 1, 1};
  for (uint64_t i = 0; i < 8; ++i) Step(job, i + 1, losses[i]);
  std::vector<double> rates;
  for (const protocol::CommitAll& order : job.AllOrdered<protocol::CommitAll>())
    rates.push_back(order.commit.learning_rate);
  // The first is the best; two in a row are one too many.
  EXPECT_EQ(rates, (std::vector<double>{0.5, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125, 0.1}));
}

}  // namespace
}  // namespace paceline::coordination

// What is said where the job's own model can be tried: here it is a quadratic of another kind.
#include <algorithm>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "simulator/advice/advice_text.h"
#include "simulator/advice/testing.h"
#include "simulator/model/quadratic.h"

namespace paceline::simulator {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// So noisy that what fewer samples say is worth little.
constexpr QuadraticModel kNoisy{.noise = 20};

// Tries a run of BSP whose workers are irregular, so that on the usual quadratic it is best not to
// wait for all.
class Trying {
 public:
  explicit Trying(Objective& model) {
    ModelSetting setting{.name = "own.pt", .until = "loss 0.2", .target_loss = 0.2, .rate = 0.25};
    options_ = {
        .source = "run",
        .seeds = 4,
        .on_arm = [this](const std::string& name, size_t, size_t) { arms_.push_back(name); },
        .model = OwnModel{setting, &model, 1000},
        .model_seconds = 1e6,
        .now = [this] { return clock_ += tick_; }};
  }

  Report Told() {
    StatusOr<Report> report = Advise(trace_, testing::JobOf(6, R"({"type": "SGD"})"), options_);
    EXPECT_TRUE(report.ok()) << report.status();
    return *std::move(report);
  }

  std::string trace_ = testing::IrregularTrace();
  AdviseOptions options_;
  double clock_ = 0, tick_ = 0;  // Seconds; what each question to the clock takes.
  std::vector<std::string> arms_;
};

const ArmAdvice* Find(const Advice& advice, const std::string& name) {
  const auto found = std::ranges::find(advice.arms, name, &ArmAdvice::name);
  return found == advice.arms.end() ? nullptr : &*found;
}

TEST(OnModel, TheModelHasTheLastWord) {
  Quadratic noisy(kNoisy);
  Trying trying(noisy);
  const Report report = trying.Told();
  ASSERT_TRUE(report.on_model) << report.why_no_model;
  ASSERT_TRUE(report.advice.best);
  const ArmAdvice& screened = report.advice.arms[*report.advice.best];
  const ArmAdvice* const tried = Find(report.on_model->advice, screened.name);
  ASSERT_NE(tried, nullptr);
  EXPECT_LT(tried->equal.gain->median, screened.equal.gain->median)
      << "its gradients are worth less to the model";
  EXPECT_EQ(&report.verdict(), &report.on_model->advice);
  EXPECT_EQ(report.on_model->seeds, 4u);

  const std::string text = AdviceText(report);
  EXPECT_THAT(text, HasSubstr("On the job's own model, own.pt, until loss 0.2, at its rate 0.25"));
  EXPECT_THAT(text, Not(HasSubstr("Gradients are the objective's")));
  const auto json = nlohmann::json::parse(AdviceJson(report));
  EXPECT_EQ(json["judged_on"], "model");
  EXPECT_EQ(json["model"]["arms"].size(), report.on_model->advice.arms.size());
  if (report.on_model->advice.best) {
    EXPECT_EQ(json["best"], report.on_model->advice.arms[*report.on_model->advice.best].name);
  } else {
    EXPECT_TRUE(json["best"].is_null());
  }
}

// The very lives that Simulate has.
TEST(OnModel, ItIsTriedAtTheJobsRateUntilItsTarget) {
  Quadratic noisy(kNoisy);
  Trying trying(noisy);
  const Report report = trying.Told();
  OwnModel model = *trying.options_.model;
  ClusterOptions cluster = ClusterWith(model, report.cluster, report.recording.seconds);
  cluster.policy = *sync::ParsePolicySpec("BSP");
  cluster.policy.global_batch_size = 60;
  std::vector<double> seconds;
  for (const uint64_t seed : {1, 2, 3, 4}) {
    cluster.seed = seed;
    const Life life = testing::Lived(cluster);
    EXPECT_EQ(life.ending, Ending::kTarget);
    seconds.push_back(life.seconds);
  }
  std::ranges::sort(seconds);
  EXPECT_EQ(report.on_model->advice.Recorded().equal.seconds, (seconds[1] + seconds[2]) / 2);
}

TEST(OnModel, TheRecordedSchemeAndTheBestOfTheOthersAreTried) {
  Quadratic noisy(kNoisy);
  Trying trying(noisy);
  const Report report = trying.Told();
  const std::vector<std::string> worth = WorthATrial(report.advice);
  EXPECT_EQ(report.on_model->advice.arms.size(), worth.size() + 1);
  for (const std::string& name : worth) EXPECT_NE(Find(report.on_model->advice, name), nullptr);
  EXPECT_THAT(trying.arms_, Contains("bsp on the model"));
}

TEST(OnModel, WhereLivesAreLongFewerSeedsAreLived) {
  Quadratic noisy(kNoisy);
  Trying trying(noisy);
  trying.tick_ = 0.01;
  trying.options_.seeds = 50;
  trying.options_.model_seconds = 600;
  const Report some = trying.Told();
  ASSERT_TRUE(some.on_model) << some.why_no_model;
  EXPECT_GT(some.on_model->seeds, kSeedsLeast);
  EXPECT_LT(some.on_model->seeds, 50u);
  EXPECT_THAT(AdviceText(some), HasSubstr("Of 50 seeds there was time for"));
  const double took = trying.clock_;
  EXPECT_LT(took, 1.5 * 600 + 10);
  EXPECT_GT(took, 200);
}

TEST(OnModel, WhatThereIsNoTimeForIsLeftOut) {
  Quadratic noisy(kNoisy);
  Trying trying(noisy);
  trying.tick_ = 0.01;
  trying.options_.model_seconds = 600;
  // From the third arm on the machine has other things to do.
  trying.options_.on_arm = [&](const std::string& name, size_t done, size_t) {
    if (name.ends_with(" on the model") && done == 2) trying.tick_ = 100;
  };
  const Report report = trying.Told();
  ASSERT_TRUE(report.on_model) << report.why_no_model;
  EXPECT_EQ(report.on_model->advice.arms.size(), 2u);
  EXPECT_THAT(report.on_model->left_out, Not(IsEmpty()));
  EXPECT_THAT(AdviceText(report), HasSubstr("(there was no time left)"));
}

TEST(OnModel, WhereOneLifeTakesTooLongTheQuadraticIsAllThatIsSaid) {
  Quadratic noisy(kNoisy);
  Trying trying(noisy);
  trying.tick_ = 10;
  trying.options_.model_seconds = 120;
  const Report report = trying.Told();
  EXPECT_FALSE(report.on_model);
  EXPECT_EQ(&report.verdict(), &report.advice);
  EXPECT_TRUE(report.advice.best);
  EXPECT_THAT(AdviceText(report),
              HasSubstr("Not tried on the job's own model: a life of the recorded scheme on it "
                        "takes more than 5 s, too long for --model-seconds 120.\n"));
  const auto json = nlohmann::json::parse(AdviceJson(report));
  EXPECT_EQ(json["judged_on"], "objective");
  EXPECT_TRUE(json["model"].is_null());
  EXPECT_THAT(json["why_no_model"].get<std::string>(), HasSubstr("takes more than 5 s"));
}

TEST(OnModel, NothingIsTriedWhereProcessesOfOneMachineDidItAll) {
  Quadratic noisy(kNoisy);
  Trying trying(noisy);
  trying.options_.is_on_one_machine = true;
  const Report report = trying.Told();
  EXPECT_FALSE(report.on_model);
  EXPECT_EQ(std::ranges::count(trying.arms_, "bsp on the model"), 0);
  EXPECT_THAT(AdviceText(report), HasSubstr("Nothing would have been faster than bsp: "));
  EXPECT_THAT(AdviceText(report),
              HasSubstr("Not tried on the job's own model: on the objective nothing is faster "
                        "where its processes do not hinder each other.\n"));
  trying.trace_ = testing::Injected(trying.trace_);
  EXPECT_TRUE(trying.Told().on_model);
}

// Of those that the model has the last word on.
TEST(OnModel, WhatProcessesDidToEachOtherIsNoGainOnAModelEither) {
  Quadratic usual({.noise = 0.5});
  Trying trying(usual);
  const Report report = trying.Told();
  ASSERT_TRUE(report.on_model && report.on_model->advice.best);
  const std::string best = report.on_model->advice.arms[*report.on_model->advice.best].name;
  Advice still = report.advice;
  for (ArmAdvice& arm : still.arms) arm.is_surely_faster = arm.name != best;
  std::vector<TriedArm> arms;
  for (Candidate& candidate : CandidatesFor(report.setting.manifest, 6).all)
    arms.push_back({candidate, candidate.name == "bsp", {}});
  const StatusOr<OnModel> on_model = TryOnModel(*trying.options_.model, report.cluster,
                                                report.recording.seconds, arms, report.advice,
                                                {.seeds_max = 4,
                                                 .seconds = 1e6,
                                                 .now = trying.options_.now,
                                                 .on_arm = trying.options_.on_arm,
                                                 .still = &still});
  ASSERT_TRUE(on_model.ok()) << on_model.status();
  ASSERT_NE(on_model->advice.Refused(), nullptr);
  EXPECT_EQ(on_model->advice.Refused()->name, best);
}

TEST(OnModel, AModelThatFailsLeavesTheRestAsItIs) {
  class Broken final : public Objective {
   public:
    Values Begin(uint64_t) override { return {1}; }
    double Loss(const Values&) override { return 1; }
    double Gradient(const Values&, std::span<const EpochRange>, RandomStream&,
                    Values& gradient) override {
      gradient = {0};
      status_ = ResourceExhausted("out of memory");
      return 0;
    }
    const Status& status() const override { return status_; }

   private:
    Status status_ = OkStatus();
  } broken;
  const Report report = Trying(broken).Told();
  EXPECT_FALSE(report.on_model);
  EXPECT_EQ(report.why_no_model, "out of memory");
  EXPECT_TRUE(report.advice.best);
}

ArmAdvice Arm(const std::string& name, double gain) {
  ArmAdvice arm{.name = name};
  arm.equal.gain = arm.best.gain = Gain{gain, gain, gain};
  return arm;
}

TEST(OnModel, WhatIsWorthATrialIsTheBestThatMayBeAdvisedAutoAndTheBestDbw) {
  Advice advice{.arms = {Arm("asp", 5), Arm("backup:2", 4), Arm("backup:1", 3), Arm("lbbsp", 2.5),
                         Arm("dbw:noisescale", 2.2), Arm("dbw", 2), Arm("backup:3", 1.5),
                         Arm("bsp", 1), Arm("auto", 0.9)}};
  advice.arms[0].is_risky = true;
  advice.arms[7].is_recorded = true;
  EXPECT_THAT(WorthATrial(advice),
              ElementsAre("backup:2", "backup:1", "lbbsp", "dbw:noisescale", "auto"));
  std::swap(advice.arms[4], advice.arms[6]);
  EXPECT_THAT(WorthATrial(advice),
              ElementsAre("backup:2", "backup:1", "lbbsp", "backup:3", "auto", "dbw"));
  advice.arms[1].is_refused = true;
  EXPECT_THAT(WorthATrial(advice), ElementsAre("backup:1", "lbbsp", "backup:3", "dbw", "auto"));
  advice.arms[1].is_refused = false;
  advice.arms[8].is_risky = true;  // Where there is nothing that keeps its barrier.
  advice.arms[1].best.gain.reset();
  EXPECT_THAT(WorthATrial(advice), ElementsAre("backup:1", "lbbsp", "backup:3", "dbw"))
      << "the best DBW is among the four";
}

}  // namespace
}  // namespace paceline::simulator

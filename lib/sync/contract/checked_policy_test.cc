#include "lib/sync/contract/checked_policy.h"

#include <gmock/gmock.h>

#include "lib/sync/testing.h"

namespace paceline::sync {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Answers the nth event with the nth list of decisions.
class ScriptedPolicy : public Policy {
 public:
  explicit ScriptedPolicy(std::vector<std::vector<std::string>> answers)
      : answers_(std::move(answers)) {}

  void Observe(const Event&, Time, std::vector<Decision>& decisions) override {
    if (next_ == answers_.size()) return;
    for (const std::string& line : answers_[next_]) decisions.push_back(*ParseDecision(line));
    ++next_;
  }
  std::optional<Time> Deadline() const override { return deadline; }
  std::string Save() const override { return "saved"; }
  std::unique_ptr<Policy> Clone() const override { return std::make_unique<ScriptedPolicy>(*this); }

  std::optional<Time> deadline;

 private:
  std::vector<std::vector<std::string>> answers_;
  size_t next_ = 0;
};

struct Step {
  std::string event;
  std::vector<std::string> decisions;
};

std::vector<std::string> Violations(const std::vector<Step>& steps, const PolicySpec& spec = {}) {
  std::vector<std::vector<std::string>> answers;
  for (const Step& step : steps) answers.push_back(step.decisions);
  std::vector<std::string> violations;
  testing::Script script(std::make_unique<CheckedPolicy>(
      std::make_unique<ScriptedPolicy>(std::move(answers)), spec,
      [&](const std::string& violation) { violations.push_back(violation); }));
  for (const Step& step : steps) script.Feed(step.event);
  return violations;
}

const Step kJoin = {"join w0", {"release w0 at v0"}};
const Step kPush = {"push w0 #1 based-on=v0",
                    {"accumulate w0 #1 weight=1", "commit scale=1", "release w0 at v1"}};

TEST(CheckedPolicy, SaysNothingWhenAllIsWell) {
  EXPECT_THAT(Violations({kJoin, kPush, {"committed v1", {}}}), IsEmpty());
}

TEST(CheckedPolicy, PassesEverythingOn) {
  auto inner = std::make_unique<ScriptedPolicy>(
      std::vector<std::vector<std::string>>{{"commit scale=1"}, {"interrupt w5"}});
  inner->deadline = Time(Seconds(3));
  CheckedPolicy checked(std::move(inner), {}, [](const std::string&) {});
  EXPECT_EQ(checked.Save(), "saved");
  EXPECT_EQ(checked.Deadline(), Time(Seconds(3)));
  testing::Script clone(checked.Clone());
  EXPECT_THAT(clone.Feed("deadline"), ElementsAre("commit scale=1"));
  EXPECT_THAT(clone.Feed("deadline"), ElementsAre("interrupt w5"));
}

TEST(CheckedPolicy, EachBreachIsReported) {
  const struct {
    const char* name;
    std::vector<Step> steps;
    const char* violation;
  } cases[] = {
      {"answered twice",
       {kJoin,
        {kPush.event, {"drop w0 #1 superseded", "drop w0 #1 superseded", "release w0 at v0"}}},
       "push is answered without having arrived, or twice: w0 #1"},
      {"answered before it arrived",
       {kJoin, {"deadline", {"drop w0 #1 superseded"}}},
       "push is answered without having arrived"},
      {"not finite and accumulated",
       {kJoin, {"push w0 #1 based-on=v0 non-finite", kPush.decisions}},
       "push that is not finite is accumulated"},
      {"weight of zero",
       {kJoin, {kPush.event, {"accumulate w0 #1 weight=0", "commit scale=1", "release w0 at v1"}}},
       "weight is not positive"},
      {"lost worker's push unanswered",
       {kJoin, {"join w1", {"release w1 at v0"}}, {kPush.event, {}}, {"leave w0 silent", {}}},
       "push of a worker that is no member is unanswered: w0 #1"},
      {"release of a busy worker",
       {kJoin, {"deadline", {"release w0 at v0"}}},
       "worker does not wait: release w0 at v0"},
      {"release of a stranger",
       {{"join w0", {"release w0 at v0", "release w1 at v0"}}},
       "worker is no member: w1"},
      {"release of an expelled worker",
       {{"join w0", {"expel w0 too-slow", "release w0 at v0"}}},
       "worker is no member: w0"},
      {"release at a version to come",
       {{"join w0", {"release w0 at v1"}}},
       "version does not exist, newest is v0"},
      {"release without samples",
       {{"join w0", {"release w0 at v0 samples=0"}}},
       "assignment has no samples: w0"},
      {"offer to a waiting worker",
       {{"join w0", {"offer w0 v0", "release w0 at v0"}}},
       "worker is not busy: offer w0 v0"},
      {"offer of a version to come",
       {kJoin, {"deadline", {"offer w0 v1"}}},
       "version does not exist"},
      {"interrupt of a waiting worker",
       {{"join w0", {"interrupt w0", "release w0 at v0"}}},
       "worker is not busy: interrupt w0"},
      {"expulsion of a stranger",
       {kJoin, {"deadline", {"expel w1 too-slow"}}},
       "worker is no member: expel w1"},
      {"empty commit", {kJoin, {"deadline", {"commit scale=1"}}}, "commit is empty"},
      {"infinite scale",
       {kJoin,
        {kPush.event, {"accumulate w0 #1 weight=1", "commit scale=inf", "release w0 at v1"}}},
       "scale is not finite"},
      {"release while quiescing",
       {kJoin,
        {"quiesce stop deadline=9", {}},
        {kPush.event, {"drop w0 #1 quiescing", "release w0 at v0"}}},
       "worker is sent on while stopping: w0"},
      {"push unanswered at the deadline",
       {kJoin, {"quiesce stop deadline=2", {}}, {kPush.event, {}}},
       "stopped with 1 pushes unanswered and 0 accumulated"},
      {"accumulated at the deadline",
       {kJoin, {"quiesce stop deadline=2", {}}, {kPush.event, {"accumulate w0 #1 weight=1"}}},
       "stopped with 0 pushes unanswered and 1 accumulated"},
      {"roll-back with a push unanswered",
       {kJoin, {kPush.event, {"roll-back non-finite"}}},
       "stopped with 1 pushes unanswered"},
      {"joiner never released", {{"join w0", {}}}, "silence: nobody owes a push"},
      {"pusher never released",
       {kJoin, {kPush.event, {"drop w0 #1 superseded"}}},
       "silence: nobody owes a push"},
      {"staged and forgotten", {kJoin, {kPush.event, {}}}, "silence: nobody owes a push"},
      {"accumulated, then the last worker leaves",
       {kJoin, {kPush.event, {"accumulate w0 #1 weight=1"}}, {"leave w0 silent", {}}},
       "1 accumulated are unpublished"},
      {"samples came back, but not the worker",
       {kJoin, {"out-of-data w0", {}}, {"samples-returned 1", {}}},
       "silence: nobody owes a push"},
      {"out of data, and looks at once",
       {kJoin, {"out-of-data w0", {"release w0 at v0"}}},
       "worker is out of data, and no samples returned that are left: w0"},
      {"out of data, and goes on from its copy",
       {{"join w0", {"release w0 at v0 pacing=keep-going"}},
        {"out-of-data w0", {"continue w0 pacing=keep-going"}}},
       "worker is out of data, and no samples returned that are left: w0"},
      {"two look for the samples of one",
       {kJoin,
        {"join w1", {"release w1 at v0 samples=2"}},
        {"out-of-data w0", {}},
        {"out-of-data w1", {}},
        {"samples-returned 2", {"release w1 at v0 samples=2", "release w0 at v0"}}},
       "worker is out of data, and no samples returned that are left: w0"},
  };
  for (const auto& [name, steps, violation] : cases) {
    const std::vector<std::string> violations = Violations(steps);
    ASSERT_FALSE(violations.empty()) << name;
    EXPECT_THAT(violations.front(), HasSubstr(violation)) << name;
  }
}

TEST(CheckedPolicy, TheDriversMistakesAreReportedToo) {
  const struct {
    std::vector<Step> steps;
    const char* violation;
  } cases[] = {
      {{kJoin, {"push w0 #1 based-on=v0 samples=0", kPush.decisions}}, "push without samples"},
      {{kJoin, kPush, {"push w0 #2 based-on=v0", {"drop w0 #2 superseded", "release w0 at v1"}}},
       "push older than its release at v1"},
      {{kJoin, {"committed v1", {}}}, "version that was not committed"},
      {{kJoin, {"samples-returned 0", {}}}, "event is of no samples"},
  };
  for (const auto& [steps, violation] : cases) {
    EXPECT_THAT(Violations(steps), ElementsAre(HasSubstr(violation)));
  }
}

TEST(CheckedPolicy, APushThatNobodyOwedIsReported) {
  EXPECT_THAT(Violations({{"join w0", {}}, {"push w0 #1 based-on=v0", kPush.decisions}},
                         {.workers_expected = 2}),
              ElementsAre(HasSubstr("push that nobody owed")));
}

TEST(CheckedPolicy, WaitingForTheFirstWorkersIsNoSilence) {
  EXPECT_THAT(Violations({{"join w0", {}}}, {.workers_expected = 2}), IsEmpty());
}

TEST(CheckedPolicy, WaitingForAPublicationIsNoSilence) {
  EXPECT_THAT(Violations({kJoin,
                          {kPush.event, {"accumulate w0 #1 weight=1", "commit scale=1"}},
                          {"committed v1", {"release w0 at v1"}}}),
              IsEmpty());
}

TEST(CheckedPolicy, TheEndOfTheDataIsNoSilence) {
  EXPECT_THAT(Violations({kJoin, kPush, {"committed v1", {}}, {"out-of-data w0", {}}}), IsEmpty());
}

TEST(CheckedPolicy, WhoIsOutOfDataLooksForTheSamplesThatAreLeft) {
  EXPECT_THAT(Violations({kJoin,
                          {"join w1", {"release w1 at v0"}},
                          {"out-of-data w0", {}},
                          {"out-of-data w1", {}},
                          {"samples-returned 3", {"release w1 at v0 samples=2"}},
                          {"deadline", {"release w0 at v0"}}}),
              IsEmpty());
}

TEST(CheckedPolicy, ASilenceIsReportedOnce) {
  EXPECT_EQ(Violations({{"join w0", {}}, {"deadline", {}}, {"deadline", {}}}).size(), 1u);
}

TEST(CheckedPolicy, AVersionGoesOnFromTheFirst) {
  EXPECT_THAT(Violations({{"join w0", {"release w0 at v7"}}}, {.first_version = Version(7)}),
              IsEmpty());
}

}  // namespace
}  // namespace paceline::sync

#include "lib/sync/schemes/quorum.h"

#include <gmock/gmock.h>

#include "lib/base/overloaded.h"
#include "lib/sync/schemes/batching/equal.h"
#include "lib/sync/schemes/engine/engine.h"
#include "lib/sync/testing.h"

namespace paceline::sync {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Script;

// Waits for `k` pushes, writes down what it is told, and gives up after ten seconds.
class Scribe : public Quorum {
 public:
  Scribe(uint32_t k, std::vector<std::string>* notes) : k_(k), notes_(notes) {}

  void Observe(const StepFact& fact, Time now) override {
    std::visit(
        Overloaded{[&](const StepBegan& began) {
                     Note("began {} {} of {}", began.version, began.workers, began.members);
                     deadline_ = now + Seconds(10);
                   },
                   [&](const PushCounted& push) {
                     Note("counted {} {} loss {}", push.rank, push.worker, push.gradient.loss);
                   },
                   [&](const PushLate& push) { Note("late {} of {}", push.worker, push.based_on); },
                   [&](const StepClosed& closed) { Note("closed {}", closed.pushes); },
                   [&](const StepCommitted& committed) {
                     Note("committed {} norm2 {}", committed.version, committed.squared_norm);
                   },
                   [&](const SizesChanged&) { Note("sizes changed"); },
                   [&](const WorkerForgotten& gone) { Note("forgotten {}", gone.worker); },
                   [&](const SilentGivenUp&) {
                     Note("given up");
                     deadline_.reset();
                   },
                   [&](const Spare& spare) { Note("spare {}", spare.budget); }},
        fact);
  }
  uint32_t PushesWanted(uint32_t) const override { return k_; }
  double LearningRateScale(uint32_t pushes) const override { return pushes / 4.0; }
  std::optional<Time> Deadline() const override { return deadline_; }
  std::unique_ptr<Quorum> Clone() const override { return std::make_unique<Scribe>(*this); }

 private:
  template <class... Args>
  void Note(fmt::format_string<Args...> format, Args&&... args) {
    notes_->push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  uint32_t k_;
  std::vector<std::string>* notes_;
  std::optional<Time> deadline_;
};

class QuorumInEngine : public ::testing::Test {
 protected:
  Script Waiting(uint32_t k, LateWorker late_worker = LateWorker::kOffer) {
    return Script(std::make_unique<Engine>(
        PolicySpec{
            .parts = {.late_worker = late_worker}, .global_batch_size = 3, .workers_expected = 3},
        std::make_unique<Scribe>(k, &notes_), std::make_unique<EqualSizer>(3)));
  }
  std::vector<std::string> Notes() { return std::exchange(notes_, {}); }

  const std::vector<std::string> joins_ = {"join w0", "join w1", "join w2"};

 private:
  std::vector<std::string> notes_;
};

TEST_F(QuorumInEngine, IsToldTheCourseOfEachStep) {
  Script script = Waiting(2);
  script.FeedAll(joins_);
  EXPECT_THAT(Notes(), ElementsAre("began v0 3 of 3"));
  EXPECT_THAT(script.FeedAll({"push w2 #1 based-on=v0 loss=3", "push w0 #1 based-on=v0 loss=2"}),
              ElementsAre("accumulate w2 #1 weight=1", "accumulate w0 #1 weight=1",
                          "commit scale=0.5 lr=0.5", "release w0 at v1 exact",
                          "release w2 at v1 exact", "offer w1 v1"));
  EXPECT_THAT(Notes(), ElementsAre("counted 1 w2 loss 3", "counted 2 w0 loss 2", "closed 2"));
  script.Feed("committed v1 rate=0.1 norm2=4");
  EXPECT_THAT(Notes(), ElementsAre("committed v1 norm2 4", "began v1 3 of 3"));
  script.Feed("push w1 #1 based-on=v0");
  EXPECT_THAT(Notes(), ElementsAre("late w1 of v0"));
  script.Feed("leave w1 silent");
  EXPECT_THAT(Notes(), ElementsAre("forgotten w1"));
}

TEST_F(QuorumInEngine, IsToldThatPartsAreOfAnotherSize) {
  std::vector<std::string> notes;
  Script script(std::make_unique<Engine>(PolicySpec{.global_batch_size = 12, .workers_expected = 3},
                                         std::make_unique<Scribe>(9, &notes),
                                         std::make_unique<EqualSizer>(12)));
  script.FeedAll(joins_);  // Four each. One leaves: six each, from the next step on.
  notes.clear();
  script.FeedAll({"push w0 #1 based-on=v0", "leave w2 silent"});
  EXPECT_THAT(notes, ElementsAre("counted 1 w0 loss 0", "forgotten w2"));
  notes.clear();
  script.FeedAll({"push w1 #1 based-on=v0", "committed v1"});
  EXPECT_THAT(notes, ElementsAre("counted 2 w1 loss 0", "closed 2", "sizes changed",
                                 "committed v1 norm2 0", "began v1 2 of 2"));
  notes.clear();
  script.FeedAll({"push w0 #2 based-on=v1", "push w1 #2 based-on=v1", "committed v2"});
  EXPECT_THAT(notes, ::testing::Not(::testing::Contains("sizes changed")));
}

TEST_F(QuorumInEngine, MayAskForNoMoreThanCanArrive) {
  Script script = Waiting(9);
  script.FeedAll(joins_);
  script.FeedAll({"push w0 #1 based-on=v0", "push w1 #1 based-on=v0"});
  EXPECT_THAT(script.Feed("leave w2 silent"),
              ElementsAre("commit scale=0.5 lr=0.5", "release w0 at v1 exact samples=2",
                          "release w1 at v1 exact"));
}

TEST_F(QuorumInEngine, MayAskForNoLessThanOne) {
  Script script = Waiting(0);
  script.FeedAll(joins_);
  EXPECT_THAT(script.Feed("push w0 #1 based-on=v0"), ::testing::Contains("commit scale=1 lr=0.25"));
}

TEST_F(QuorumInEngine, IsNotToldOfLatePushesOfSkippedSamples) {
  for (const std::string empty : {"", " empty"}) {
    Script script = Waiting(2);
    script.FeedAll(joins_);
    script.FeedAll({"push w0 #1 based-on=v0", "push w1 #1 based-on=v0", "committed v1"});
    Notes();
    EXPECT_THAT(script.Feed("push w2 #1 based-on=v0" + empty), Contains("drop w2 #1 superseded"));
    EXPECT_EQ(Notes().size(), empty.empty() ? 1u : 0u);
  }
}

TEST_F(QuorumInEngine, DoesNotCountOnWhoseLastPushWasNotFinite) {
  Script script = Waiting(3);
  script.FeedAll(joins_);
  script.FeedAll(
      {"push w0 #1 based-on=v0 non-finite", "push w1 #1 based-on=v0", "push w2 #1 based-on=v0"});
  Notes();
  script.Feed("committed v1");
  EXPECT_THAT(Notes(), ElementsAre("committed v1 norm2 0", "began v1 2 of 3"));
}

TEST_F(QuorumInEngine, GivesUpWhoIsSilentAtItsDeadline) {
  Script script = Waiting(3);
  script.FeedAll(joins_);  // Began at 2 s.
  script.FeedAll({"deadline", "push w0 #1 based-on=v0", "push w1 #1 based-on=v0"});
  for (int second = 6; second < 12; ++second) EXPECT_THAT(script.Feed("spare budget=1"), IsEmpty());
  Notes();
  EXPECT_THAT(script.Feed("deadline"),
              ElementsAre("commit scale=0.5 lr=0.5", "release w0 at v1 exact samples=2",
                          "release w1 at v1 exact", "offer w2 v1"));
  EXPECT_THAT(Notes(), ElementsAre("given up", "closed 2"));
  // It is not waited for until it is heard of again...
  script.Feed("committed v1");
  EXPECT_THAT(Notes(), ElementsAre("committed v1 norm2 0", "began v1 2 of 3"));
  EXPECT_THAT(script.FeedAll({"push w0 #2 based-on=v1", "push w1 #2 based-on=v1"}),
              ::testing::Contains("commit scale=0.5 lr=0.5"));
  // ...and then it is.
  script.FeedAll({"push w2 #1 based-on=v0", "committed v2"});
  EXPECT_EQ(Notes().back(), "began v2 3 of 3");
}

TEST_F(QuorumInEngine, ASilentWorkersPushCounts) {
  Script script = Waiting(3);
  script.FeedAll(joins_);
  for (int second = 3; second < 12; ++second) script.Feed("spare budget=1");
  EXPECT_THAT(script.Feed("deadline"), IsEmpty());
  EXPECT_THAT(script.Feed("push w2 #1 based-on=v0"),
              ElementsAre("accumulate w2 #1 weight=1", "commit scale=1 lr=0.25",
                          "release w2 at v1 exact", "offer w0 v1", "offer w1 v1"));
}

TEST_F(QuorumInEngine, LateWorkersMayBeInterrupted) {
  Script script = Waiting(2, LateWorker::kInterrupt);
  script.FeedAll(joins_);
  EXPECT_THAT(script.FeedAll({"push w2 #1 based-on=v0", "push w0 #1 based-on=v0"}),
              ::testing::Contains("interrupt w1"));
  script.Feed("committed v1");
  EXPECT_THAT(script.Feed("abandon w1 #1 interrupted"), ElementsAre("release w1 at v1 exact"));
}

TEST_F(QuorumInEngine, LateWorkersMayBeLeftAlone) {
  Script script = Waiting(1, LateWorker::kLeave);
  script.FeedAll(joins_);
  EXPECT_THAT(
      script.Feed("push w2 #1 based-on=v0"),
      ElementsAre("accumulate w2 #1 weight=1", "commit scale=1 lr=0.25", "release w2 at v1 exact"));
}

// It comes to nothing, and holds samples that others want.
TEST_F(QuorumInEngine, AnOvertakenStepIsInterruptedOnceDataRunsOut) {
  for (const LateWorker late_worker : {LateWorker::kOffer, LateWorker::kLeave}) {
    Script script = Waiting(1, late_worker);
    script.FeedAll(joins_);
    script.FeedAll({"push w2 #1 based-on=v0", "committed v1"});
    EXPECT_THAT(script.Feed("out-of-data w2"), ElementsAre("interrupt w0", "interrupt w1"));
    EXPECT_THAT(script.Feed("abandon w0 #1 interrupted"), ElementsAre("release w0 at v1 exact"));
    EXPECT_THAT(script.Feed("out-of-data w0"), IsEmpty());  // Each once.
    EXPECT_THAT(script.Feed("abandon w1 #1 interrupted"), ElementsAre("release w1 at v1 exact"));
    // Its step counts, whoever finds nothing.
    EXPECT_THAT(script.Feed("samples-returned 1"), ElementsAre("release w2 at v1 exact"));
    EXPECT_THAT(script.Feed("out-of-data w2"), IsEmpty());
  }
}

// At the commit.
TEST_F(QuorumInEngine, NobodyIsInterruptedTwice) {
  Script script = Waiting(1, LateWorker::kInterrupt);
  script.FeedAll(joins_);
  script.FeedAll({"push w2 #1 based-on=v0", "committed v1"});
  EXPECT_THAT(script.Feed("out-of-data w2"), IsEmpty());
}

TEST_F(QuorumInEngine, HasNoDeadlineOnceThePolicyIsOver) {
  std::vector<std::string> notes;
  Engine policy({.workers_expected = 1}, std::make_unique<Scribe>(1, &notes),
                std::make_unique<EqualSizer>(1));
  std::vector<Decision> decisions;
  policy.Observe(WorkerJoined{WorkerId(0)}, Time{}, decisions);
  EXPECT_TRUE(policy.Deadline());
  policy.Observe(Quiesce{}, Time{}, decisions);
  EXPECT_FALSE(policy.Deadline());
}

}  // namespace
}  // namespace paceline::sync

#include "lib/kube/runtime/controller.h"

#include <atomic>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include "lib/kube/core/api_error.h"
#include "lib/kube/runtime/expectations.h"
#include "lib/kube/runtime/object_store.h"

namespace paceline::kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Collects records until there are enough.
class Records {
 public:
  void Add(const ReconcileRecord& record) {
    std::lock_guard lock(mutex_);
    records_.push_back(record);
    changed_.notify_all();
  }
  std::vector<ReconcileRecord> WaitFor(size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(30),
                                  [&] { return records_.size() >= count; }));
    return records_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ReconcileRecord> records_;
};

ControllerOptions Options(Records& records,
                          std::function<StatusOr<Result>(const ObjectKey&)> reconcile) {
  return {.name = "test",
          .threads = 2,
          .reconcile = std::move(reconcile),
          .observe = [&](const ReconcileRecord& record) { records.Add(record); },
          .queue = {.backoff_min = Seconds(0.001), .backoff_max = Seconds(0.01)}};
}

TEST(Controller, RetriesFailuresAndForgetsThemOnSuccess) {
  Records records;
  std::atomic<int> calls = 0;
  Controller controller(Options(records, [&](const ObjectKey&) -> StatusOr<Result> {
    if (++calls < 3) return Unavailable("not yet");
    return Result{};
  }));
  controller.Start();
  controller.queue().Add({"ns", "a"});
  const auto seen = records.WaitFor(3);
  EXPECT_EQ(seen[0].outcome, Outcome::kFailed);
  EXPECT_EQ(seen[0].failures, 1);
  EXPECT_EQ(Message(seen[0].status), "not yet");
  EXPECT_EQ(seen[1].failures, 2);
  EXPECT_EQ(seen[2].outcome, Outcome::kDone);
  EXPECT_EQ(controller.queue().Failures({"ns", "a"}), 0);
}

TEST(Controller, ItsThreadsBearItsName) {
  Records records;
  std::promise<std::string> name;
  ControllerOptions options = Options(records, [&](const ObjectKey&) -> StatusOr<Result> {
    char text[16] = "";
    pthread_getname_np(pthread_self(), text, sizeof text);
    name.set_value(text);
    return Result{};
  });
  options.name = "trainingjobs-of-a-team";
  Controller controller(std::move(options));
  controller.Start();
  controller.queue().Add({"ns", "a"});
  EXPECT_EQ(name.get_future().get(), "trainingjobs-of");
  records.WaitFor(1);
}

TEST(Controller, OneThatThrowsDoesNotStopTheOthers) {
  Records records;
  Controller controller(Options(records, [&](const ObjectKey& key) -> StatusOr<Result> {
    if (key.name == "bad") throw std::runtime_error("boom");
    if (key.name == "worse") throw 3;
    return Result{};
  }));
  controller.Start();
  controller.queue().Add({"ns", "bad"});
  controller.queue().Add({"ns", "worse"});
  controller.queue().Add({"ns", "good"});
  std::map<std::string, ReconcileRecord> first;
  for (const auto& record : records.WaitFor(9)) first.emplace(record.key.name, record);
  EXPECT_EQ(first.at("good").outcome, Outcome::kDone);
  EXPECT_EQ(first.at("bad").outcome, Outcome::kThrew);
  EXPECT_THAT(Message(first.at("bad").status), HasSubstr("boom"));
  EXPECT_EQ(first.at("worse").outcome, Outcome::kThrew);
}

TEST(Controller, ComesBackWhenAsked) {
  Records records;
  std::atomic<int> calls = 0;
  Controller controller(Options(records, [&](const ObjectKey&) -> StatusOr<Result> {
    if (++calls == 1) return Result{.requeue_after = Seconds(0.001)};
    return Result{};
  }));
  controller.Start();
  controller.queue().Add({"ns", "a"});
  const auto seen = records.WaitFor(2);
  EXPECT_EQ(seen[0].outcome, Outcome::kRequeued);
  EXPECT_EQ(seen[1].outcome, Outcome::kDone);
}

// Longer than its own pauses.
TEST(Controller, ComesBackNoSoonerThanTheServerSays) {
  Records records;
  std::vector<std::chrono::steady_clock::time_point> looks;
  Controller controller(Options(records, [&](const ObjectKey&) -> StatusOr<Result> {
    looks.push_back(std::chrono::steady_clock::now());
    if (looks.size() > 1) return Result{};
    return ToStatus({.code = 429, .retry_after = Seconds(1)});
  }));
  controller.Start();
  controller.queue().Add({"ns", "a"});
  const auto seen = records.WaitFor(2);
  EXPECT_EQ(seen[0].outcome, Outcome::kFailed);
  EXPECT_GE(looks[1] - looks[0], Seconds(1));
}

TEST(Controller, TerminalErrorsAreNotRetried) {
  Records records;
  Controller controller(Options(records, [&](const ObjectKey& key) -> StatusOr<Result> {
    if (key.name == "hopeless") return Terminal(InvalidArgument("never"));
    return Result{};
  }));
  controller.Start();
  controller.queue().Add({"ns", "hopeless"});
  const auto seen = records.WaitFor(1);
  EXPECT_EQ(seen[0].outcome, Outcome::kTerminal);
  EXPECT_TRUE(IsTerminal(Annotate(seen[0].status, "while reconciling")));
  EXPECT_EQ(controller.queue().Failures({"ns", "hopeless"}), 0);
  EXPECT_EQ(ToString(seen[0].outcome), "terminal");
}

TEST(Controller, StopFinishesWhatIsBeingWorkedOn) {
  Records records;
  std::promise<void> started, may_end;
  auto released = may_end.get_future().share();
  std::atomic<bool> ended = false;
  Controller controller(Options(records, [&](const ObjectKey&) -> StatusOr<Result> {
    started.set_value();
    released.wait();
    ended = true;
    return Result{};
  }));
  controller.Start();
  controller.queue().Add({"ns", "a"});
  started.get_future().wait();
  std::thread stopper([&] { controller.Stop(); });
  may_end.set_value();
  stopper.join();
  EXPECT_TRUE(ended);
}

TEST(Controller, MayBeStartedWhileItIsStopped) {
  // As by an elector that takes the lead while the program ends.
  for (int i = 0; i < 100; ++i) {
    Records records;
    Controller controller(Options(records, [](const ObjectKey&) { return Result{}; }));
    std::thread starter([&] { controller.Start(); });
    controller.Stop();
    starter.join();
    controller.queue().Add({"ns", "a"});
    EXPECT_EQ(controller.queue().depth(), 0u);
  }
}

ObjectPtr Pod(const std::string& name, const std::string& uid, const std::string& version,
              const std::string& owner = "") {
  Json pod = {{"metadata",
               {{"namespace", "ns"}, {"name", name}, {"uid", uid}, {"resourceVersion", version}}}};
  if (!owner.empty()) {
    pod["metadata"]["ownerReferences"] = Json::array({{{"uid", owner}, {"controller", true}}});
  }
  return std::make_shared<const Json>(std::move(pod));
}

std::vector<std::string> Uids(const std::vector<ObjectPtr>& objects) {
  std::vector<std::string> uids;
  for (const ObjectPtr& object : objects) uids.push_back(StringAt(*object, "/metadata/uid"));
  return uids;
}

// "-a" gone, "+a" new, "~a" changed.
std::vector<std::string> Told(const std::vector<ObjectChange>& changes) {
  std::vector<std::string> told;
  for (const ObjectChange& change : changes) {
    const char* how = !change.before ? "+" : change.after ? "~" : "-";
    told.push_back(how + StringAt(*change.object(), "/metadata/uid"));
  }
  return told;
}

TEST(ObjectStore, TellsWhatChanged) {
  ObjectStore store({});
  EXPECT_THAT(Told(store.Put(Pod("a", "1", "10"))), ElementsAre("+1"));
  EXPECT_THAT(Told(store.Put(Pod("a", "1", "10"))), ElementsAre());
  EXPECT_THAT(Told(store.Put(Pod("a", "1", "11"))), ElementsAre("~1"));
  EXPECT_THAT(Told(store.Put(Pod("a", "2", "12"))), ElementsAre("-1", "+2"));
  EXPECT_THAT(Told(store.Remove(Pod("a", "2", "13"))), ElementsAre("-2"));
  EXPECT_THAT(Told(store.Remove(Pod("a", "2", "13"))), ElementsAre());
  EXPECT_EQ(store.size(), 0u);
}

TEST(ObjectStore, ReplacingTellsWhatIsGoneNewAndChanged) {
  ObjectStore store({});
  for (const char* name : {"a", "b", "c"}) store.Put(Pod(name, name, "1"));
  const auto changes = store.Replace({{{"ns", "b"}, Pod("b", "b", "1")},
                                      {{"ns", "c"}, Pod("c", "c", "2")},
                                      {{"ns", "d"}, Pod("d", "d", "2")}});
  EXPECT_THAT(Told(changes), ElementsAre("-a", "~c", "+d"));
  EXPECT_THAT(Uids(store.Objects()), ElementsAre("b", "c", "d"));
}

TEST(ObjectStore, IndexesFollowTheObjects) {
  ObjectStore store({{"owner", OwnerUid}});
  store.Put(Pod("a", "1", "1", "x"));
  store.Put(Pod("b", "2", "1", "x"));
  store.Put(Pod("c", "3", "1"));
  EXPECT_THAT(Uids(store.ByIndex("owner", "x")), ElementsAre("1", "2"));
  store.Put(Pod("a", "1", "2", "y"));
  EXPECT_THAT(Uids(store.ByIndex("owner", "x")), ElementsAre("2"));
  EXPECT_THAT(Uids(store.ByIndex("owner", "y")), ElementsAre("1"));
  store.Remove(Pod("b", "2", "3", "x"));
  EXPECT_THAT(Uids(store.ByIndex("owner", "x")), ElementsAre());
  store.Replace({});
  EXPECT_THAT(Uids(store.ByIndex("owner", "y")), ElementsAre());
}

const ObjectKey kOwner{"ns", "owner"}, kPodA{"ns", "a"};

TEST(Expectations, ACreationIsMetWhenItIsSeen) {
  Expectations expectations;
  EXPECT_TRUE(expectations.AreMet(kOwner));
  expectations.ExpectCreation(kOwner, kPodA);
  EXPECT_FALSE(expectations.AreMet(kOwner));
  expectations.Saw({.after = Pod("b", "2", "1")});
  EXPECT_FALSE(expectations.AreMet(kOwner));
  EXPECT_TRUE(expectations.AreMet({"ns", "other"}));
  expectations.Saw({.after = Pod("a", "1", "1")});
  EXPECT_TRUE(expectations.AreMet(kOwner));
}

TEST(Expectations, ADeletionIsMetWhenThatObjectGoes) {
  Expectations expectations;
  expectations.ExpectDeletion(kOwner, kPodA, "1");
  expectations.Saw({.before = Pod("a", "1", "1"), .after = Pod("a", "1", "2")});
  EXPECT_FALSE(expectations.AreMet(kOwner));
  expectations.Saw({.after = Pod("a", "2", "3")});  // A new one of that name: the old one is gone.
  EXPECT_TRUE(expectations.AreMet(kOwner));
  expectations.ExpectDeletion(kOwner, kPodA, "2");
  expectations.Saw({.before = Pod("a", "2", "4")});
  EXPECT_TRUE(expectations.AreMet(kOwner));
}

TEST(Expectations, AFailedWriteIsNotWaitedFor) {
  Expectations expectations;
  expectations.ExpectCreation(kOwner, kPodA);
  expectations.ExpectCreation(kOwner, {"ns", "b"});
  expectations.Drop(kOwner, kPodA);
  EXPECT_FALSE(expectations.AreMet(kOwner));
  expectations.Forget(kOwner);
  EXPECT_TRUE(expectations.AreMet(kOwner));
}

TEST(Expectations, NobodyWaitsForever) {
  Expectations expectations(Seconds(0));
  expectations.ExpectCreation(kOwner, kPodA);
  EXPECT_TRUE(expectations.AreMet(kOwner));
}

}  // namespace
}  // namespace paceline::kube

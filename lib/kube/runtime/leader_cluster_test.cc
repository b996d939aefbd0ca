// Leader election against a real kube-apiserver.
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <list>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "lib/base/rfc3339.h"
#include "lib/kube/core/api_error.h"
#include "lib/kube/runtime/leader_elector.h"
#include "lib/kube/runtime/testing/cluster_fixture.h"
#include "lib/kube/testing/child_process.h"
#include "lib/kube/testing/tcp_proxy.h"

namespace paceline::kube {
namespace {

using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

class LeaderCluster : public RuntimeCluster {
 protected:
  // Faster than the default, and slow enough for a busy machine.
  LeaderElectionOptions Options(const std::string& identity) {
    return {.lease = {ns_, "lease"},
            .identity = identity,
            .lease_duration = Seconds(6),
            .renew_deadline = Seconds(4),
            .retry_period = Seconds(0.5),
            .started_leading = [this, identity] { gate_.Change([&] { leader_ = identity; }); },
            .lost =
                [this, identity](const Status& why) {
                  gate_.Change([&] {
                    lost_ = identity;
                    why_ = why;
                  });
                }};
  }
  bool WaitForLeader(const std::string& identity) {
    return gate_.WaitUntil([&] { return leader_ == identity; });
  }
  Json Lease() { return client_->Call(Get(Leases(), {ns_, "lease"})).value(); }
  std::string Holder() { return StringAt(Lease(), "/spec/holderIdentity"); }

  Gate gate_;
  std::string leader_, lost_;
  Status why_;
};

TEST_F(LeaderCluster, OneLeadsAndTheOtherSeesIt) {
  LeaderElector first(*client_, Options("first"));
  first.Start();
  ASSERT_TRUE(WaitForLeader("first"));
  std::string seen;
  LeaderElectionOptions options = Options("second");
  options.new_leader = [&](const std::string& identity) { gate_.Change([&] { seen = identity; }); };
  LeaderElector second(*client_, options);
  second.Start();
  ASSERT_TRUE(gate_.WaitUntil([&] { return seen == "first"; }));
  EXPECT_TRUE(first.IsLeading());
  EXPECT_FALSE(second.IsLeading());
  EXPECT_EQ(second.leader(), "first");
  EXPECT_EQ(IntegerAt(Lease(), "/spec/leaseDurationSeconds"), 6);
  EXPECT_EQ(IntegerAt(Lease(), "/spec/leaseTransitions"), 0);
}

TEST_F(LeaderCluster, AReleasedLeaseIsTakenOverAtOnce) {
  auto first = std::make_unique<LeaderElector>(*client_, Options("first"));
  first->Start();
  ASSERT_TRUE(WaitForLeader("first"));
  LeaderElector second(*client_, Options("second"));
  second.Start();
  const auto start = Clock::now();
  first->Stop();
  EXPECT_FALSE(first->IsLeading());
  ASSERT_TRUE(WaitForLeader("second"));
  EXPECT_LT(Clock::now() - start, Seconds(6));  // Sooner than the lease would run out.
  EXPECT_EQ(IntegerAt(Lease(), "/spec/leaseTransitions"), 1);
  EXPECT_EQ(lost_, "");
}

TEST_F(LeaderCluster, ALeaderThatCannotRenewStopsBeforeAnotherStarts) {
  testing::TcpProxy link(server_->port());
  const auto cut_off = NewClient(link.port());
  LeaderElector first(*cut_off, Options("first"));
  first.Start();
  ASSERT_TRUE(WaitForLeader("first"));
  LeaderElector second(*client_, Options("second"));
  second.Start();
  link.Freeze();  // Neither an error nor an answer.
  ASSERT_TRUE(gate_.WaitUntil([&] { return lost_ == "first"; }));
  EXPECT_FALSE(first.IsLeading());
  EXPECT_EQ(leader_, "first");  // Nobody else yet.
  EXPECT_EQ(why_.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(why_), HasSubstr("could not be renewed for 4 s"));
  ASSERT_TRUE(WaitForLeader("second"));
  link.Cut();
}

TEST_F(LeaderCluster, AForeignLeaseIsJudgedByOurClockAlone) {
  // Renewed twenty years ago, as its holder's clock has it; it may be alive all the same.
  Json lease = {{"metadata", {{"namespace", ns_}, {"name", "lease"}}},
                {"spec",
                 {{"holderIdentity", "alien"},
                  {"leaseDurationSeconds", 1},
                  {"acquireTime", "2006-01-02T15:04:05.000000Z"},
                  {"renewTime", "2006-01-02T15:04:05.000000Z"},
                  {"leaseTransitions", 4}}}};
  ASSERT_TRUE(client_->Call(Create(Leases(), lease)).ok());
  const auto start = Clock::now();
  LeaderElector elector(*client_, Options("ours"));
  elector.Start();
  ASSERT_TRUE(WaitForLeader("ours"));
  EXPECT_GE(Clock::now() - start, Seconds(6));
  EXPECT_EQ(IntegerAt(Lease(), "/spec/leaseTransitions"), 5);
}

TEST_F(LeaderCluster, ALeaseThatWasStolenIsLostAtTheNextRenewal) {
  LeaderElector elector(*client_, Options("ours"));
  elector.Start();
  ASSERT_TRUE(WaitForLeader("ours"));
  ASSERT_TRUE(
      client_->Call(MergePatch(Leases(), {ns_, "lease"}, {{"spec", {{"holderIdentity", "thief"}}}}))
          .ok());
  ASSERT_TRUE(gate_.WaitUntil([&] { return lost_ == "ours"; }));
  EXPECT_THAT(Message(why_), HasSubstr("taken by thief"));
}

TEST_F(LeaderCluster, OnlyTheLeaderWrites) {
  LeaderElector first(*client_, Options("first"));
  first.Start();
  ASSERT_TRUE(WaitForLeader("first"));
  Config config = LoadKubeconfig(server_->kubeconfig()).value();
  std::atomic<int> reads = 0, writes = 0;
  const auto waiting =
      Client::Create(config, {.observe =
                                  [&](const CallRecord& call) {
                                    gate_.Change([&] { ++(call.verb == "get" ? reads : writes); });
                                  }})
          .value();
  LeaderElector second(*waiting, Options("second"));
  second.Start();
  ASSERT_TRUE(gate_.WaitUntil([&] { return reads >= 5; }));
  EXPECT_EQ(writes, 0);
}

// Many that come and go: a counter of those who think that they lead never passes one.
TEST_F(LeaderCluster, NeverTwoAtOnce) {
  std::atomic<int> leading = 0, most = 0;
  int terms = 0;
  const auto start = [&](int number) {
    LeaderElectionOptions options = Options(fmt::format("e{}", number));
    options.started_leading = [&] {
      most = std::max(most.load(), ++leading);
      gate_.Change([&] { ++terms; });
    };
    options.lost = [&](const Status&) { --leading; };
    auto elector = std::make_unique<LeaderElector>(*client_, options);
    elector->Start();
    return elector;
  };
  std::list<std::unique_ptr<LeaderElector>> electors;
  for (int i = 0; i < 3; ++i) electors.push_back(start(i));
  for (int round = 1; round <= 5; ++round) {
    ASSERT_TRUE(gate_.WaitUntil([&] { return terms >= round; }));
    const auto leader = std::find_if(electors.begin(), electors.end(),
                                     [](const auto& elector) { return elector->IsLeading(); });
    ASSERT_NE(leader, electors.end());
    --leading;
    (*leader)->Stop();
    electors.erase(leader);
    electors.push_back(start(10 + round));
  }
  EXPECT_EQ(most, 1);
}

// The other process of the next test: leads until it is killed.
TEST(LeaderProcess, DISABLED_LeadsUntilItIsKilled) {
  const auto client = Client::Create(LoadKubeconfig(std::getenv("KUBECONFIG")).value()).value();
  LeaderElector elector(*client, {.lease = ObjectKey::Parse(std::getenv("LEASE")).value(),
                                  .identity = "other-process",
                                  .lease_duration = Seconds(6),
                                  .renew_deadline = Seconds(4),
                                  .retry_period = Seconds(0.5)});
  elector.Start();
  pause();  // No signal returns from here: this process dies of SIGKILL, or with the test's.
}

TEST_F(LeaderCluster, AKilledLeaderIsReplacedWhenItsLeaseHasRunOut) {
  setenv("KUBECONFIG", server_->kubeconfig().c_str(), 1);
  setenv("LEASE", (ns_ + "/lease").c_str(), 1);
  const auto other = testing::ChildProcess::Start(
      {std::filesystem::read_symlink("/proc/self/exe").string(), "--gtest_also_run_disabled_tests",
       "--gtest_filter=LeaderProcess.DISABLED_LeadsUntilItIsKilled"},
      server_->folder() + "/other.log");
  ASSERT_TRUE(other.ok()) << other.status();
  std::string seen;
  LeaderElectionOptions options = Options("ours");
  options.new_leader = [&](const std::string& identity) { gate_.Change([&] { seen = identity; }); };
  // Not before the other one has the lease.
  while (client_->Call(Get(Leases(), {ns_, "lease"})).status().code() == StatusCode::kNotFound) {
    ASSERT_TRUE((*other)->IsRunning());
  }
  LeaderElector elector(*client_, options);
  elector.Start();
  ASSERT_TRUE(gate_.WaitUntil([&] { return seen == "other-process"; }));
  (*other)->Kill();
  const auto renewed = ParseTime(StringAt(Lease(), "/spec/renewTime"));
  ASSERT_TRUE(WaitForLeader("ours"));
  EXPECT_EQ(Holder(), "ours");
  // Both processes are of this host, so that its wall clock may judge.
  const auto acquired = ParseTime(StringAt(Lease(), "/spec/acquireTime"));
  ASSERT_TRUE(renewed.has_value() && acquired.has_value());
  EXPECT_GE(*acquired - *renewed, Seconds(6));
}

}  // namespace
}  // namespace paceline::kube

#include "lib/coordination/ledgers/membership.h"

#include <gtest/gtest.h>

namespace paceline::coordination {
namespace {

using protocol::Role;

const Time kStart{Seconds(50)};

Membership Two() {
  Membership members({Seconds(1), Seconds(6)});
  members.Admit(ConnectionId(1), Role::kWorker, WorkerId(3), kStart);
  members.Admit(ConnectionId(2), Role::kWorker, WorkerId(1), kStart);
  return members;
}

TEST(MembershipTest, WorkersComeInTheirOwnOrder) {
  const Membership members = Two();
  ASSERT_EQ(members.workers().size(), 2u);
  EXPECT_EQ(members.workers()[0].worker, WorkerId(1));
  EXPECT_EQ(members.all()[0].worker, WorkerId(3));
}

TEST(MembershipTest, IncarnationsCountOnOverLives) {
  Membership members = Two();
  EXPECT_EQ(members.Remove(ConnectionId(1))->incarnation, Incarnation(1));
  EXPECT_EQ(members.FindWorker(WorkerId(3)), nullptr);
  EXPECT_EQ(members.Admit(ConnectionId(7), Role::kWorker, WorkerId(3), kStart).incarnation,
            Incarnation(2));
  EXPECT_EQ(members.Admit(ConnectionId(8), Role::kWorker, WorkerId(4), kStart).incarnation,
            Incarnation(1));
}

TEST(MembershipTest, RemovingAnUnknownConnectionIsNothing) {
  Membership members = Two();
  EXPECT_FALSE(members.Remove(ConnectionId(9)).has_value());
  EXPECT_FALSE(members.Heard(ConnectionId(9), kStart));
  EXPECT_EQ(members.workers_count(), 2u);
}

TEST(MembershipTest, AnyWordPutsSilenceOff) {
  Membership members = Two();
  EXPECT_EQ(members.Deadline(), kStart + Seconds(6));
  EXPECT_TRUE(members.Heard(ConnectionId(1), kStart + Seconds(4)));
  EXPECT_EQ(members.Deadline(), kStart + Seconds(6));
  EXPECT_TRUE(members.Silent(kStart + Seconds(5.9)).empty());
  ASSERT_EQ(members.Silent(kStart + Seconds(6)).size(), 1u);
  EXPECT_EQ(members.Deadline(), kStart + Seconds(6));  // It is still there.
  EXPECT_EQ(members.Silent(kStart + Seconds(6))[0].worker, WorkerId(1));
}

// A look in vain says when to look again.
TEST(MembershipTest, TheDeadlineFollowsWhoWasHeard) {
  Membership members = Two();
  members.Heard(ConnectionId(1), kStart + Seconds(4));
  members.Heard(ConnectionId(2), kStart + Seconds(3));
  EXPECT_LE(members.Deadline(), kStart + Seconds(9));
  EXPECT_TRUE(members.Silent(kStart + Seconds(6)).empty());
  EXPECT_EQ(members.Deadline(), kStart + Seconds(9));
  EXPECT_EQ(members.Silent(kStart + Seconds(9)).size(), 1u);
  members.Remove(ConnectionId(2));
  EXPECT_EQ(members.Silent(kStart + Seconds(10)).size(), 1u);
  members.RemoveAll();
  EXPECT_EQ(members.Deadline(), std::nullopt);
}

TEST(MembershipTest, QuietIsMoreThanTwoHeartbeats) {
  const Membership members = Two();
  const Session& session = *members.FindWorker(WorkerId(1));
  EXPECT_FALSE(members.IsQuiet(session, kStart + Seconds(2)));
  EXPECT_TRUE(members.IsQuiet(session, kStart + Seconds(2.1)));
}

TEST(MembershipTest, EvaluatorHasASeatOfItsOwn) {
  Membership members = Two();
  EXPECT_EQ(members.evaluator(), nullptr);
  members.Admit(ConnectionId(5), Role::kEvaluator, WorkerId(3), kStart);
  EXPECT_EQ(members.evaluator()->connection, ConnectionId(5));
  EXPECT_EQ(members.FindWorker(WorkerId(3))->connection, ConnectionId(1));
  EXPECT_EQ(members.workers_count(), 2u);
  members.Remove(ConnectionId(5));
  EXPECT_EQ(members.evaluator(), nullptr);
}

TEST(MembershipTest, NobodyHasNoDeadline) { EXPECT_EQ(Membership({}).Deadline(), std::nullopt); }

}  // namespace
}  // namespace paceline::coordination

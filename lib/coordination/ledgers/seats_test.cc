#include "lib/coordination/ledgers/seats.h"

#include <gmock/gmock.h>

namespace paceline::coordination {
namespace {

using protocol::Seat;

constexpr uint32_t kMax = 8;
const std::vector<GroupOptions> kGroups = {{.name = "big", .wanted = 2},
                                           {.name = "small", .wanted = 3}};

TEST(SeatsTest, WithoutGroupsANumberIsAnIndex) {
  Seats seats;
  EXPECT_EQ(seats.Give({"", 5}, kMax), WorkerId(5));
  EXPECT_EQ(seats.Give({"", kMax}, kMax), std::nullopt);
  EXPECT_EQ(seats.SeatOf(WorkerId(5)), (Seat{"", 5}));
  EXPECT_TRUE(seats.given().empty());
}

TEST(SeatsTest, NumbersFollowTheGroupsWhoeverComesFirst) {
  Seats seats;
  seats.GiveAll(kGroups, kMax);
  EXPECT_EQ(seats.Give({"small", 0}, kMax), WorkerId(2));
  EXPECT_EQ(seats.Give({"big", 1}, kMax), WorkerId(1));
  EXPECT_EQ(seats.SeatOf(WorkerId(4)), (Seat{"small", 2}));
}

TEST(SeatsTest, ScalingAGroupRenumbersNobody) {
  Seats seats;
  seats.GiveAll(kGroups, kMax);
  seats.GiveAll({{.name = "big", .wanted = 3}, {.name = "small", .wanted = 1}}, kMax);
  EXPECT_EQ(seats.Find({"big", 2}), WorkerId(5));
  EXPECT_EQ(seats.Find({"small", 0}), WorkerId(2));
  EXPECT_EQ(seats.Find({"small", 2}), WorkerId(4)) << "it has left, and may come back";
}

TEST(SeatsTest, AGroupThatComesInFrontRenumbersNobody) {
  Seats seats;
  seats.GiveAll({kGroups[1]}, kMax);
  seats.GiveAll(kGroups, kMax);
  EXPECT_EQ(seats.Find({"small", 0}), WorkerId(0));
  EXPECT_EQ(seats.Find({"big", 0}), WorkerId(3));
}

TEST(SeatsTest, ThereIsAnEndOfNumbers) {
  Seats seats;
  seats.GiveAll({{.name = "big", .wanted = 100}}, kMax);
  EXPECT_EQ(seats.given().size(), kMax);
  EXPECT_EQ(seats.Give({"big", kMax}, kMax), std::nullopt);
  EXPECT_EQ(seats.Give({"big", kMax - 1}, kMax), WorkerId(kMax - 1));
}

TEST(SeatsTest, WhatACheckpointKeptHoldsInAnotherLife) {
  Seats seats;
  seats.GiveAll(kGroups, kMax);
  Seats again;
  again.Restore(seats.given());
  again.GiveAll({{.name = "new", .wanted = 1}, kGroups[1], kGroups[0]}, kMax);
  EXPECT_EQ(again.Find({"big", 1}), WorkerId(1));
  EXPECT_EQ(again.Find({"new", 0}), WorkerId(5));
}

}  // namespace
}  // namespace paceline::coordination

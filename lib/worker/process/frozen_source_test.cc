#include "lib/worker/process/frozen_source.h"

#include <cstring>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::worker {
namespace {

using protocol::FrozenAnswer;
using protocol::FrozenPart;
using protocol::FrozenState;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class HandOverTest : public ::testing::Test {
 protected:
  HandOverTest() : whole_(9 << 20) {
    for (size_t i = 0; i < whole_.size(); ++i) whole_[i] = static_cast<std::byte>(i / 1000);
  }

  Status Hand() {
    return HandOver({.of = "A",
                     .frozen = "{}",
                     .bytes = whole_.size(),
                     .read =
                         [this](uint64_t begin, std::span<std::byte> into) {
                           std::memcpy(into.data(), whole_.data() + begin, into.size());
                           return can_read_;
                         }},
                    {.sender = "me",
                     .call = [this](const FrozenPart& part) { return Answer(part); },
                     .sleep = [this](Duration pause) { slept_.push_back(pause); },
                     .is_cancelled = [this] { return is_cancelled_; }});
  }

  // A coordinator that has so much.
  StatusOr<FrozenAnswer> Answer(const FrozenPart& part) {
    EXPECT_EQ(part.sender, "me");
    EXPECT_EQ(part.frozen, part.bytes.empty() ? "{}" : "") << "who asks says what";
    EXPECT_EQ(part.size, whole_.size());
    if (!first_answers_.empty()) {
      const StatusOr<FrozenAnswer> answer = first_answers_.front();
      first_answers_.erase(first_answers_.begin());
      return answer;
    }
    EXPECT_TRUE(part.bytes.empty() || part.begin == got_.size());
    got_.insert(got_.end(), part.bytes.begin(), part.bytes.end());
    if (got_.size() == whole_.size()) return FrozenAnswer{FrozenState::kHeld, 0, ""};
    return FrozenAnswer{FrozenState::kWanted, got_.size(), ""};
  }

  std::vector<std::byte> whole_, got_;
  std::vector<StatusOr<FrozenAnswer>> first_answers_;
  std::vector<Duration> slept_;
  bool can_read_ = true, is_cancelled_ = false;
};

TEST_F(HandOverTest, SendsAllOfItInOrder) {
  ASSERT_TRUE(Hand().ok());
  EXPECT_EQ(got_, whole_);
  EXPECT_THAT(slept_, IsEmpty());
}

TEST_F(HandOverTest, SendsNothingOfWhatIsThereOrNotWantedOrNotKnown) {
  for (const StatusOr<FrozenAnswer>& answer :
       {StatusOr<FrozenAnswer>(FrozenAnswer{FrozenState::kHeld, 0, ""}),
        StatusOr<FrozenAnswer>(FrozenAnswer{FrozenState::kNotWanted, 0, "full"}),
        StatusOr<FrozenAnswer>(MakeStatus(StatusCode::kUnimplemented, "what?")),
        StatusOr<FrozenAnswer>(PermissionDenied("no worker"))}) {
    first_answers_ = {answer};
    EXPECT_TRUE(Hand().ok());
    EXPECT_THAT(got_, IsEmpty());
  }
}

TEST_F(HandOverTest, WaitsWhileSomebodyElseSends) {
  first_answers_.assign(7, FrozenAnswer{FrozenState::kBusy, 0, ""});
  ASSERT_TRUE(Hand().ok());
  EXPECT_EQ(got_, whole_);
  EXPECT_THAT(slept_, ElementsAre(Seconds(0.05), Seconds(0.1), Seconds(0.2), Seconds(0.4),
                                  Seconds(0.8), Seconds(1), Seconds(1)));
}

TEST_F(HandOverTest, ABreakIsSaidAndTheNextCallGoesOn) {
  first_answers_ = {FrozenAnswer{FrozenState::kWanted, 0, ""}, Unavailable("gone")};
  EXPECT_EQ(Hand().code(), StatusCode::kUnavailable);
  first_answers_ = {MakeStatus(StatusCode::kCancelled, "the server stops")};
  EXPECT_EQ(Hand().code(), StatusCode::kCancelled);
  got_.assign(whole_.begin(), whole_.begin() + (5 << 20));
  ASSERT_TRUE(Hand().ok());
  EXPECT_EQ(got_, whole_);
}

TEST_F(HandOverTest, EndsWithoutThemWhereNothingGetsOn) {
  first_answers_.assign(1000, FrozenAnswer{FrozenState::kWanted, 0, ""});
  EXPECT_TRUE(Hand().ok());
  EXPECT_GT(first_answers_.size(), 900u);
  first_answers_ = {FrozenAnswer{FrozenState::kWanted, whole_.size(), ""}};
  EXPECT_TRUE(Hand().ok());
  EXPECT_THAT(got_, IsEmpty());
}

TEST_F(HandOverTest, EndsWithoutThemWhereTheyCannotBeRead) {
  can_read_ = false;
  EXPECT_TRUE(Hand().ok());
  EXPECT_THAT(got_, IsEmpty());
}

TEST_F(HandOverTest, WhoLeavesSendsNoMore) {
  is_cancelled_ = true;
  EXPECT_EQ(Hand().code(), StatusCode::kCancelled);
  EXPECT_THAT(got_, IsEmpty());
}

}  // namespace
}  // namespace paceline::worker

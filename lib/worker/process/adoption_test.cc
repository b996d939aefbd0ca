#include "lib/worker/process/adoption.h"

#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::worker {
namespace {

using protocol::FrozenAnswer;
using protocol::FrozenPart;
using protocol::FrozenState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using State = Adoption::State;

std::vector<std::byte> Bytes(const std::string& text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

class AdoptionTest : public ::testing::Test {
 protected:
  Adoption Begin(bool is_handed = true) {
    return Adoption({.source = {.of = "mine",
                                .frozen = "{}",
                                .bytes = mine_.size(),
                                .read =
                                    [this](uint64_t begin, std::span<std::byte> into) {
                                      std::memcpy(into.data(), mine_.data() + begin, into.size());
                                      return can_read_;
                                    }},
                     .is_handed = is_handed,
                     .sender = "/1#a",
                     .call = [this](const FrozenPart& part) { return Answer(part); },
                     .take =
                         [this](uint64_t begin, uint64_t size, std::span<const std::byte> bytes) {
                           got_.resize(begin);
                           for (const std::byte one : bytes) got_ += static_cast<char>(one);
                           size_ = size;
                           return can_keep_;
                         },
                     .now = [this] { return now_; },
                     .patience = Seconds(10)});
  }

  StatusOr<FrozenAnswer> Answer(const FrozenPart& part) {
    asked_.push_back(part);
    EXPECT_TRUE(part.adopts);
    StatusOr<FrozenAnswer> answer = answers_.front();
    answers_.erase(answers_.begin());
    return answer;
  }

  static FrozenAnswer Other(const std::string& of, uint64_t begin, uint64_t size,
                            const std::string& bytes) {
    return {.state = FrozenState::kOther,
            .begin = begin,
            .of = of,
            .size = size,
            .bytes = Bytes(bytes)};
  }

  std::vector<State> StepAll(Adoption& adoption) {
    std::vector<State> states;
    while (!answers_.empty()) {
      const StatusOr<State> state = adoption.Step();
      if (!state.ok()) {
        why_ = Message(state.status());
        break;
      }
      states.push_back(*state);
    }
    return states;
  }

  std::vector<std::byte> mine_ = Bytes(std::string(5 << 20, 'm'));
  std::vector<StatusOr<FrozenAnswer>> answers_;
  std::vector<FrozenPart> asked_;
  std::string got_, why_;
  uint64_t size_ = 0;
  bool can_read_ = true, can_keep_ = true;
  Time now_{};
};

TEST_F(AdoptionTest, TakesInOrderWhatAnotherHasHandedOver) {
  Adoption adoption = Begin();
  answers_ = {FrozenAnswer{.state = FrozenState::kBusy}, Other("theirs", 0, 5, "ab"),
              Other("theirs", 2, 5, "cde")};
  EXPECT_THAT(StepAll(adoption), ElementsAre(State::kWaits, State::kGoesOn, State::kTaken));
  EXPECT_EQ(got_, "abcde");
  EXPECT_EQ(size_, 5u);
  EXPECT_EQ(asked_[2].begin, 2u);
}

TEST_F(AdoptionTest, WhatIsReplacedMeanwhileIsTakenFromItsBeginning) {
  Adoption adoption = Begin();
  answers_ = {Other("theirs", 0, 5, "ab"), Other("others", 2, 4, "yz"),
              Other("others", 0, 4, "wxyz")};
  EXPECT_THAT(StepAll(adoption), ElementsAre(State::kGoesOn, State::kGoesOn, State::kTaken));
  EXPECT_EQ(asked_[2].begin, 0u);
  EXPECT_EQ(got_, "wxyz");
}

TEST_F(AdoptionTest, WhoIsFirstHandsOverItsOwn) {
  Adoption adoption = Begin();
  answers_ = {FrozenAnswer{.state = FrozenState::kWanted},
              FrozenAnswer{.state = FrozenState::kWanted, .begin = 4 << 20},
              FrozenAnswer{.state = FrozenState::kHeld}};
  EXPECT_THAT(StepAll(adoption), ElementsAre(State::kGoesOn, State::kGoesOn, State::kOwn));
  EXPECT_EQ(asked_[1].bytes.size(), 4u << 20);
  EXPECT_EQ(asked_[2].begin, 4u << 20);
  EXPECT_EQ(asked_[2].bytes.size(), 1u << 20);
}

TEST_F(AdoptionTest, AnEvaluatorOffersNothing) {
  Adoption adoption = Begin(false);
  answers_ = {FrozenAnswer{.state = FrozenState::kBusy}};
  StepAll(adoption);
  EXPECT_EQ(asked_[0].size, 0u);
}

TEST_F(AdoptionTest, ACoordinatorThatDoesNotAnswerIsWaitedForWithPatience) {
  Adoption adoption = Begin();
  answers_ = {Unavailable("gone")};
  EXPECT_THAT(StepAll(adoption), ElementsAre(State::kWaits));
  now_ += Seconds(11);
  answers_ = {Unavailable("gone")};
  EXPECT_THAT(StepAll(adoption), ElementsAre());
  EXPECT_EQ(why_, "gone");
}

TEST_F(AdoptionTest, WhyThereAreNoneIsSaid) {
  for (const StatusOr<FrozenAnswer>& answer :
       {StatusOr<FrozenAnswer>(FrozenAnswer{.state = FrozenState::kNotWanted, .why = "no disk"}),
        StatusOr<FrozenAnswer>(MakeStatus(StatusCode::kUnimplemented, "no disk"))}) {
    Adoption adoption = Begin();
    answers_ = {answer};
    EXPECT_THAT(StepAll(adoption), ElementsAre());
    EXPECT_THAT(why_, HasSubstr("the first worker's frozen parameters cannot be had: no disk"));
  }
  Adoption adoption = Begin();
  can_read_ = can_keep_ = false;
  answers_ = {FrozenAnswer{.state = FrozenState::kWanted}};
  StepAll(adoption);
  EXPECT_THAT(why_, HasSubstr("cannot be read"));
  Adoption other = Begin();
  answers_ = {Other("theirs", 0, 5, "ab")};
  StepAll(other);
  EXPECT_THAT(why_, HasSubstr("cannot keep them"));
}

}  // namespace
}  // namespace paceline::worker

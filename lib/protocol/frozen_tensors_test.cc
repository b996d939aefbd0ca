#include "lib/protocol/frozen_tensors.h"

#include <gmock/gmock.h>

namespace paceline::protocol {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;

const FrozenTensor kA{"a", "uint8 [4]", "1"}, kB{"b", "bfloat16 [2]", "2"};

std::string Difference(const std::vector<FrozenTensor>& got,
                       const std::vector<FrozenTensor>& want) {
  return FrozenDifference(got, want, "the others");
}

TEST(FrozenDifference, IsNoneWhereAllAreTheSameInWhateverOrder) {
  EXPECT_THAT(Difference({}, {}), IsEmpty());
  EXPECT_THAT(Difference({kA, kB}, {kB, kA}), IsEmpty());
}

TEST(FrozenDifference, ComparesNoDigestsWhereOneIsNotKnown) {
  const FrozenTensor sharded{"a", "uint8 [4]", ""};
  EXPECT_THAT(Difference({sharded}, {kA}), IsEmpty());
  EXPECT_THAT(Difference({kA}, {sharded}), IsEmpty());
}

TEST(FrozenDifference, NamesTheFirstTensorThatDiffers) {
  EXPECT_EQ(Difference({kA, kB}, {kB}), "frozen parameter a (uint8 [4]) is none of the others");
  EXPECT_EQ(Difference({kA, kB}, {kA}), "frozen parameter b (bfloat16 [2]) is none of the others");
  EXPECT_EQ(Difference({kB}, {kA, kB}), "frozen parameter a (uint8 [4]) of the others is missing");
  EXPECT_EQ(Difference({}, {kB}), "frozen parameter b (bfloat16 [2]) of the others is missing");
  EXPECT_EQ(Difference({{"a", "uint8 [5]", "1"}}, {kA}),
            "frozen parameter a is uint8 [5], want the uint8 [4] of the others");
  EXPECT_THAT(Difference({kA, {"b", "bfloat16 [2]", "3"}}, {kA, kB}),
              EndsWith("frozen parameter b has other values than that of the others: have each "
                       "worker load the same, or seed what it draws; with paceline.worker(model, "
                       "frozen=\"first\") all have the first worker's"));
}

store::Layout LayoutOf(const std::vector<store::TensorSpec>& specs) {
  return *store::Layout::Create(specs);
}

TEST(Held, NamesThemWhereTheLayoutIsTheSameOtherwise) {
  const store::TensorSpec weight{"w", {4}};
  const store::TensorSpec a{"a", {4}, store::DataType::kFloat32, store::TensorKind::kBuffer};
  const store::TensorSpec mean{"mean", {2}, store::DataType::kFloat32, store::TensorKind::kBuffer};
  const store::Layout had = LayoutOf({weight, a, mean}), has = LayoutOf({weight, mean});
  EXPECT_THAT(HeldAsFrozen(had, has, {kA, kB}, {}), ElementsAre("a"));
  EXPECT_THAT(HeldAsFrozen(had, has, {kB}, {}), IsEmpty()) << "the worker has frozen another one";
  EXPECT_THAT(HeldAsFrozen(had, LayoutOf({weight}), {kA}, {}), IsEmpty()) << "mean is missing";
  EXPECT_THAT(HeldAsFrozen(has, has, {kA}, {}), IsEmpty());
  const store::Layout trained = LayoutOf({weight, {"a", {4}}, mean});
  EXPECT_THAT(HeldAsFrozen(trained, has, {kA}, {}), IsEmpty()) << "it was trained";
  EXPECT_THAT(Held(trained, has, {kA}), ElementsAre("a"));
}

TEST(Held, ParametersThatAGroupFreezesAreFrozen) {
  const store::TensorSpec w{"w", {4}};
  const store::Layout had = LayoutOf({w, {"a", {4}}, {"b", {2}}}), has = LayoutOf({w});
  const optim::ParameterGroup a{.match = {"a"}, .is_frozen = true}, all{.match = {"*"}};
  const optim::ParameterGroup both{.match = {"a", "b"}, .is_frozen = true};
  EXPECT_THAT(HeldAsFrozen(had, has, {kA, kB}, {{both}}), ElementsAre("a", "b"));
  EXPECT_THAT(HeldAsFrozen(had, has, {kA, kB}, {{a}}), IsEmpty()) << "b was trained";
  EXPECT_THAT(HeldAsFrozen(had, has, {kA, kB}, {{all, both}}), IsEmpty()) << "the first one counts";
}

}  // namespace
}  // namespace paceline::protocol

#include "lib/store/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::store {
namespace {

TensorSpec Parameter(const std::string& name, std::vector<int64_t> shape) {
  return {name, std::move(shape)};
}
TensorSpec Buffer(const std::string& name, std::vector<int64_t> shape,
                  DataType type = DataType::kFloat32) {
  return {name, std::move(shape), type, TensorKind::kBuffer};
}

std::vector<TensorSpec> BatchNormModel() {
  return {Parameter("conv.weight", {3, 3}), Buffer("bn.mean", {4}),
          Buffer("bn.count", {}, DataType::kInt64), Parameter("fc.weight", {2, 5}),
          Buffer("bn.variance", {4})};
}

TEST(LayoutTest, GroupsParametersThenFloatBuffersThenAlignedIntegers) {
  const Layout layout = Layout::Create(BatchNormModel()).value();
  const struct {
    std::string name;
    uint64_t offset, size;
  } want[] = {{"conv.weight", 0, 36},
              {"fc.weight", 36, 40},
              {"bn.mean", 76, 16},
              {"bn.variance", 92, 16},
              {"bn.count", 112, 8}};
  ASSERT_EQ(layout.tensors().size(), std::size(want));
  for (size_t i = 0; i < std::size(want); ++i) {
    EXPECT_EQ(layout.tensors()[i].spec.name, want[i].name);
    EXPECT_EQ(layout.tensors()[i].offset_bytes, want[i].offset) << want[i].name;
    EXPECT_EQ(layout.tensors()[i].size_bytes, want[i].size) << want[i].name;
  }
  EXPECT_EQ(layout.parameter_bytes(), 76u);
  EXPECT_EQ(layout.float_bytes(), 108u);
  EXPECT_EQ(layout.integer_begin_bytes(), 112u);
  EXPECT_EQ(layout.total_bytes(), 120u);
}

TEST(LayoutTest, WithoutIntegersNothingIsPadded) {
  const Layout layout = Layout::Create({Parameter("w", {3})}).value();
  EXPECT_EQ(layout.float_bytes(), 12u);
  EXPECT_EQ(layout.integer_begin_bytes(), 12u);
  EXPECT_EQ(layout.total_bytes(), 12u);
}

TEST(LayoutTest, EmptyTensorsAndScalarsHavePlaces) {
  const Layout layout =
      Layout::Create({Parameter("empty", {0, 1 << 30, 1 << 30, 1 << 30}), Parameter("scalar", {})})
          .value();
  EXPECT_EQ(layout.tensors()[0].size_bytes, 0u);
  EXPECT_EQ(layout.tensors()[1].size_bytes, 4u);
}

TEST(LayoutTest, BadTensorsAreRefusedByName) {
  const struct {
    std::vector<TensorSpec> tensors;
    std::string want;
  } cases[] = {
      {{}, "layout has no parameter to train: got 0 tensors"},
      {{Buffer("b", {3})}, "no parameter"},
      {{Parameter("w", {0})}, "no parameter"},
      {{Parameter("w", {1}), Parameter("w", {2})}, "tensor w is named twice"},
      {{Parameter("w", {1}), Parameter("", {2})}, "tensor number 1 has no name"},
      {{Parameter("w", {2, -1})}, "tensor w has a negative dimension: got shape [2, -1]"},
      {{{"w", {1}, DataType::kInt64, TensorKind::kParameter}},
       "parameter w must be float32: got int64"},
      {{Parameter("w", {int64_t{1} << 39})}, "beyond"},
      {{Parameter("w", {int64_t{1} << 40, int64_t{1} << 40})},
       "tensor w is larger than 2^40 bytes"},
      {{Parameter("a", {int64_t{1} << 38}), Parameter("b", {1})}, "tensor b goes beyond"},
  };
  for (const auto& test : cases) {
    const Status status = Layout::Create(test.tensors).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << test.want;
    EXPECT_THAT(Message(status), testing::HasSubstr(test.want));
  }
}

TEST(LayoutTest, HashAndDifferenceSeeEveryChange) {
  const Layout layout = Layout::Create(BatchNormModel()).value();
  EXPECT_EQ(layout.hash(), Layout::Create(BatchNormModel()).value().hash());
  EXPECT_EQ(layout.Difference(layout), "");
  const struct {
    void (*change)(std::vector<TensorSpec>&);
    std::string want;
  } cases[] = {
      {[](auto& t) {
         t[0].shape = {9, 1};
       },
       "tensor conv.weight has shape [9, 1], want [3, 3]"},
      {[](auto& t) { t[0].name = "other"; }, "tensor conv.weight is missing"},
      {[](auto& t) { t.push_back(Parameter("more", {1})); }, "tensor more is not wanted"},
      {[](auto& t) { t.pop_back(); }, "tensor bn.variance is missing"},
      {[](auto& t) { t[1].type = DataType::kInt64; },
       "tensor bn.mean has type int64, want float32"},
      {[](auto& t) { t[1].kind = TensorKind::kParameter; },
       "tensor bn.mean is a parameter, want a buffer"},
      {[](auto& t) { std::swap(t[0], t[3]); },
       "tensor fc.weight stands at place 0, want conv.weight there"},
  };
  for (const auto& test : cases) {
    std::vector<TensorSpec> tensors = BatchNormModel();
    test.change(tensors);
    const Layout other = Layout::Create(tensors).value();
    EXPECT_NE(other.hash(), layout.hash()) << test.want;
    EXPECT_EQ(other.Difference(layout), test.want);
  }
}

TEST(SliceOverShardsTest, CoversAllInRankOrderAndDiffersByOneBlock) {
  for (const int64_t elements : {1, 100, 16384, 16385, 16384 * 7 + 5, 16384 * 64}) {
    const Layout layout = Layout::Create({Parameter("w", {elements})}).value();
    for (uint32_t shards = 1; shards <= 9; ++shards) {
      const std::vector<Slice> slices = SliceOverShards(layout, shards);
      ASSERT_EQ(slices.size(), shards);
      uint64_t at = 0, smallest = UINT64_MAX, largest = 0;
      for (const Slice& slice : slices) {
        EXPECT_EQ(slice.begin_bytes, at);
        EXPECT_TRUE(slice.end_bytes % kBlockBytes == 0 || slice.end_bytes == layout.total_bytes());
        const uint64_t blocks = (slice.size_bytes() + kBlockBytes - 1) / kBlockBytes;
        smallest = std::min(smallest, blocks);
        largest = std::max(largest, blocks);
        at = slice.end_bytes;
      }
      EXPECT_EQ(at, layout.total_bytes());
      EXPECT_LE(largest - smallest, 1u);
    }
  }
}

TEST(SliceOverShardsTest, LastSlicesAreEmptyWithFewerBlocksThanShards) {
  const Layout layout = Layout::Create({Parameter("w", {16384 + 1})}).value();
  const std::vector<Slice> want = {{0, 65536}, {65536, 65540}, {65540, 65540}, {65540, 65540}};
  EXPECT_EQ(SliceOverShards(layout, 4), want);
}

}  // namespace
}  // namespace paceline::store

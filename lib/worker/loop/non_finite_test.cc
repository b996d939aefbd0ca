#include "lib/worker/loop/non_finite.h"

#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::worker {
namespace {

TEST(FirstNonFiniteTest, NamesTheFirstTensorInTheLayoutsOrder) {
  const store::Layout layout =
      *store::Layout::Create({{"conv.weight", {3}},
                              {"conv.bias", {1}},
                              {"seen", {1}, store::DataType::kInt64, store::TensorKind::kBuffer}});
  std::vector<std::byte> values(layout.total_bytes());
  const auto put = [&](uint64_t offset, float value) {
    std::memcpy(values.data() + offset, &value, sizeof value);
  };
  EXPECT_EQ(FirstNonFinite(layout, values), "");
  std::memset(values.data() + layout.integer_begin_bytes(), 0xff, sizeof(int64_t));
  EXPECT_EQ(FirstNonFinite(layout, values), "");
  const uint64_t bias = layout.tensors()[1].offset_bytes;
  put(bias, std::numeric_limits<float>::infinity());
  EXPECT_EQ(FirstNonFinite(layout, values), layout.tensors()[1].spec.name);
  put(2 * sizeof(float), std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(FirstNonFinite(layout, values), layout.tensors()[0].spec.name);
}

TEST(TensorAtTest, NamesTheOneThatHasTheByte) {
  const auto layout = store::Layout::Create({{"a", {3}}, {"b", {2}}}).value();
  EXPECT_EQ(TensorAt(layout, 0), "a");
  EXPECT_EQ(TensorAt(layout, 11), "a");
  EXPECT_EQ(TensorAt(layout, 12), "b");
  EXPECT_EQ(TensorAt(layout, 20), "");
}

}  // namespace
}  // namespace paceline::worker

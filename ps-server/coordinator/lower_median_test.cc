#include "ps-server/coordinator/lower_median.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::ps {
namespace {

TEST(LowerMedianTest, IsThatOfTheSortedValuesWhateverComesAndGoes) {
  std::mt19937 chance(11);
  LowerMedian median;
  std::vector<double> values;
  for (int step = 0; step < 5000; ++step) {
    if (values.empty() || chance() % 5 < 3) {
      values.push_back(static_cast<double>(chance() % 40));  // Many are equal.
      median.Add(values.back());
    } else {
      std::swap(values[chance() % values.size()], values.back());
      median.Remove(values.back());
      values.pop_back();
    }
    ASSERT_EQ(median.size(), values.size());
    if (values.empty()) continue;
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    ASSERT_EQ(median.value(), sorted[(sorted.size() - 1) / 2]) << step;
  }
}

}  // namespace
}  // namespace paceline::ps

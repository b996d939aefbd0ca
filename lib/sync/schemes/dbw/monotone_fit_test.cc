#include "lib/sync/schemes/dbw/monotone_fit.h"

#include <algorithm>
#include <limits>

#include <gmock/gmock.h>

#include "lib/sync/testing/virtual_cluster.h"

namespace paceline::sync {
namespace {

using ::testing::DoubleNear;
using testing::Draws;
using ::testing::ElementsAre;
using ::testing::Pointwise;

std::vector<double> Increasing(std::vector<double> values, std::vector<double> weights) {
  std::vector<Pool> pools;
  FitIncreasing(values, weights, pools);
  return values;
}

std::vector<double> Fit(size_t rows, size_t columns, const std::vector<double>& values,
                        const std::vector<double>& weights,
                        uint32_t sweeps = MonotoneFit::kSweeps) {
  MonotoneFit fit(rows, columns, values, weights, sweeps);
  while (!fit.is_done()) fit.Advance(1000);
  return fit.values();
}

struct Problem {
  size_t rows, columns;
  std::vector<double> values, weights;
};

Problem RandomProblem(Draws& draws, size_t rows, size_t columns) {
  Problem problem{rows, columns, {}, {}};
  for (size_t i = 0; i < rows * columns; ++i) {
    problem.values.push_back(draws.Uniform() * 10);
    problem.weights.push_back(1 + static_cast<double>(draws.Next() % 20));
  }
  return problem;
}

// Another method: ascent on the dual, one multiplier for each inequality, over and over.
std::vector<double> Reference(const Problem& problem) {
  struct Inequality {
    size_t small, large;  // x[small] <= x[large].
    double multiplier = 0;
  };
  std::vector<Inequality> inequalities;
  for (size_t row = 0; row < problem.rows; ++row) {
    for (size_t column = 0; column < problem.columns; ++column) {
      const size_t at = row * problem.columns + column;
      if (column + 1 < problem.columns) inequalities.push_back({at, at + 1});
      if (row + 1 < problem.rows) inequalities.push_back({at + problem.columns, at});
    }
  }
  std::vector<double> x = problem.values;
  for (int sweep = 0; sweep < 20000; ++sweep) {
    for (Inequality& inequality : inequalities) {
      const double small = 1 / problem.weights[inequality.small];
      const double large = 1 / problem.weights[inequality.large];
      const double wanted = (x[inequality.small] - x[inequality.large]) / (small + large);
      const double change = std::max(wanted, -inequality.multiplier);
      inequality.multiplier += change;
      x[inequality.small] -= change * small;
      x[inequality.large] += change * large;
    }
  }
  return x;
}

void ExpectMonotone(size_t rows, size_t columns, const std::vector<double>& x) {
  for (size_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < columns; ++column) {
      const double here = x[row * columns + column];
      if (column + 1 < columns) {
        EXPECT_LE(here, x[row * columns + column + 1]) << row << column;
      }
      if (row + 1 < rows) {
        EXPECT_GE(here, x[(row + 1) * columns + column]) << row << column;
      }
    }
  }
}

TEST(FitIncreasing, PoolsWhatViolates) {
  EXPECT_THAT(Increasing({1, 2, 3}, {1, 1, 1}), ElementsAre(1, 2, 3));
  EXPECT_THAT(Increasing({3, 2, 1}, {1, 1, 1}), ElementsAre(2, 2, 2));
  EXPECT_THAT(Increasing({1, 4, 2}, {1, 1, 3}), ElementsAre(1, 2.5, 2.5));
  EXPECT_THAT(Increasing({}, {}), ElementsAre());
}

// The minimum over ends of the maximum over beginnings of the means between.
TEST(FitIncreasing, EqualsTheMinMaxFormula) {
  Draws draws(1);
  for (int round = 0; round < 200; ++round) {
    const Problem problem = RandomProblem(draws, 1, 1 + draws.Next() % 9);
    const auto mean = [&](size_t begin, size_t end) {
      double sum = 0, weight = 0;
      for (size_t i = begin; i <= end; ++i) {
        sum += problem.values[i] * problem.weights[i];
        weight += problem.weights[i];
      }
      return sum / weight;
    };
    std::vector<double> expected;
    for (size_t i = 0; i < problem.columns; ++i) {
      double least = std::numeric_limits<double>::infinity();
      for (size_t end = i; end < problem.columns; ++end) {
        double most = -std::numeric_limits<double>::infinity();
        for (size_t begin = 0; begin <= i; ++begin) most = std::max(most, mean(begin, end));
        least = std::min(least, most);
      }
      expected.push_back(least);
    }
    EXPECT_THAT(Increasing(problem.values, problem.weights),
                Pointwise(DoubleNear(1e-12), expected));
  }
}

TEST(MonotoneFit, LeavesAloneWhatIsMonotone) {
  const std::vector<double> table = {3, 4, 5, 2, 3, 5, 1, 2, 4};
  EXPECT_EQ(Fit(3, 3, table, std::vector<double>(9, 1)), table);
}

TEST(MonotoneFit, EqualsADualMethod) {
  Draws draws(2);
  for (const auto& [rows, columns] : {std::pair<size_t, size_t>{2, 2}, {4, 4}, {5, 3}, {6, 6}}) {
    const Problem problem = RandomProblem(draws, rows, columns);
    EXPECT_THAT(Fit(rows, columns, problem.values, problem.weights, 3000),
                Pointwise(DoubleNear(1e-6), Reference(problem)));
  }
}

TEST(MonotoneFit, ThirtySweepsComeNear) {
  Draws draws(3);
  const Problem problem = RandomProblem(draws, 6, 6);
  EXPECT_THAT(Fit(6, 6, problem.values, problem.weights),
              Pointwise(DoubleNear(0.05), Reference(problem)));
}

TEST(MonotoneFit, IsMonotoneToTheBitEvenWhereCellsWereNotSeen) {
  Draws draws(4);
  for (int round = 0; round < 50; ++round) {
    Problem problem = RandomProblem(draws, 8, 8);
    for (double& weight : problem.weights) {
      if (draws.Uniform() < 0.7) weight = 1e-6;
    }
    ExpectMonotone(8, 8, Fit(8, 8, problem.values, problem.weights));
  }
}

TEST(MonotoneFit, IsIdempotent) {
  Draws draws(5);
  const Problem problem = RandomProblem(draws, 7, 7);
  const std::vector<double> once = Fit(7, 7, problem.values, problem.weights);
  EXPECT_THAT(Fit(7, 7, once, problem.weights), Pointwise(DoubleNear(1e-9), once));
}

TEST(MonotoneFit, TakesThePortionsThatItIsGiven) {
  Draws draws(6);
  const Problem problem = RandomProblem(draws, 64, 64);
  MonotoneFit fit(64, 64, problem.values, problem.weights);
  uint32_t portions = 0;
  for (; !fit.is_done(); ++portions) fit.Advance(64);
  // 30 sweeps over rows and columns, and one more, of 4,096 cells; 64 x 256 of them a portion.
  EXPECT_NEAR(portions, 62 * 4096 / (64 * 256), 2);
  EXPECT_EQ(fit.values(), Fit(64, 64, problem.values, problem.weights));
}

TEST(MonotoneFit, OneRowIsFittedOnce) {
  EXPECT_THAT(Fit(1, 3, {1, 4, 2}, {1, 1, 3}), ElementsAre(1, 2.5, 2.5));
}

}  // namespace
}  // namespace paceline::sync

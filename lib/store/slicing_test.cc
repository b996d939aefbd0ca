// How a model is cut over shards changes no bit of what is trained or measured.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "lib/store/shard_testing.h"

namespace paceline::store {
namespace {

using testing::Deliver;
using testing::OpenShard;
using testing::Push;

using Random = std::mt19937_64;

// Below `bound`.
uint64_t Draw(Random& random, uint64_t bound) { return random() % bound; }

Layout RandomLayout(Random& random) {
  std::vector<TensorSpec> tensors;
  const uint64_t count = 1 + Draw(random, 8);
  for (uint64_t i = 0; i < count; ++i) {
    TensorSpec tensor{"t" + std::to_string(i), {static_cast<int64_t>(Draw(random, 30000))}};
    if (i > 0 && Draw(random, 3) == 0) tensor.kind = TensorKind::kBuffer;
    if (tensor.kind == TensorKind::kBuffer && Draw(random, 2) == 0) tensor.type = DataType::kInt64;
    if (i == 0) tensor.shape = {1 + static_cast<int64_t>(Draw(random, 60000))};
    tensors.push_back(std::move(tensor));
  }
  return Layout::Create(tensors).value();
}

// Signed values of many magnitudes, zeros of both signs among them.
std::vector<std::byte> RandomValues(Random& random, const Layout& layout) {
  std::vector<std::byte> bytes(layout.total_bytes());
  for (uint64_t at = 0; at < layout.float_bytes(); at += 4) {
    const double exponent = static_cast<double>(Draw(random, 20)) - 12;
    float value = static_cast<float>(std::exp2(exponent) *
                                     (1 + static_cast<double>(Draw(random, 1000)) / 1000));
    if (Draw(random, 8) == 0) value = 0;
    if (Draw(random, 2) == 0) value = -value;
    std::memcpy(&bytes[at], &value, 4);
  }
  for (uint64_t at = layout.integer_begin_bytes(); at < layout.total_bytes(); at += 8) {
    const int64_t value = static_cast<int64_t>(random());
    std::memcpy(&bytes[at], &value, 8);
  }
  return bytes;
}

struct Result {
  std::vector<std::vector<double>> norms;  // Of receipts, sums and commits, in order.
  std::vector<std::byte> values;
  friend bool operator==(const Result&, const Result&) = default;
};

void Append(std::vector<double>& all, const std::vector<double>& part) {
  all.insert(all.end(), part.begin(), part.end());
}

// Three rounds of `workers` pushes over so many shards.
Result Train(uint64_t seed, uint32_t shards) {
  Random random(seed);
  const Layout layout = RandomLayout(random);
  const std::vector<optim::OptimizerOptions> optimizers = {
      optim::SgdOptions{}, optim::SgdOptions{.momentum = 0.9, .weight_decay = 1e-4},
      optim::AdamWOptions{}, optim::LambOptions{}, optim::AdagradOptions{}};
  const std::vector<optim::ParameterGroup> groups = {
      {.match = {"*1*"}, .weight_decay = 0.1, .rate_scale = 0.5},
      {.match = {"*2*"}, .is_frozen = true}};
  const auto optimizer = optimizers[Draw(random, optimizers.size())];
  const std::vector<std::byte> initial = RandomValues(random, layout);
  std::vector<std::unique_ptr<Shard>> all;
  for (const Slice& slice : SliceOverShards(layout, shards)) {
    all.push_back(OpenShard(
        {.layout = layout, .slice = slice, .optimizer = optimizer, .parameter_groups = groups},
        initial));
  }
  Result result;
  for (uint64_t round = 1; round <= 3; ++round) {
    const uint64_t workers = 1 + Draw(random, 3);
    double samples = 0;
    for (uint64_t worker = 0; worker < workers; ++worker) {
      const std::vector<std::byte> push = RandomValues(random, layout);
      const double weight = static_cast<double>(1 + Draw(random, 200));
      samples += weight;
      std::vector<double>& norms = result.norms.emplace_back();
      for (auto& shard : all) {
        Append(norms, Deliver(*shard, Push(worker, round), push).value()->block_squared_norms);
        EXPECT_EQ(shard->Accumulate(Push(worker, round), weight), OkStatus());
      }
    }
    std::vector<double> sums, means;
    std::vector<TensorNorms> norms;
    for (auto& shard : all) {
      for (const TensorNorms& one : shard->PrepareNorms(1 / samples, 0.5)) norms.push_back(one);
    }
    EXPECT_EQ(norms.empty(), !optim::IsLayerWise(optimizer));
    std::vector<uint32_t> without_gradient;
    for (uint32_t i = 0; i < layout.tensors().size(); ++i) {
      if (layout.tensors()[i].spec.kind == TensorKind::kParameter && Draw(random, 3) == 0)
        without_gradient.push_back(i);
    }
    for (auto& shard : all) {
      Append(sums, shard->SumBlockNorms());
      Append(means, shard
                        ->Commit({.version = Version(round),
                                  .gradient_scale = 1 / samples,
                                  .clip_scale = 0.5,
                                  .learning_rate = 0.01,
                                  .trust_ratios = TrustRatios(norms),
                                  .without_gradient = without_gradient})
                        .value());
    }
    result.norms.push_back(sums);
    result.norms.push_back(means);
  }
  for (auto& shard : all) {
    const auto published = shard->Newest();
    result.values.insert(result.values.end(), published->bytes().begin(), published->bytes().end());
  }
  return result;
}

TEST(SlicingTest, AnyNumberOfShardsGivesTheSameBits) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const Result one = Train(seed, 1);
    ASSERT_FALSE(one.norms.empty());
    for (const uint32_t shards : {2, 3, 4, 13}) {
      EXPECT_TRUE(Train(seed, shards) == one) << "seed " << seed << ", " << shards << " shards";
    }
  }
}

}  // namespace
}  // namespace paceline::store

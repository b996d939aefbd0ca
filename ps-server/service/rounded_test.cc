// Numbers that travel as BFloat16, over real gRPC, against real shards.
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "lib/rpc/bulk/throttled_parameter_client.h"
#include "lib/store/kernels.h"
#include "ps-server/service/data_plane_testing.h"
#include "ps-server/service/rounded_versions.h"

namespace paceline::ps {
namespace {

using testing::LayoutOf;
using testing::Payload;
using testing::RandomPayload;
using testing::Shards;
using testing::Transport;

store::PushId Push(uint64_t worker, uint64_t sequence) {
  return {WorkerId(worker), Incarnation(1), Sequence(sequence)};
}

// With parameters that rounding changes.
Payload FinePayload(const store::Layout& layout, uint64_t seed) {
  Payload payload = RandomPayload(layout, seed);
  for (uint64_t at = 0; at < layout.float_bytes(); at += 4) {
    float value = 0;
    std::memcpy(&value, payload->data() + at, 4);
    value *= 1.0001f;
    std::memcpy(payload->data() + at, &value, 4);
  }
  return payload;
}

// What arrives of it: buffers as they are.
Payload Rounded(const store::Layout& layout, const Payload& payload) {
  auto rounded = std::make_shared<std::vector<std::byte>>(*payload);
  std::vector<uint16_t> numbers(layout.parameter_bytes() / 4);
  store::RoundToBfloat16(
      store::View<float>(std::span<const std::byte>(*payload), 0, layout.parameter_bytes()),
      numbers);
  store::WidenBfloat16(
      numbers, store::View<float>(std::span<std::byte>(*rounded), 0, layout.parameter_bytes()));
  return rounded;
}

std::unique_ptr<rpc::ParameterClient> ClientOf(Shards& shards, const WireTypes& types) {
  rpc::GrpcParameterClientOptions options = shards.Options();
  options.types = types;
  return shards.BareClient(std::move(options));
}

std::vector<std::byte> Pulled(rpc::ParameterClient& client, uint64_t bytes, Version version) {
  std::vector<std::byte> into(bytes);
  const auto report = client.Pull(version, sync::Exactness::kExact, into);
  EXPECT_TRUE(report.ok()) << report.status();
  return into;
}

class RoundedTest : public ::testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Shards, RoundedTest, ::testing::Values(1u, 2u, 4u));

// A push that is rounded on its way is the push of rounded numbers: norms, sum, version.
TEST_P(RoundedTest, GradientsArriveAsTheNearestNumbers) {
  const store::Layout layout = LayoutOf(1'500'001);
  const Payload payload = FinePayload(layout, 2);
  const Payload rounded = Rounded(layout, payload);
  ASSERT_NE(*payload, *rounded);
  std::vector<std::vector<std::byte>> versions;
  for (const uint64_t committed : {1, 0, 2}) {  // Rounded before; as a whole; in pieces.
    Shards shards(Transport::kUnix, LayoutOf(1'500'001), GetParam());
    const auto exact = shards.Born(RandomPayload(layout, 1));
    const auto rounding = ClientOf(shards, {.gradients = WireType::kBfloat16});
    const auto whole = rounding->Push(Push(0, 1), *payload, payload);
    ASSERT_TRUE(whole.ok()) << whole.status();
    EXPECT_EQ(whole->wire_bytes, layout.total_bytes() - layout.parameter_bytes() / 2);
    const auto want = exact->Push(Push(1, 1), *rounded, rounded);
    EXPECT_EQ(whole->squared_norm, want->squared_norm);
    EXPECT_EQ(want->wire_bytes, std::nullopt);
    // In pieces, from the end.
    const auto begun = rounding->BeginPush(Push(2, 1));
    ASSERT_NE(begun, nullptr);
    const std::span<const std::byte> bytes(*payload);
    for (uint64_t end = bytes.size(); end > 0;) {
      const uint64_t begin = end > 1'000'000 ? (end - 1'000'000) / 4 * 4 : 0;
      begun->Put(begin, bytes.subspan(begin, end - begin));
      end = begin;
    }
    const auto pieces = begun->Seal();
    ASSERT_TRUE(pieces.ok()) << pieces.status();
    EXPECT_EQ(pieces->squared_norm, want->squared_norm);
    EXPECT_EQ(pieces->wire_bytes, whole->wire_bytes);
    shards.Commit(Version(1), {Push(committed, 1)});
    versions.push_back(Pulled(*exact, layout.total_bytes(), Version(1)));
  }
  EXPECT_EQ(versions[0], versions[1]);
  EXPECT_EQ(versions[0], versions[2]);
}

TEST_P(RoundedTest, ParametersArriveAsTheNearestNumbersAndBuffersAsTheyAre) {
  Shards shards(Transport::kTcp, LayoutOf(1'500'001), GetParam());
  const Payload initial = FinePayload(shards.layout(), 1);
  const auto exact = shards.Born(initial);
  const auto rounding = ClientOf(shards, {.parameters = WireType::kBfloat16});
  const uint64_t bytes = shards.layout().total_bytes();
  EXPECT_EQ(Pulled(*rounding, bytes, Version(0)), *Rounded(shards.layout(), initial));
  EXPECT_EQ(Pulled(*exact, bytes, Version(0)), *initial) << "who asks for Float32 gets each bit";
  std::vector<std::byte> into(bytes);
  EXPECT_EQ(rounding->Pull(Version(0), sync::Exactness::kExact, into)->wire_bytes,
            bytes - shards.layout().parameter_bytes() / 2);
  // The next version is rounded anew, and gradients are not rounded.
  const Payload gradient = FinePayload(shards.layout(), 3);
  const auto pushed = rounding->Push(Push(0, 1), *gradient, gradient);
  EXPECT_EQ(pushed->squared_norm, exact->Push(Push(1, 1), *gradient, gradient)->squared_norm);
  shards.Commit(Version(1), {Push(0, 1)});
  const auto next = std::make_shared<std::vector<std::byte>>(Pulled(*exact, bytes, Version(1)));
  EXPECT_EQ(Pulled(*rounding, bytes, Version(1)), *Rounded(shards.layout(), next));
  EXPECT_EQ(Pulled(*rounding, bytes, Version(0)), *Rounded(shards.layout(), initial));
}

// Deltas and initial values: their sender goes on from each bit of them.
TEST_P(RoundedTest, DeltasAndFillsAreNotRounded) {
  const WireTypes both{WireType::kBfloat16, WireType::kBfloat16};
  Shards shards(Transport::kUnix, LayoutOf(100'000), GetParam());
  shards.Configure();
  const auto rounding = ClientOf(shards, both);
  const Payload initial = FinePayload(shards.layout(), 1);
  ASSERT_TRUE(rounding->Fill(WorkerId(0), Incarnation(1), *initial, initial).ok());
  shards.Open(WorkerId(0), Incarnation(1));
  const auto exact = shards.BareClient();
  EXPECT_EQ(Pulled(*exact, initial->size(), Version(0)), *initial);
  const Payload delta = FinePayload(shards.layout(), 2);
  const auto pushed = rounding->PushExactly(Push(0, 1), *delta, delta);
  ASSERT_TRUE(pushed.ok()) << pushed.status();
  EXPECT_EQ(pushed->wire_bytes, std::nullopt);
  EXPECT_EQ(pushed->squared_norm, exact->Push(Push(1, 1), *delta, delta)->squared_norm);
}

// Half a number has no nearest one.
TEST_P(RoundedTest, APieceThatCutsANumberIsNotSealed) {
  Shards shards(Transport::kUnix, LayoutOf(100'000), GetParam());
  const Payload payload = FinePayload(shards.layout(), 1);
  (void)shards.Born(payload);
  const auto rounding = ClientOf(shards, {.gradients = WireType::kBfloat16});
  const std::span<const std::byte> bytes(*payload);
  for (const uint64_t cut : {4001, 4002, 4000}) {
    const auto begun = rounding->BeginPush(Push(0, cut));
    ASSERT_NE(begun, nullptr);
    begun->Put(0, bytes.first(cut));
    begun->Put(cut, bytes.subspan(cut));
    EXPECT_EQ(begun->Seal().status().code(),
              cut == 4000 ? StatusCode::kOk : StatusCode::kInvalidArgument)
        << cut;
  }
}

// Whatever stands before the sockets hands each of the two on as what it is.
TEST(RoundingClientsTest, DeltasStayExactThroughAllOfThem) {
  Shards shards(Transport::kUnix, LayoutOf(100'000), 2);
  (void)shards.Born(RandomPayload(shards.layout(), 1));
  const WireTypes both{WireType::kBfloat16, WireType::kBfloat16};
  rpc::GrpcParameterClientOptions options = shards.Options();
  options.types = both;
  // Its shards publish into memory of their own: it takes sockets from its first pull on.
  std::vector<std::unique_ptr<MemoryService>> memories;
  for (const size_t rank : {0, 1})
    memories.push_back(*MemoryService::Start(shards[rank].host(), shards[rank].address()));
  std::unique_ptr<rpc::ParameterClient> sockets = ClientOf(shards, both);
  auto shared = rpc::SharedMemoryClient::Create(
      {.generation = options.generation, .shards = options.shards}, sockets);
  ASSERT_TRUE(shared.ok()) << shared.status();
  (void)Pulled(**shared, shards.layout().total_bytes(), Version(0));
  std::map<std::string, std::unique_ptr<rpc::ParameterClient>> clients;
  clients["retrying"] = *rpc::OpenParameterClient(options);
  clients["throttled"] = std::make_unique<rpc::ThrottledParameterClient>(
      ClientOf(shards, both), rpc::ThrottleOptions{.time_for = [](uint64_t) { return Duration(); },
                                                   .now = [] { return Time(); },
                                                   .sleep = [](Duration) {}});
  clients["shared memory"] = *std::move(shared);
  const Payload payload = FinePayload(shards.layout(), 2);
  const double exact = shards.BareClient()->Push(Push(7, 1), *payload, payload)->squared_norm;
  uint64_t worker = 0;
  for (const auto& [name, client] : clients) {
    const auto delta = client->PushExactly(Push(worker++, 1), *payload, payload);
    ASSERT_TRUE(delta.ok()) << name << ": " << delta.status();
    EXPECT_EQ(delta->squared_norm, exact) << name;
    const auto gradient = client->Push(Push(worker++, 1), *payload, payload);
    ASSERT_TRUE(gradient.ok()) << name << ": " << gradient.status();
    EXPECT_NE(gradient->squared_norm, exact) << name;
  }
}

// Judged is what arrives: a number that no BFloat16 can hold is infinite there, and named.
TEST_P(RoundedTest, WhatRoundingMakesInfiniteIsNamed) {
  Shards shards(Transport::kUnix, LayoutOf(100'000), GetParam());
  (void)shards.Born(RandomPayload(shards.layout(), 1));
  const auto rounding = ClientOf(shards, {.gradients = WireType::kBfloat16});
  uint64_t worker = 0;
  for (const float bad :
       {std::numeric_limits<float>::max(), std::numeric_limits<float>::quiet_NaN()}) {
    for (const uint64_t at : {uint64_t{400}, shards.layout().parameter_bytes() - 4}) {
      const Payload payload = RandomPayload(shards.layout(), 2);
      std::memcpy(payload->data() + at, &bad, 4);
      const auto whole = rounding->Push(Push(worker++, 1), *payload, payload);
      ASSERT_TRUE(whole.ok()) << whole.status();
      EXPECT_FALSE(whole->is_finite);
      EXPECT_EQ(whole->non_finite_at, at);
      const auto begun = rounding->BeginPush(Push(worker++, 1));
      begun->Put(0, *payload);
      const auto pieces = begun->Seal();
      EXPECT_FALSE(pieces->is_finite);
      EXPECT_EQ(pieces->non_finite_at, at);
    }
  }
}

TEST(RoundedVersionsTest, EachChunkIsRoundedOnceWhoeverAsks) {
  constexpr uint64_t kBytes = 1'000'000, kChunk = 65'536;
  const auto published = std::make_shared<store::Published>(store::Region::Private(kBytes + 100));
  published->version = Version(3);
  auto values = store::View<float>(published->bytes(), 0, kBytes);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 1.0001f * static_cast<float>(i);
  std::vector<uint16_t> want(values.size());
  store::RoundToBfloat16(values, want);
  RoundedVersions versions;
  const Generation generation{1, 1};
  const std::weak_ptr<const store::Published> held = published;
  const auto rounded = versions.Of(generation, published, kBytes, kChunk);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto same = versions.Of(generation, published, kBytes, kChunk);
      EXPECT_EQ(same, rounded);
      for (uint64_t begin = 0; begin < kBytes; begin += kChunk) {
        const auto chunk = same->Chunk(begin);
        EXPECT_EQ(std::memcmp(chunk.data(), &want[begin / 4], chunk.size()), 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(published.use_count(), 1) << "it is held though all of it is rounded";

  // An older one, or one of an older generation, takes nobody's place.
  const auto older = std::make_shared<store::Published>(store::Region::Private(kBytes));
  older->version = Version(2);
  EXPECT_NE(versions.Of(generation, older, kBytes, kChunk), rounded);
  EXPECT_EQ(versions.Of(generation, published, kBytes, kChunk), rounded);
  EXPECT_NE(versions.Of({1, 2}, older, kBytes, kChunk), rounded);
  EXPECT_NE(versions.Of(generation, published, kBytes, kChunk), rounded);

  // The same version is another one in another generation.
  const auto second = versions.Of({1, 2}, older, kBytes, kChunk);
  EXPECT_NE(versions.Of({1, 3}, older, kBytes, kChunk), second);
}

}  // namespace
}  // namespace paceline::ps

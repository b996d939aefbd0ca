#include "lib/rpc/retry.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/rpc/bulk/in_process_parameter_client.h"
#include "lib/rpc/bulk/retrying_parameter_client.h"
#include "lib/rpc/testing/flaky_parameter_client.h"

namespace paceline::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(RetryTest, OnlyPassingReasonsAreRetried) {
  for (const auto& [code, attempts] :
       std::vector<std::pair<StatusCode, int>>{{StatusCode::kOk, 1},
                                               {StatusCode::kUnavailable, 3},
                                               {StatusCode::kDeadlineExceeded, 3},
                                               {StatusCode::kAborted, 3},
                                               {StatusCode::kInvalidArgument, 1},
                                               {StatusCode::kFailedPrecondition, 1},
                                               {StatusCode::kPermissionDenied, 1},
                                               {StatusCode::kResourceExhausted, 5},
                                               {StatusCode::kInternal, 1}}) {
    int calls = 0;
    const Status status = Retry(
        {.attempts_max = 3, .busy_attempts_max = 5}, [](Duration) {},
        [&, code = code] {
          ++calls;
          return MakeStatus(code, "why");
        });
    EXPECT_EQ(calls, attempts) << status;
    EXPECT_EQ(status.code(), code);
  }
}

TEST(RetryTest, BackoffDoublesUpToItsEnd) {
  std::vector<double> slept;
  (void)Retry(
      {.attempts_max = 6, .backoff_min = Seconds(1), .backoff_max = Seconds(5)},
      [&](Duration duration) { slept.push_back(ToSeconds(duration)); },
      [] { return Unavailable("down"); });
  EXPECT_THAT(slept, ElementsAre(1, 2, 4, 5, 5));
}

TEST(RetryTest, BusyOnesAreAskedSoonAndCountApart) {
  std::vector<double> slept;
  int calls = 0;
  const Status status = Retry(
      {.attempts_max = 2,
       .backoff_min = Seconds(1),
       .busy_attempts_max = 9,
       .busy_backoff_min = Seconds(0.25),
       .busy_backoff_max = Seconds(0.5)},
      [&](Duration duration) { slept.push_back(ToSeconds(duration)); },
      [&] {
        ++calls;
        if (calls == 2) return Unavailable("down");
        return calls < 5 ? ResourceExhausted("slot is taken") : OkStatus();
      });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(slept, ElementsAre(0.25, 1, 0.5, 0.5));
}

std::shared_ptr<store::Shard> OpenShard(const store::Layout& layout) {
  std::shared_ptr<store::Shard> shard =
      store::Shard::Create(
          {.layout = layout, .slice = {0, layout.total_bytes()}, .optimizer = optim::SgdOptions{}})
          .value();
  EXPECT_TRUE(shard->Open().ok());
  return shard;
}

TEST(RetryingParameterClientTest, LostAnswerOfAPushCountsOnce) {
  const auto layout = store::Layout::Create({{"w", {1000}}}).value();
  const auto shard = OpenShard(layout);
  auto flaky = std::make_unique<testing::FlakyParameterClient>(
      std::make_unique<InProcessParameterClient>(std::vector{shard}),
      std::deque{testing::Mishap::kRequestLost, testing::Mishap::kAnswerLost});
  const auto* const calls = flaky.get();
  RetryingParameterClient client(std::move(flaky), {.attempts_max = 3}, [](Duration) {});
  auto payload = std::make_shared<std::vector<float>>(1000, 2.0f);
  const store::PushId id{WorkerId(0), Incarnation(1), Sequence(1)};
  const auto report = client.Push(id, std::as_bytes(std::span(*payload)), payload);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->squared_norm, 4000);
  EXPECT_EQ(calls->calls(), 3);
  ASSERT_TRUE(shard->Accumulate(id, 1).ok());
  const auto norms =
      shard->Commit({.version = Version(1), .gradient_scale = 1, .learning_rate = 0.1});
  ASSERT_TRUE(norms.ok());
  EXPECT_THAT(*norms, ElementsAre(4000));
}

// Names a version, then breaks; every second time before it could.
class Breaking : public InProcessParameterClient {
 public:
  using InProcessParameterClient::InProcessParameterClient;
  StatusOr<PullReport> PullNamed(Version version, sync::Exactness exactness,
                                 std::span<std::byte> into, const OnNamed& on_named) override {
    if (++calls % 2 == 1) return Unavailable("shard is starting");
    StatusOr<PullReport> report =
        InProcessParameterClient::PullNamed(version, exactness, into, on_named);
    return Unavailable("link broke");
  }
  int calls = 0;
};

TEST(RetryingParameterClientTest, APullWhoseVersionsWereNamedIsNotRepeated) {
  const auto layout = store::Layout::Create({{"w", {1000}}}).value();
  auto breaking = std::make_unique<Breaking>(std::vector{OpenShard(layout)});
  const Breaking* const calls = breaking.get();
  RetryingParameterClient client(std::move(breaking), {.attempts_max = 6}, [](Duration) {});
  std::vector<std::byte> place(4000);
  int named = 0;
  const auto report =
      client.PullNamed(Version(0), sync::Exactness::kAtLeast, place, [&] { ++named; });
  EXPECT_THAT(Message(report.status()), HasSubstr("link broke"));
  EXPECT_EQ(named, 1);
  EXPECT_EQ(calls->calls, 2);
  // Where nobody listens, it is.
  EXPECT_FALSE(client.Pull(Version(0), sync::Exactness::kAtLeast, place).ok());
  EXPECT_EQ(calls->calls, 8);
}

TEST(InProcessParameterClientTest, TellsSizesThatDiffer) {
  const auto layout = store::Layout::Create({{"w", {1000}}}).value();
  InProcessParameterClient client({OpenShard(layout)});
  std::vector<std::byte> place(3999);
  EXPECT_THAT(Message(client.Pull(Version(0), sync::Exactness::kExact, place).status()),
              HasSubstr("size of the place to pull into differs: got 3999 bytes, want 4000"));
}

TEST(InProcessParameterClientTest, VersionThatIsNotThereYetIsUnavailable) {
  const auto layout = store::Layout::Create({{"w", {1000}}}).value();
  InProcessParameterClient client({OpenShard(layout)});
  std::vector<std::byte> place(4000);
  EXPECT_EQ(client.Pull(Version(1), sync::Exactness::kAtLeast, place).status().code(),
            StatusCode::kUnavailable);
}

}  // namespace
}  // namespace paceline::rpc

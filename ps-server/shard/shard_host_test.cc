#include "ps-server/shard/shard_host.h"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <variant>

#include <gtest/gtest.h>

namespace paceline::ps {
namespace {

protocol::Configure SmallSlice() {
  const store::Layout layout = store::Layout::Create({{"w", {4}}}).value();
  return {.generation = {.start = 1},
          .layout = layout,
          .slice = store::SliceOverShards(layout, 1)[0],
          .optimizer = optim::SgdOptions{}};
}

TEST(ShardHost, GoesOnlyWhenNobodyIsAtWorkInIt) {
  std::promise<void> configured, at_work, may_end;
  std::future<void> ending = may_end.get_future();
  std::thread::id own;
  std::atomic<bool> has_callers_thread = false;
  auto host = std::make_unique<ShardHost>([&](const protocol::ShardMessage& message) {
    if (std::holds_alternative<protocol::Configured>(message)) {
      own = std::this_thread::get_id();
      return configured.set_value();
    }
    if (std::this_thread::get_id() == own) return;
    has_callers_thread = true;
    at_work.set_value();
    ending.wait();
  });
  host->Order(SmallSlice());
  configured.get_future().wait();
  // The same generation again is refused, aloud, by the host's own thread as long as it is at work.
  std::thread caller([&] {
    while (!has_callers_thread) host->Order(SmallSlice());
  });
  at_work.get_future().wait();
  std::promise<void> gone;
  std::thread destroyer([&, raw = host.release()] {
    delete raw;
    gone.set_value();
  });
  EXPECT_EQ(gone.get_future().wait_for(std::chrono::milliseconds(200)),
            std::future_status::timeout);
  may_end.set_value();
  caller.join();
  destroyer.join();
}

TEST(ShardHost, TakesTheLifeThatWasAdmittedAndNoOther) {
  std::promise<void> configured;
  ShardHost host([&](const protocol::ShardMessage& message) {
    if (std::holds_alternative<protocol::Configured>(message)) configured.set_value();
  });
  const WorkerId w3(3);
  const auto code = [&](uint64_t incarnation, WorkerId worker = WorkerId(3)) {
    return host.CheckLife(worker, Incarnation(incarnation)).code();
  };
  EXPECT_EQ(code(1), StatusCode::kUnavailable);
  host.Order(SmallSlice());
  configured.get_future().wait();
  EXPECT_EQ(code(1), StatusCode::kUnavailable);
  // From here on orders are carried out by who gives them: the slice is small.
  host.Order(protocol::Admit{w3, Incarnation(2)});
  while (code(2) == StatusCode::kUnavailable) std::this_thread::yield();
  EXPECT_EQ(code(1), StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(2), StatusCode::kOk);
  EXPECT_EQ(code(3), StatusCode::kUnavailable);
  EXPECT_EQ(code(UINT64_MAX), StatusCode::kUnavailable);
  EXPECT_EQ(code(2, WorkerId(4)), StatusCode::kUnavailable);
  host.Order(protocol::Fence{w3, Incarnation(2)});
  while (code(2) == StatusCode::kOk) std::this_thread::yield();
  EXPECT_EQ(code(2), StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(3), StatusCode::kUnavailable);
  host.Order(protocol::Admit{w3, Incarnation(3)});
  while (code(3) == StatusCode::kUnavailable) std::this_thread::yield();
  EXPECT_EQ(code(3), StatusCode::kOk);
  EXPECT_EQ(code(2), StatusCode::kFailedPrecondition);
}

// What the coordinator tells slow from stuck by.
TEST(ShardHost, HeartbeatsCountWhatIsDone) {
  std::promise<void> filled, opened, committed;
  ShardHost host([&](const protocol::ShardMessage& message) {
    if (std::holds_alternative<protocol::Filled>(message)) filled.set_value();
    if (std::holds_alternative<protocol::Opened>(message)) opened.set_value();
    if (std::holds_alternative<protocol::Committed>(message)) committed.set_value();
  });
  EXPECT_EQ(host.Heartbeat().work_done, 0u);
  const protocol::Configure configure = SmallSlice();
  host.Order(configure);
  StatusOr<ShardHost::FillBuffer> buffer = Unavailable("not yet");
  while (!buffer.ok()) buffer = host.BeginFill(configure.generation, WorkerId(0), Incarnation(1));
  ASSERT_TRUE(host.EndFill(*buffer).ok());
  filled.get_future().wait();
  host.Order(protocol::Open{WorkerId(0), Incarnation(1)});
  opened.get_future().wait();
  const uint64_t born = host.Heartbeat().work_done;
  EXPECT_GT(born, 0u) << "memory was made";
  const auto shard = host.Serving(configure.generation).value();
  const store::PushId id{WorkerId(0), Incarnation(1), Sequence(1)};
  const auto staging = shard->Stage(id).value();
  ASSERT_TRUE(shard->Seal(id, staging.ticket).ok());
  EXPECT_EQ(host.Heartbeat().work_done, born);
  host.Order(protocol::CommitAll{{{id, 1}}, {.version = Version(1)}});
  committed.get_future().wait();
  EXPECT_EQ(host.Heartbeat().work_done, born + 2) << "a push added, one block of 64 KiB";
  EXPECT_EQ(host.Heartbeat().saved_bytes, 0u);
}

}  // namespace
}  // namespace paceline::ps

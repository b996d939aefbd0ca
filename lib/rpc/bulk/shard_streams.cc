#include "lib/rpc/bulk/shard_streams.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include <fmt/format.h>

#include "lib/base/ids.h"
#include "lib/telemetry/clock.h"

namespace paceline::rpc {
namespace {

constexpr Duration kAskPeriod = std::chrono::milliseconds(100);

std::string Rank(size_t rank) { return fmt::format("shard {}", ShardId(rank)); }

std::chrono::system_clock::time_point After(Duration duration) {
  return std::chrono::system_clock::now() +
         std::chrono::duration_cast<std::chrono::system_clock::duration>(duration);
}

// Of the running ones, the rank of that which has not moved for the longest time.
std::optional<size_t> LongestSilent(const std::deque<TransferStream>& streams) {
  std::optional<size_t> found;
  for (size_t rank = 0; rank < streams.size(); ++rank) {
    if (streams[rank].outcome()) continue;
    if (!found || streams[rank].moved() < streams[*found].moved()) found = rank;
  }
  return found;
}

}  // namespace

ShardStreams::ShardStreams(const std::vector<std::shared_ptr<grpc::Channel>>& channels,
                           const std::string& method) {
  for (const std::shared_ptr<grpc::Channel>& channel : channels)
    by_rank_.emplace_back(channel, method, queue_);
}

ShardStreams::~ShardStreams() {
  for (TransferStream& stream : by_rank_) stream.Close();
  alarm_.Cancel();
  queue_.Shutdown();
  while (Next(SystemTime::max())) {
  }
}

bool ShardStreams::Next(SystemTime deadline) {
  void* tag = nullptr;
  bool ok = false;
  if (queue_.AsyncNext(&tag, &ok, deadline) != grpc::CompletionQueue::GOT_EVENT) return false;
  if (tag == &alarm_) {
    is_waking_ = false;
    for (TransferStream& stream : by_rank_) stream.Resume();
    return true;
  }
  const auto& completed = *static_cast<TransferStream::Tag*>(tag);
  completed.stream->Completed(completed.operation, ok, telemetry::SteadyNow());
  return true;
}

void ShardStreams::Wake() {
  if (!is_waking_.exchange(true)) alarm_.Set(&queue_, gpr_inf_past(GPR_CLOCK_MONOTONIC), &alarm_);
}

void ShardStreams::CancelAll(const Status& why) {
  for (TransferStream& stream : by_rank_) stream.Cancel(why);
}

Status ShardStreams::Run(std::span<Transfer* const> moving, const Patience& patience,
                         const std::function<void()>& on_moved, const Making* making) {
  for (size_t rank = 0; rank < by_rank_.size(); ++rank)
    by_rank_[rank].Begin(*moving[rank], telemetry::SteadyNow());
  std::optional<Time> owed_since;  // Until then nobody is late.
  std::optional<Status> given_up;
  while (const std::optional<size_t> rank = LongestSilent(by_rank_)) {
    const Time now = telemetry::SteadyNow();
    if (!owed_since && (making == nullptr || making->is_whole)) owed_since = now;
    const Duration wait = patience.is_cancelled ? kAskPeriod : patience.idle_timeout;
    Time idle_at = now + wait + wait;
    if (owed_since)
      idle_at = std::max(by_rank_[*rank].moved(), *owed_since) + patience.idle_timeout;
    // What is cancelled completes at once.
    const bool has_moved =
        Next(given_up ? SystemTime::max() : After(std::min(wait, idle_at - now)));
    if (has_moved && on_moved) on_moved();
    if (given_up) continue;
    if (making != nullptr && making->is_given_up) {
      given_up = Cancelled("push was given up");
    } else if (has_moved) {
      continue;
    } else if (patience.is_cancelled && patience.is_cancelled()) {
      given_up = Cancelled("nobody waits for this transfer any more");
    } else if (telemetry::SteadyNow() >= idle_at) {
      given_up = Annotate(
          DeadlineExceeded("no byte moved within {:g} s", ToSeconds(patience.idle_timeout)),
          Rank(*rank));
    } else {
      continue;
    }
    CancelAll(*given_up);
  }
  if (given_up) return *given_up;
  for (size_t rank = 0; rank < by_rank_.size(); ++rank)
    PACELINE_RETURN_IF_ERROR(Annotate(*by_rank_[rank].outcome(), Rank(rank)));
  for (size_t rank = 0; rank < by_rank_.size(); ++rank)
    PACELINE_RETURN_IF_ERROR(Annotate(moving[rank]->status(), Rank(rank)));
  return OkStatus();
}

}  // namespace paceline::rpc

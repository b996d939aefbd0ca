// Defines ParameterClient: how a worker moves bulk bytes to and from all shards.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "lib/base/ids.h"
#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/base/version.h"
#include "lib/rpc/bulk/begun_push.h"
#include "lib/rpc/bulk/version_place.h"
#include "lib/store/shard.h"
#include "lib/sync/contract/decision.h"

namespace paceline::rpc {

struct PullReport {
  bool is_superseded =
      false;       // Exact: the version is evicted on some shard; `into` is then undefined.
  Version oldest;  // Over the shards, as answered; equal for Exact.
  Version newest;
  std::optional<uint64_t> wire_bytes;  // That have travelled, where they are not the layout's.
};

using OnNamed = std::function<void()>;

// Takes what is held, or says no.
using OnHeld = std::function<bool(const std::shared_ptr<VersionPlace>& place)>;

// Pushes and fills have one owner at a time, pulls one, which may be another thread: the two ways
// do not wait for each other. Every call has a deadline (given at construction), retries
// Unavailable, DeadlineExceeded and Aborted transfers with the same identity a bounded number of
// times, and blocks until all shards have answered. Errors are those of the first shard that
// failed, annotated with its rank; the call may be repeated.
class ParameterClient {
 public:
  virtual ~ParameterClient() = default;

  // `payload`: the whole layout. `owner` keeps its memory alive for as long as a transfer may still
  // read it.
  virtual Status Fill(WorkerId worker, Incarnation incarnation, std::span<const std::byte> payload,
                      std::shared_ptr<const void> owner) = 0;
  // Of gradients, which may be rounded on their way (WireType).
  virtual StatusOr<PushReport> Push(const store::PushId& push, std::span<const std::byte> payload,
                                    std::shared_ptr<const void> owner) = 0;
  // The same, and each bit arrives as it is: for deltas, which their sender goes on from.
  virtual StatusOr<PushReport> PushExactly(const store::PushId& push,
                                           std::span<const std::byte> payload,
                                           std::shared_ptr<const void> owner) {
    return Push(push, payload, std::move(owner));
  }
  // Begins a push of gradients that comes in pieces, before a byte of it is known. Null: not here,
  // or not now; Push it when it is whole. It ends before the next push is begun, and the client
  // after it.
  virtual std::unique_ptr<BegunPush> BeginPush(const store::PushId&) { return nullptr; }
  // Fills `into`, the whole layout. `on_named`, unless null, is called at most once, on this
  // thread, when each shard has named the version that it sends and hardly a byte of it is here:
  // what is published from then on is not in it. A call that fails after that was not repeated,
  // since another version would have come.
  virtual StatusOr<PullReport> PullNamed(Version version, sync::Exactness exactness,
                                         std::span<std::byte> into, const OnNamed& on_named) = 0;
  // The same without a copy, or nothing: not here, or not now, or not taken; pull it. What was
  // taken is of that version until another is, and what was held before is held while `on_held`
  // runs; or until the next call of PullNamed, or the client's end. Like PullNamed, of the owner of
  // pulls. A call that fails may have been taken.
  virtual StatusOr<std::optional<PullReport>> Hold(Version, sync::Exactness, const OnHeld&) {
    return std::optional<PullReport>();
  }
  StatusOr<PullReport> Pull(Version version, sync::Exactness exactness, std::span<std::byte> into) {
    return PullNamed(version, exactness, into, nullptr);
  }
};

}  // namespace paceline::rpc

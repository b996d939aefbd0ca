// Defines CommitProgress: the orders of all shards in their one sequence, and how far each version
// has got.
//
// Every shard gets the same orders in the same sequence. With a clip norm a commit needs the norm
// of its sum first: it sends Sum, and every later order waits behind it until all shards have
// answered. With a layer-wise optimizer it then sends Prepare, for the norms of whole tensors, and
// the line waits for these too. A version is published when all shards have committed it; releases
// and offers that name it are held back until then.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/ids.h"
#include "lib/base/status.h"
#include "lib/base/version.h"
#include "lib/protocol/shard_messages.h"
#include "lib/sync/contract/decision.h"

namespace paceline::coordination {

// A value. Functions with `out` append the orders that go to all shards now, each to every shard in
// rank order.
class CommitProgress {
 public:
  using Orders = std::vector<protocol::ShardOrder>;
  struct Options {
    uint32_t shards = 1;
    std::optional<double> clip_norm;
    bool is_layer_wise = false;  // The optimizer (optim::IsLayerWise).
  };
  struct Published {
    Version version;
    double learning_rate = 0;
    double squared_norm =
        0;  // Of the mean gradient, before clipping; the blocks of all shards in rank order.
    double clip_scale = 1;
  };

  // `first` is published already.
  explicit CommitProgress(const Options& options, Version first = Version(0))
      : options_(options), decided_(first), published_(first) {}

  void Give(protocol::ShardOrder order, Orders& out);    // Anything but Sum, Prepare, CommitAll.
  void Commit(protocol::CommitAll commit, Orders& out);  // Of decided().Next().

  // Internal if the norm of the sum is not finite; nothing is sent then. What was not asked for is
  // ignored.
  paceline::Status Summed(ShardId shard, const protocol::Summed& summed, Orders& out);

  // The same of the norms of tensors.
  paceline::Status Prepared(ShardId shard, const protocol::Prepared& prepared, Orders& out);

  // The versions that are published by this, in order.
  std::vector<Published> Committed(ShardId shard, const protocol::Committed& committed);

  void Hold(const sync::Release& release) { releases_.push_back(release); }
  void Hold(const sync::Offer& offer) { offers_.push_back(offer); }
  void Forget(WorkerId worker);  // What is held for it.
  // Held ones of published versions, in order.
  std::vector<sync::Release> TakeReleases();
  std::vector<sync::Offer> TakeOffers();

  Version decided() const { return decided_; }  // Newest that was asked for.
  Version published() const { return published_; }
  // The oldest version whose sum, norms or commit was asked of that shard, and that it has not
  // answered.
  std::optional<Version> AwaitedOf(ShardId shard) const;
  bool is_idle() const { return published_ == decided_ && waiting_.empty(); }
  std::string Describe() const;

 private:
  struct Progress {
    double learning_rate = 0;
    double clip_scale = 1;
    std::map<ShardId, std::vector<double>> norms;  // Of the shards that have committed it.
  };
  void Send(protocol::ShardOrder order, Orders& out);
  void PrepareFront(Orders& out);
  void GoOn(Orders& out);  // The front has all that it needs.
  bool IsKnown(ShardId shard) const { return shard.value() < options_.shards; }

  Options options_;
  Version decided_, published_;
  std::map<Version, Progress> in_flight_;
  // Its front is the CommitAll that is being summed or prepared.
  std::deque<protocol::ShardOrder> waiting_;
  bool is_preparing_ = false;
  std::map<ShardId, std::vector<double>> sums_;
  std::map<ShardId, std::vector<store::TensorNorms>> norms_;
  std::vector<sync::Release> releases_;  // Held, as the offers.
  std::vector<sync::Offer> offers_;
};

// Adds all blocks of all shards one by one in rank order, so that how they are cut over shards
// changes no bit.
double AddBlocks(const std::map<ShardId, std::vector<double>>& blocks);

}  // namespace paceline::coordination

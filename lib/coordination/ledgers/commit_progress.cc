#include "lib/coordination/ledgers/commit_progress.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/base/check.h"
#include "lib/optim/clip.h"

namespace paceline::coordination {

using protocol::CommitAll;
using protocol::ShardOrder;

namespace {

template <class Decision>
std::vector<Decision> TakePublished(std::vector<Decision>& held, Version published) {
  std::vector<Decision> ready, rest;
  for (const Decision& one : held) (one.version <= published ? ready : rest).push_back(one);
  held = std::move(rest);
  return ready;
}

}  // namespace

double AddBlocks(const std::map<ShardId, std::vector<double>>& blocks) {
  double sum = 0;
  for (const auto& [shard, norms] : blocks) {
    for (double norm : norms) sum += norm;
  }
  return sum;
}

void CommitProgress::Send(ShardOrder order, Orders& out) {
  const CommitAll* commit = std::get_if<CommitAll>(&order);
  // Deltas come clipped and stepped: each worker's optimizer did it.
  const bool is_gradient = commit != nullptr && commit->commit.kind == PushKind::kGradient;
  if (is_gradient && options_.clip_norm.has_value()) {
    out.push_back(protocol::Sum{commit->commit.version});
    waiting_.push_back(std::move(order));
  } else if (is_gradient && options_.is_layer_wise) {
    waiting_.push_back(std::move(order));
    PrepareFront(out);
  } else {
    out.push_back(std::move(order));
  }
}

void CommitProgress::PrepareFront(Orders& out) {
  const store::CommitOrder& commit = std::get<CommitAll>(waiting_.front()).commit;
  is_preparing_ = true;
  out.push_back(protocol::Prepare{commit.version, commit.gradient_scale, commit.clip_scale});
}

void CommitProgress::GoOn(Orders& out) {
  is_preparing_ = false;
  out.push_back(std::move(waiting_.front()));
  waiting_.pop_front();
  std::deque<ShardOrder> rest = std::exchange(waiting_, {});
  for (ShardOrder& order : rest) Give(std::move(order), out);
}

void CommitProgress::Give(ShardOrder order, Orders& out) {
  if (waiting_.empty()) {
    Send(std::move(order), out);
  } else {
    waiting_.push_back(std::move(order));
  }
}

void CommitProgress::Commit(CommitAll commit, Orders& out) {
  PACELINE_CHECK(commit.commit.version == decided_.Next(), "commit of {} after {}",
                 commit.commit.version, decided_);
  decided_ = commit.commit.version;
  in_flight_[decided_].learning_rate = commit.commit.learning_rate;
  Give(std::move(commit), out);
}

paceline::Status CommitProgress::Summed(ShardId shard, const protocol::Summed& summed,
                                        Orders& out) {
  if (waiting_.empty() || is_preparing_ || !IsKnown(shard)) return OkStatus();
  CommitAll& commit = std::get<CommitAll>(waiting_.front());
  if (summed.version != commit.commit.version) return OkStatus();
  sums_[shard] = summed.block_squared_norms;
  if (sums_.size() < options_.shards) return OkStatus();
  const double scale = commit.commit.gradient_scale;
  const double squared_norm = AddBlocks(sums_) * scale * scale;
  sums_.clear();
  if (!std::isfinite(squared_norm)) {
    return Internal("the sum of gradients is not finite at version {}", commit.commit.version);
  }
  commit.commit.clip_scale = optim::ClipScale(squared_norm, *options_.clip_norm);
  in_flight_[commit.commit.version].clip_scale = commit.commit.clip_scale;
  if (options_.is_layer_wise) {
    PrepareFront(out);
  } else {
    GoOn(out);
  }
  return OkStatus();
}

paceline::Status CommitProgress::Prepared(ShardId shard, const protocol::Prepared& prepared,
                                          Orders& out) {
  if (!is_preparing_ || !IsKnown(shard)) return OkStatus();
  store::CommitOrder& commit = std::get<CommitAll>(waiting_.front()).commit;
  if (prepared.version != commit.version) return OkStatus();
  norms_[shard] = prepared.norms;
  if (norms_.size() < options_.shards) return OkStatus();
  std::vector<store::TensorNorms> all;  // In rank order.
  for (const auto& [rank, norms] : norms_) all.insert(all.end(), norms.begin(), norms.end());
  norms_.clear();
  const auto is_finite = [](const store::TensorNorms& one) {
    return std::isfinite(one.norms.weights) && std::isfinite(one.norms.update);
  };
  if (!std::ranges::all_of(all, is_finite))
    return Internal("the step of a tensor is not finite at version {}", commit.version);
  commit.trust_ratios = store::TrustRatios(all);
  GoOn(out);
  return OkStatus();
}

std::vector<CommitProgress::Published> CommitProgress::Committed(
    ShardId shard, const protocol::Committed& committed) {
  const auto found = in_flight_.find(committed.version);
  if (found == in_flight_.end() || !IsKnown(shard)) return {};
  found->second.norms[shard] = committed.block_squared_norms;
  std::vector<Published> published;
  while (!in_flight_.empty() && in_flight_.begin()->second.norms.size() == options_.shards) {
    const auto& [version, progress] = *in_flight_.begin();
    published.push_back(
        {version, progress.learning_rate, AddBlocks(progress.norms), progress.clip_scale});
    published_ = version;
    in_flight_.erase(in_flight_.begin());
  }
  return published;
}

std::optional<Version> CommitProgress::AwaitedOf(ShardId shard) const {
  // What stands in line was not sent yet, but for what its front waits for.
  std::optional<Version> summed;
  if (!waiting_.empty()) summed = std::get<CommitAll>(waiting_.front()).commit.version;
  for (const auto& [version, progress] : in_flight_) {
    if (summed && version >= *summed) break;
    if (!progress.norms.contains(shard)) return version;
  }
  if (summed && !(is_preparing_ ? norms_.contains(shard) : sums_.contains(shard))) return summed;
  return std::nullopt;
}

void CommitProgress::Forget(WorkerId worker) {
  std::erase_if(releases_, [&](const sync::Release& release) { return release.worker == worker; });
  std::erase_if(offers_, [&](const sync::Offer& offer) { return offer.worker == worker; });
}

std::vector<sync::Release> CommitProgress::TakeReleases() {
  return TakePublished(releases_, published_);
}

std::vector<sync::Offer> CommitProgress::TakeOffers() { return TakePublished(offers_, published_); }

std::string CommitProgress::Describe() const {
  std::string text = fmt::format("decided {} published {} waiting", decided_, published_);
  for (const ShardOrder& order : waiting_) text += fmt::format(" {}", order.index());
  text += "|sums";
  for (const auto& [shard, norms] : sums_) text += fmt::format(" {}", shard);
  if (is_preparing_) text += "|norms";
  for (const auto& [shard, norms] : norms_) text += fmt::format(" {}", shard);
  for (const auto& [version, progress] : in_flight_) {
    text += fmt::format("|{}", version);
    for (const auto& [shard, norms] : progress.norms) text += fmt::format(" {}", shard);
  }
  for (const sync::Release& release : releases_) {
    text +=
        fmt::format("|hold {} {} {}", release.worker, release.version, release.assignment.samples);
  }
  for (const sync::Offer& offer : offers_)
    text += fmt::format("|offer {} {}", offer.worker, offer.version);
  return text;
}

}  // namespace paceline::coordination

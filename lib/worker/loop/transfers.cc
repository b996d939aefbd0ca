#include "lib/worker/loop/transfers.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "lib/worker/loop/non_finite.h"

namespace paceline::worker {
namespace {

constexpr int kPullAttemptsMax = 10;
constexpr size_t kSpreadsMax = 8;  // An evaluator pulls and never pushes.

// A version that all shards have by now, or will have soon, and that none of them can have given up
// when it answered: each keeps its newest two. All carry out the same commits, so that what one has
// published the others will.
Version InsteadOfSuperseded(const rpc::PullReport& report) {
  return std::max(report.oldest, Version(report.newest.value() - 1));
}

}  // namespace

void Tally::Add(const StepResult& step, protocol::LeaseId lease) {
  const double before = static_cast<double>(samples - skipped);
  const double added = static_cast<double>(step.samples - step.skipped);
  if (added > 0) loss = (loss * before + step.loss * added) / (before + added);
  if (steps == 0) {
    without_gradient = step.without_gradient;
  } else {
    std::vector<uint32_t> both;
    std::ranges::set_intersection(without_gradient, step.without_gradient,
                                  std::back_inserter(both));
    without_gradient = std::move(both);
  }
  ++steps;
  samples += step.samples;
  skipped += step.skipped;
  correct += step.correct;
  leases.push_back(lease);
  loss_scale = step.loss_scale;
}

std::optional<sync::AbandonReason> AbandonReasonOf(const Status& status, uint64_t samples) {
  switch (status.code()) {
    case StatusCode::kResourceExhausted:
      if (samples > 1) return sync::AbandonReason::kOutOfMemory;
      return std::nullopt;
    case StatusCode::kCancelled:
      return sync::AbandonReason::kInterrupted;
    case StatusCode::kAborted:
      return sync::AbandonReason::kOverflow;
    default:
      return std::nullopt;
  }
}

protocol::Failing FailingOf(const Status& why) {
  return {Message(why), Detail(why, kCauseDetail).value_or("")};
}

Transfers::Transfers(WorkerId worker, const protocol::Admitted& admitted,
                     std::unique_ptr<rpc::ParameterClient> shards, store::Layout layout,
                     Pulse* pulse)
    : worker_(worker),
      incarnation_(admitted.incarnation),
      generation_(admitted.generation),
      shards_(std::move(shards)),
      layout_(std::move(layout)),
      pulse_(pulse) {}

void Transfers::Announce(Version version) {
  uint64_t known = announced_.load();
  while (known < version.value() && !announced_.compare_exchange_weak(known, version.value())) {
  }
}

Status Transfers::Fill(std::span<const std::byte> values) {
  const Pulse::Transferring transferring(pulse_);
  // The trainer's memory lives as long as the process; no owner is needed.
  return shards_->Fill(worker_, incarnation_, values, nullptr);
}

template <class Ask>
StatusOr<std::optional<rpc::PullReport>> Transfers::Find(Version version, uint64_t bytes,
                                                         const Ask& ask) {
  const Pulse::Transferring transferring(pulse_);
  Announce(version);
  for (int attempt = 0; attempt < kPullAttemptsMax; ++attempt) {
    PACELINE_ASSIGN_OR_RETURN(const std::optional<rpc::PullReport> report, ask(version));
    if (!report) return report;
    if (!report->is_superseded) {
      std::lock_guard lock(mutex_);
      traffic_.pulled_bytes += report->wire_bytes.value_or(bytes);
      spreads_[report->oldest] =
          static_cast<uint32_t>(report->newest.value() - report->oldest.value());
      if (spreads_.size() > kSpreadsMax) spreads_.erase(spreads_.begin());
      return report;
    }
    // The coordinator's word of a newer one may still be on its way.
    version = std::max(Version(announced_.load()), InsteadOfSuperseded(*report));
  }
  return Aborted("version was superseded {} times, the last time before {}", kPullAttemptsMax,
                 version);
}

StatusOr<Version> Transfers::Pull(Version version, sync::Exactness exactness,
                                  std::span<std::byte> into, const rpc::OnNamed& on_named) {
  PACELINE_ASSIGN_OR_RETURN(
      const std::optional<rpc::PullReport> report,
      Find(version, into.size(), [&](Version asked) -> StatusOr<std::optional<rpc::PullReport>> {
        PACELINE_ASSIGN_OR_RETURN(const rpc::PullReport pulled,
                                  shards_->PullNamed(asked, exactness, into, on_named));
        return std::optional(pulled);
      }));
  return report->oldest;
}

StatusOr<std::optional<Version>> Transfers::Hold(Version version, sync::Exactness exactness,
                                                 const rpc::OnHeld& on_held) {
  PACELINE_ASSIGN_OR_RETURN(const std::optional<rpc::PullReport> report,
                            Find(version, layout_.total_bytes(), [&](Version asked) {
                              return shards_->Hold(asked, exactness, on_held);
                            }));
  if (!report) return std::optional<Version>();
  return std::optional(report->oldest);
}

StatusOr<protocol::PushDone> Transfers::Push(PushKind kind, std::span<const std::byte> payload,
                                             const Tally& tally, Version based_on) {
  const Pulse::Transferring transferring(pulse_);
  const store::PushId id{worker_, incarnation_, next_sequence_};
  PACELINE_ASSIGN_OR_RETURN(const rpc::PushReport report,
                            kind == PushKind::kDelta ? shards_->PushExactly(id, payload, nullptr)
                                                     : shards_->Push(id, payload, nullptr));
  std::string bad;
  if (report.non_finite_at) {
    bad = TensorAt(layout_, *report.non_finite_at);
  } else if (!report.is_finite) {
    bad = FirstNonFinite(layout_, payload);
  }
  return Done(report, payload.size(), tally, based_on, std::move(bad));
}

std::unique_ptr<rpc::BegunPush> Transfers::Begin() {
  const Pulse::Transferring transferring(pulse_);
  return shards_->BeginPush({worker_, incarnation_, next_sequence_});
}

StatusOr<protocol::PushDone> Transfers::Seal(rpc::BegunPush& push, const Tally& tally,
                                             Version based_on) {
  const Pulse::Transferring transferring(pulse_);
  PACELINE_ASSIGN_OR_RETURN(const rpc::PushReport report, push.Seal());
  return Done(report, layout_.total_bytes(), tally, based_on,
              report.non_finite_at ? TensorAt(layout_, *report.non_finite_at) : "");
}

protocol::PushDone Transfers::Done(const rpc::PushReport& report, uint64_t bytes,
                                   const Tally& tally, Version based_on,
                                   std::string non_finite_tensor) {
  const Sequence sequence = std::exchange(next_sequence_, next_sequence_.Next());
  std::lock_guard lock(mutex_);
  traffic_.pushed_bytes += report.wire_bytes.value_or(bytes);
  spreads_.erase(spreads_.begin(), spreads_.lower_bound(based_on));
  const auto spread = spreads_.find(based_on);
  return protocol::PushDone{
      .generation = generation_,
      .sequence = sequence,
      .based_on = based_on,
      .steps = tally.steps,
      .samples = static_cast<uint32_t>(tally.samples),
      .correct = tally.correct,
      .leases = tally.leases,
      .gradient = {.loss = tally.loss,
                   .squared_norm = report.squared_norm,
                   .is_finite = report.is_finite && std::isfinite(tally.loss)},
      .spread = spread == spreads_.end() ? 0 : spread->second,
      .traffic = std::exchange(traffic_, {}),
      .non_finite_tensor = std::move(non_finite_tensor),
      .loss_scale = tally.loss_scale,
      .without_gradient = tally.without_gradient,
      .skipped = static_cast<uint32_t>(tally.skipped)};
}

protocol::Abandoned Transfers::Abandon(sync::AbandonReason reason,
                                       std::vector<protocol::LeaseId> leases) {
  const Sequence sequence = std::exchange(next_sequence_, next_sequence_.Next());
  return {.sequence = sequence, .reason = reason, .leases = std::move(leases)};
}

}  // namespace paceline::worker

#include "lib/coordination/phases/sampling.h"

#include <fmt/format.h>

#include "lib/coordination/phases/finishing.h"

namespace paceline::coordination {

namespace {

constexpr size_t kEpochsKept = 16;  // Two are open at most; what is older only late words are of.

std::string NameOf(const std::string& sampler) {
  return sampler.empty() ? "no sampler of the script's own" : "the sampler " + sampler;
}

}  // namespace

std::string OtherSampler(const JobState& job, const protocol::Join& join) {
  if (!job.sampling.sampler.has_value() || *job.sampling.sampler == join.sampler) return {};
  return fmt::format("samples come by {}, want {}", NameOf(join.sampler),
                     NameOf(*job.sampling.sampler));
}

void AdoptSampler(JobState& job, const protocol::Join& join) {
  if (job.sampling.sampler.has_value()) return;
  job.sampling.sampler = join.sampler;
  if (!join.sampler.empty()) job.leases->SetOrder(LeaseLedger::Order::kDrawn);
}

void OnDrawn(Turn turn, ConnectionId connection, const protocol::Drawn& drawn) {
  JobState& job = turn.job;
  const Session* session = job.membership.Find(connection);
  if (session == nullptr || session->role != protocol::Role::kWorker) return;
  if (job.phase >= Phase::kFinishing) return;  // Nothing is learnt from it.
  const protocol::Seat seat = job.seats.SeatOf(session->worker);
  const auto [found, is_first] = job.sampling.drawn.try_emplace(drawn.epoch, drawn, seat);
  if (is_first) {
    if (job.sampling.drawn.size() > kEpochsKept)
      job.sampling.drawn.erase(job.sampling.drawn.begin());
    return;
  }
  const Sampling::First& first = found->second;
  if (first.drawn == drawn) return;
  Fail(turn,
       fmt::format("the sampler {} has to draw the same positions on all workers, from torch's, "
                   "numpy's, random's and its own generators and set_epoch(epoch) alone: for epoch "
                   "{} {} drew {} positions, and {} drew {}",
                   job.sampling.sampler.value_or(""), drawn.epoch, ToString(first.by),
                   first.drawn.positions, ToString(seat),
                   first.drawn.positions == drawn.positions ? std::string("as many others")
                                                            : fmt::format("{}", drawn.positions)));
}

}  // namespace paceline::coordination

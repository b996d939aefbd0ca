// What Wbsp tells people, keeps for its next life, and shows tests.
#include <fmt/format.h>

#include "lib/sync/schemes/wbsp/wbsp.h"
#include "lib/sync/trace/fields.h"

namespace paceline::sync {

void Wbsp::Tell(std::vector<Figure>& figures) const {
  uint32_t waiting_for = 0, unpushed = 0, parked = 0;
  for (const auto& [worker, member] : members_) {
    waiting_for += IsWaitedFor(worker, member) ? 1 : 0;
    unpushed += member.owed;
    parked += member.owed == 0 && member.steps >= options_.knobs.local_steps_max ? 1 : 0;
  }
  figures.push_back({&kWaitingFor, static_cast<double>(waiting_for)});
  figures.push_back({&kWbspRounds, static_cast<double>(rounds_)});
  figures.push_back({&kWbspRoundSeconds, last_round_seconds_});
  figures.push_back({&kWbspLatePushes, static_cast<double>(late_pushes_),
                     std::string(ToString(options_.knobs.late_push))});
  figures.push_back({&kWbspTriggerWorker,
                     trigger_worker_ ? static_cast<double>(trigger_worker_->value()) : -1.0});
  figures.push_back({&kWbspUnpushedSteps, static_cast<double>(unpushed)});
  figures.push_back({&kWbspParkedWorkers, static_cast<double>(parked)});
  for (const auto& [worker, member] : members_) {
    const Seen& seen = member.seen;
    const std::string name = paceline::ToString(worker);
    const double whole = ToSeconds(seen.total.compute + seen.total.wait + seen.total.communication);
    figures.push_back({&kWbspLocalSteps, static_cast<double>(seen.steps_last_round), name});
    figures.push_back({&kWbspPushes, static_cast<double>(seen.pushes), name});
    figures.push_back({&kWbspPulls, static_cast<double>(seen.pulls), name});
    figures.push_back({&kWbspTimeouts, static_cast<double>(seen.timeouts), name});
    figures.push_back({&kWbspDeltaNorm, seen.delta_norm, name});
    if (whole > 0)
      figures.push_back({&kWbspComputeRatio, ToSeconds(seen.total.compute) / whole, name});
  }
}

std::string Wbsp::Save() const {
  return round_seconds_ ? fmt::format("wbsp round-seconds={}", *round_seconds_) : "";
}

StatusOr<std::optional<double>> Wbsp::ReadSaved(const std::string& saved) {
  if (saved.empty()) return std::optional<double>();
  Fields fields(saved);
  const auto name = fields.Next<std::string>("scheme");
  const auto seconds = fields.Require<double>("round-seconds");
  const Status read = fields.Finish();
  if (name != "wbsp" || !read.ok() || !(seconds >= 0)) {
    return DataLoss("saved policy state is not WBSP's: {}", saved);
  }
  return std::optional<double>(seconds);
}

std::string Wbsp::DebugString() const {
  const auto lag = [this](Version version) { return version_.value() - version.value(); };
  std::string text = fmt::format("{} {} phase={} joins={} n={} pushes={} finite={}", version_,
                                 lag(published_), int(phase_), joins_, round_members_,
                                 round_pushes_, finite_on_.value_or(Version()));
  const bool is_electing = options_.knobs.trigger == RoundTrigger::kDesignated;
  if (is_electing) text += fmt::format(" election={}", rounds_since_election_);
  if (options_.knobs.is_normalised) text += fmt::format(" steps={}", mean_steps_);
  if (designated_) text += fmt::format(" designated={}", *designated_);
  for (const auto& [worker, member] : members_) {
    text += fmt::format(" {}:{},{},{},{},{},{},{},{},{},{}", worker, member.is_counted,
                        member.is_missing, member.leases, member.owed, member.pushes, member.steps,
                        member.is_out_of_data, member.may_find_data, member.samples_max,
                        Describe(member.non_finite));
    if (member.on) text += fmt::format(",{}", lag(*member.on));
    if (is_electing) text += fmt::format(",{}", member.seen.step_seconds);
    if (options_.knobs.is_normalised) text += fmt::format(",{}", member.mean_steps);
  }
  return text;
}

}  // namespace paceline::sync

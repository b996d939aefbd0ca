#include "lib/worker/process/experiment.h"

#include <filesystem>
#include <utility>

#include "lib/chaos/links.h"
#include "lib/process/read_file.h"
#include "lib/rpc/bulk/throttled_parameter_client.h"
#include "lib/telemetry/clock.h"
#include "lib/telemetry/log.h"

namespace paceline::worker {

using telemetry::Log;
using telemetry::LogLevel;

StatusOr<Experiment> Experiment::Create(const job::Chaos& chaos, const protocol::Seat& worker,
                                        const std::string& folder) {
  const WorkerId index(worker.index);
  chaos::TraceTexts traces;
  for (const std::string& path : chaos::TracePaths(chaos, index, worker.group)) {
    StatusOr<std::string> text = process::ReadFile((std::filesystem::path(folder) / path).string());
    if (!text.ok())
      return InvalidArgument("spec.chaos.delays: trace {}: {}", path, Message(text.status()));
    traces[path] = *std::move(text);
  }
  PACELINE_ASSIGN_OR_RETURN(chaos::Delays delays,
                            chaos::Delays::Create(chaos, index, traces, worker.group));
  const std::optional<chaos::Link> link = chaos::LinkOf(chaos, index, worker.group);
  if (chaos.enabled) {
    Log(LogLevel::kWarning, "chaos is on: this job is an experiment, its times are not real",
        {{"delayed", !delays.empty()},
         {"bytes_per_second", link ? link->bytes_per_second : 0},
         {"latency_seconds", link ? ToSeconds(link->latency) : 0},
         {"seed", chaos.seed}});
  }
  return Experiment(std::move(delays), link);
}

Trainer* Experiment::Delay(Trainer* trainer, Pulse* pulse) {
  if (delays_.empty()) return trainer;
  delayed_ = std::make_unique<DelayedTrainer>(trainer, delays_, telemetry::SteadyNow, pulse);
  return delayed_.get();
}

Connector Experiment::Throttle(Connector connector) const {
  if (!link_) return connector;
  connector.open_shards =
      [open = std::move(connector.open_shards), link = *link_](
          const Generation& generation, const std::vector<protocol::ShardAddress>& shards,
          const store::Layout& layout) -> StatusOr<std::unique_ptr<rpc::ParameterClient>> {
    PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<rpc::ParameterClient> client,
                              open(generation, shards, layout));
    return std::make_unique<rpc::ThrottledParameterClient>(
        std::move(client),
        rpc::ThrottleOptions{.time_for = [link](uint64_t bytes) { return link.TimeFor(bytes); },
                             .now = telemetry::SteadyNow});
  };
  return connector;
}

void Experiment::SayTotals() const {
  if (!delayed_) return;
  Log(LogLevel::kInfo, "chaos was on", {{"injected_seconds", ToSeconds(delayed_->injected())}});
}

}  // namespace paceline::worker

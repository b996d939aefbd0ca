#include "simulator/advice/candidates.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/job/manifest/load.h"
#include "lib/job/policy_spec.h"
#include "lib/sync/schemes/presets.h"

namespace paceline::simulator {
namespace {

struct Setup {
  std::string name;
  std::vector<std::string> lines;
};

constexpr const char* kInterruptLine = "lateWorker: Interrupt";

void AddWithInterrupt(Setup setup, std::vector<Setup>& setups) {
  setups.push_back(setup);
  setup.name += "+interrupt";
  setup.lines.emplace_back(kInterruptLine);
  setups.push_back(std::move(setup));
}

// Not to wait for more than half was unsafe wherever it was tried: gradients get too noisy.
std::set<uint32_t> BackupCounts(uint32_t workers) {
  std::set<uint32_t> counts = {1, workers / 4, workers / 2};
  counts.erase(0);
  return counts;
}

std::vector<Setup> SetupsFor(uint32_t workers, bool is_sgd) {
  std::vector<Setup> setups = {{"bsp", {"scheme: BSP"}}};
  if (workers < 2) return setups;
  setups.push_back({"lbbsp:ema", {"scheme: BSP", "batchSizing: {strategy: EMA}"}});
  for (const uint32_t count : BackupCounts(workers)) {
    AddWithInterrupt(
        {fmt::format("backup:{}", count),
         {"scheme: BackupWorkers", fmt::format("backupWorkers: {{count: {}}}", count)}},
        setups);
  }
  // The gain is worked out for steps of SGD.
  AddWithInterrupt(is_sgd ? Setup{"dbw", {"scheme: DBW"}}
                          : Setup{"dbw:blind", {"scheme: DBW", "dbw: {method: Blind}"}},
                   setups);
  if (is_sgd) {
    AddWithInterrupt({"dbw:noisescale", {"scheme: DBW", "dbw: {method: NoiseScale}"}}, setups);
  }
  setups.push_back({"auto", {"scheme: Auto"}});
  for (const uint32_t staleness : {1, 3, 8}) {
    setups.push_back({fmt::format("ssp:{}", staleness),
                      {"scheme: SSP", fmt::format("ssp: {{staleness: {}}}", staleness)}});
  }
  setups.push_back({"asp", {"scheme: ASP"}});
  const uint32_t pushes = std::max<uint32_t>(2, (workers + 2) / 4);  // A quarter, rounded.
  setups.push_back({fmt::format("kbatchasync:{}", pushes),
                    {"scheme: KBatchAsync", fmt::format("quorum: {}", pushes)}});
  setups.push_back({"wbsp:overlap", {"scheme: WBSP"}});
  setups.push_back({"psplus", {"scheme: PSPlus"}});
  return setups;
}

}  // namespace

std::string InOneLine(const std::vector<std::string>& lines) {
  return fmt::format("{{{}}}", fmt::join(lines, ", "));
}

bool MixesVersions(const sync::PolicySpec& policy) {
  // It may, where nothing keeps it from it.
  if (policy.scheme == sync::Scheme::kAuto) return !policy.is_barrier_kept;
  return !sync::CoordinatesOf(policy).IsStrict();
}

bool Interrupts(const sync::PolicySpec& policy) {
  return sync::CoordinatesOf(policy).news == sync::LateWorker::kInterrupt;
}

Candidates CandidatesFor(const std::string& manifest, uint32_t workers) {
  const job::Decoded own = job::LoadJob(manifest, {}, job::Capabilities());
  const bool is_sgd = own.job.spec.training.optimizer.type == job::OptimizerType::kSgd;
  Candidates found;
  for (Setup& setup : SetupsFor(workers, is_sgd)) {
    const job::Decoded decoded =
        job::LoadJob(manifest, {"spec.sync=" + InOneLine(setup.lines)}, job::Capabilities());
    if (!decoded.errors.empty()) {
      const job::FieldError& error = decoded.errors.front();
      found.left_out.push_back({setup.name, fmt::format("{}: {}", error.path, error.message)});
      continue;
    }
    sync::PolicySpec policy = job::PolicySpecFrom(decoded.job);
    const bool mixes_versions = MixesVersions(policy);
    found.all.push_back(
        {std::move(setup.name), std::move(setup.lines), std::move(policy), mixes_versions});
  }
  return found;
}

}  // namespace paceline::simulator

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/job/checks/checks.h"

namespace paceline::job {
namespace {

template <class E>
void CheckWord(const std::string& path, E asked, const std::set<E>& available, Findings& findings) {
  if (available.contains(asked)) return;
  std::vector<std::string_view> words;
  for (E word : available) words.push_back(ToWord(word));
  findings.Add(path, fmt::format("{} is not available in this version; available: {}",
                                 ToWord(asked), fmt::join(words, ", ")));
}

}  // namespace

void CheckAvailable(const TrainingJob& job, const Capabilities& capabilities, Findings& findings) {
  const JobSpec& spec = job.spec;
  CheckWord("spec.sync.scheme", spec.sync.scheme, capabilities.schemes, findings);
  CheckWord("spec.sync.batchSizing.strategy", spec.sync.batch_sizing.strategy,
            capabilities.batch_strategies, findings);
  const auto need = [&](Feature feature, bool is_asked, std::string path, std::string_view what) {
    if (!is_asked || capabilities.Has(feature)) return;
    findings.Add(std::move(path),
                 fmt::format("{} is not available in this version; leave it out", what));
  };
  need(Feature::kCheckpoint, spec.checkpoint.has_value(), "spec.checkpoint", "checkpointing");
  need(Feature::kOutputVolume, spec.output.volume.has_value(), "spec.output.volume",
       "an output volume");
  need(Feature::kStragglerReplace,
       spec.workers.straggler_policy.action == StragglerAction::kReplace,
       "spec.workers.stragglerPolicy.action", "Replace");
  need(Feature::kChaos, spec.chaos.enabled, "spec.chaos.enabled", "injecting delays");
  need(Feature::kDeterministic, spec.training.deterministic, "spec.training.deterministic",
       "deterministic training");
}

}  // namespace paceline::job

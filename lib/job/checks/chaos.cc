#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "lib/job/checks/checks.h"
#include "lib/job/worker_groups.h"

namespace paceline::job {
namespace {

// One knob of a delay: whose it is, and whether it is there.
struct Knob {
  std::string_view name;
  DelayKind kind;
  bool is_there;
};

std::vector<Knob> Knobs(const Delay& delay) {
  return {{"seconds", DelayKind::kConstant, delay.seconds.has_value()},
          {"perWorker", DelayKind::kPerWorker, !delay.per_worker.empty()},
          {"secondsPerSample", DelayKind::kPerSample, delay.seconds_per_sample.has_value()},
          {"scale", DelayKind::kShiftedExponential, delay.scale.has_value()},
          {"alpha", DelayKind::kShiftedExponential, delay.alpha.has_value()},
          {"ratio", DelayKind::kRatio, delay.ratio.has_value()},
          {"atStep", DelayKind::kStepChange, delay.at_step.has_value()},
          {"factor", DelayKind::kStepChange, delay.factor.has_value()},
          {"fraction", DelayKind::kStepChange, delay.fraction.has_value()},
          {"trace", DelayKind::kTrace, delay.trace.has_value()}};
}

// Of what names workers by index: in `group`, or in a job without groups.
void CheckIndices(const std::string& path, const Workers& workers,
                  const std::optional<std::string>& group, const std::vector<int64_t>& listed,
                  Findings& findings) {
  const std::optional<GroupView> found = FindGroup(workers, group.value_or(""));
  if (group && !found) {
    return findings.Add(path + ".group",
                        fmt::format("must be one of workers.groups: got \"{}\"", *group),
                        {"spec.workers.groups"});
  }
  if (!found) {  // Of several groups, none of which is named.
    if (listed.empty()) return;
    return findings.Add(path + ".group",
                        "is required with workers, whose indices count in a group each",
                        {"spec.workers.groups"});
  }
  for (size_t i = 0; i < listed.size(); ++i) {
    if (listed[i] < found->most) continue;
    findings.Add(fmt::format("{}.workers[{}]", path, i),
                 fmt::format("must be less than {}, {}, since indices count from 0: got {}",
                             group ? "the group's maxReplicas" : "workers.maxReplicas", found->most,
                             listed[i]),
                 {"spec.workers.replicas", "spec.workers.maxReplicas", "spec.workers.groups"});
  }
}

void CheckDelay(const std::string& path, const Delay& delay, Findings& findings) {
  for (const Knob& knob : Knobs(delay)) {
    const std::string field = fmt::format("{}.{}", path, knob.name);
    if (knob.kind == delay.kind && !knob.is_there) {
      findings.Add(field, fmt::format("is required with kind {}", ToWord(delay.kind)),
                   {path + ".kind"});
    } else if (knob.kind != delay.kind && knob.is_there) {
      findings.Add(
          field,
          fmt::format("is for kind {} only: got kind {}", ToWord(knob.kind), ToWord(delay.kind)),
          {path + ".kind"});
    }
  }
}

}  // namespace

void CheckChaos(const TrainingJob& job, Findings& findings) {
  const Chaos& chaos = job.spec.chaos;
  const Workers& workers = job.spec.workers;
  for (size_t i = 0; i < chaos.delays.size(); ++i) {
    const std::string path = fmt::format("spec.chaos.delays[{}]", i);
    CheckDelay(path, chaos.delays[i], findings);
    CheckIndices(path, workers, chaos.delays[i].group, chaos.delays[i].workers, findings);
  }
  for (size_t i = 0; i < chaos.links.size(); ++i) {
    CheckIndices(fmt::format("spec.chaos.links[{}]", i), workers, chaos.links[i].group,
                 chaos.links[i].workers, findings);
  }
  // Ignored silently, they would be taken for injected.
  if (!chaos.enabled && !(chaos.delays.empty() && chaos.links.empty())) {
    findings.Add(
        "spec.chaos.enabled",
        fmt::format("must be true with delays or links, which are injected only then; set it, or "
                    "remove them: got false with {} in delays and {} in links",
                    chaos.delays.size(), chaos.links.size()),
        {"spec.chaos.delays", "spec.chaos.links"});
  }
  if (chaos.enabled && chaos.delays.empty() && chaos.links.empty()) {
    findings.Add("spec.chaos.enabled", "needs delays or links to inject: got none",
                 {"spec.chaos.delays", "spec.chaos.links"});
  }
}

}  // namespace paceline::job

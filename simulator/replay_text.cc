#include "simulator/replay_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/job/manifest/load.h"
#include "lib/job/policy_spec.h"

namespace paceline::simulator {
namespace {

std::string Decisions(const std::vector<std::string>& decisions) {
  return decisions.empty() ? "nothing" : fmt::format("{}", fmt::join(decisions, "; "));
}

std::string CountText(const sync::PushCount& count) {
  return fmt::format("{:.2f} ({:g} to {:g})", count.mean(), count.least, count.most);
}

std::string AfterText(const sync::OnRails& after) {
  if (after.recorded.versions == 0) return "";
  return fmt::format(
      "What came after it follows from what was decided, and would have been otherwise. On the "
      "recorded events all the same,\nbeginning each recorded version's round with what it had "
      "learnt, the other policy would, of {} versions,\n"
      "  have committed sooner in {}, with the same push in {}, and gone on waiting in {};\n"
      "  have waited for {} pushes in the mean, where the recorded one waited for {}.\n"
      "These are estimates, and no times: paceline advise simulates those.\n",
      after.recorded.versions, after.sooner, after.alike, after.later, CountText(after.other),
      CountText(after.recorded));
}

}  // namespace

std::string ReplayText(const std::string& source, const sync::ReplayResult& result) {
  std::string text =
      fmt::format("{}: {} events and {} decisions of {} {}", source, result.events,
                  result.decisions, result.policies, result.policies == 1 ? "policy" : "policies");
  const std::string gaps =
      result.gaps == 0
          ? ""
          : fmt::format("{} of the trace {} missing: {} events behind {} cannot be checked\n",
                        result.gaps == 1 ? "a part" : fmt::format("{} parts", result.gaps),
                        result.gaps == 1 ? "is" : "are", result.unchecked,
                        result.gaps == 1 ? "it" : "them");
  if (!result.difference) return text + ": each is decided alike again\n" + gaps;
  return text +
         fmt::format(" are alike; then, in line {},\n  recorded: {}\n  again:    {}\n",
                     result.difference->line,
                     result.difference->recorded.empty() ? "nothing" : result.difference->recorded,
                     result.difference->replayed.empty() ? "nothing" : result.difference->replayed);
}

std::string WhatIfText(const std::string& source, const sync::PolicySpec& other,
                       const sync::WhatIfResult& result) {
  std::string text = fmt::format("{}, with {}:\n", source, sync::FormatPolicySpec(other));
  text += fmt::format("{} events, {} decisions and {} versions are alike", result.events,
                      result.decisions, result.versions);
  if (!result.difference) return text + ": it would have decided all as it was recorded.\n";
  if (result.gaps > 0) text += fmt::format(" ({} parts of the trace are missing)", result.gaps);
  text += fmt::format(". The first difference, in line {}:\n  {}\n  recorded: {}\n  other:    {}\n",
                      result.difference->line, result.difference->event,
                      Decisions(result.difference->recorded), Decisions(result.difference->other));
  return text + AfterText(result.after);
}

StatusOr<sync::PolicySpec> PolicyWith(const RecordedRun& run,
                                      const std::vector<std::string>& overrides) {
  if (run.job_json.empty()) {
    return InvalidArgument(
        "a trace alone does not say its job: --with wants a run's folder, with its job.json");
  }
  std::vector<std::string> whole;
  whole.reserve(overrides.size());
  for (const std::string& one : overrides)
    whole.push_back(one.starts_with("spec.") ? one : "spec." + one);
  const job::Decoded decoded = job::LoadJob(run.job_json, whole, job::Capabilities());
  if (decoded.errors.empty()) return job::PolicySpecFrom(decoded.job);
  std::vector<std::string> errors;
  errors.reserve(decoded.errors.size());
  for (const job::FieldError& error : decoded.errors)
    errors.push_back(job::ToString({error.path, error.message}));
  return InvalidArgument("{}", fmt::join(errors, "\n"));
}

}  // namespace paceline::simulator

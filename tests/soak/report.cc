#include "tests/soak/report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace paceline::soak {
namespace {

const char* ToString(Ending ending) {
  switch (ending) {
    case Ending::kSucceeded:
      return "succeeded";
    case Ending::kLost:
      return "lost";
    case Ending::kHung:
      return "hung";
  }
  return "?";
}

struct Sum {
  uint64_t faults = 0;
  double longest_stand_still = 0;
};

std::map<RoleAndKind, Sum> SumByFault(const SoakResult& result) {
  std::map<RoleAndKind, Sum> sums;
  for (const RoleAndKind& what : AllFaults()) sums[what] = {};
  for (const JobResult& job : result.jobs) {
    for (const Done& done : job.faults) {
      Sum& sum = sums[done.what];
      ++sum.faults;
      sum.longest_stand_still = std::max(sum.longest_stand_still, done.stand_still_seconds);
    }
  }
  return sums;
}

struct Totals {
  uint64_t faults = 0, missed = 0, roll_backs = 0, steps_lost = 0, samples = 0, hung = 0, lost = 0,
           wrong = 0, inaccurate = 0;
  double longest_stand_still = 0;
};

Totals Total(const SoakResult& result) {
  Totals totals;
  for (const JobResult& job : result.jobs) {
    totals.faults += job.faults.size();
    totals.missed += job.missed;
    totals.roll_backs += job.roll_backs;
    totals.steps_lost += job.steps_lost;
    totals.samples += job.samples;
    totals.hung += job.ending == Ending::kHung ? 1 : 0;
    totals.lost += job.ending == Ending::kLost ? 1 : 0;
    totals.wrong += job.wrong.empty() ? 0 : 1;
    const bool is_whole = job.ending == Ending::kSucceeded;
    totals.inaccurate += is_whole && job.accuracy < LeastAccuracy(job) ? 1 : 0;
    totals.longest_stand_still =
        std::max(totals.longest_stand_still, job.longest_stand_still_seconds);
  }
  return totals;
}

// In a word; the rest stands below the table.
std::string Verdict(const JobResult& job) {
  if (job.ending != Ending::kSucceeded) return ToString(job.ending);
  if (!job.wrong.empty()) return "wrong ledger";
  return Complaints(job).empty() ? "well" : "accuracy";
}

constexpr const char* kHead =
    "\n{:>3} {:<13} {:<4} {:>6} {:>7} {:>8} {:>10} {:>10} {:>6} {:>8} {:>8} {:>13}  {}\n";

std::string Row(const JobResult& job) {
  return fmt::format(
      "{:>3} {:<13} {:<4} {:>6} {:>7.0f} {:>8.1f} {:>10} {:>10} {:>6} {:>8} {:>8.4f} {:>13}  {}\n",
      job.plan.number, job.plan.scheme.name, job.plan.has_checkpoints ? "yes" : "no",
      job.faults.size(), job.seconds, job.longest_stand_still_seconds, job.roll_backs,
      job.steps_lost, job.epochs, job.samples, job.accuracy,
      fmt::format("{:.4f}-{:.4f}", job.calm_least, job.calm_most), Verdict(job));
}

}  // namespace

double LeastAccuracy(const JobResult& job) {
  return job.calm_least - std::max(job.calm_most - job.calm_least, kAccuracyGrain);
}

std::vector<std::string> Complaints(const JobResult& job) {
  std::vector<std::string> complaints;
  if (job.ending != Ending::kSucceeded)
    complaints.push_back(fmt::format("{}: {}", ToString(job.ending), job.why));
  for (const std::string& wrong : job.wrong) complaints.push_back("wrong ledger: " + wrong);
  if (job.ending == Ending::kSucceeded && job.accuracy < LeastAccuracy(job)) {
    complaints.push_back(
        fmt::format("accuracy {:.4f}, want {:.4f} at least", job.accuracy, LeastAccuracy(job)));
  }
  return complaints;
}

bool IsGood(const SoakResult& result) {
  return !result.jobs.empty() && std::ranges::all_of(result.jobs, [](const JobResult& job) {
    return Complaints(job).empty();
  });
}

std::string ReplayCommand(const SoakResult& result, const JobResult& job) {
  return fmt::format("make soak ARGS='--seed {} --round {} --rounds 1'", result.seed,
                     job.plan.number / 2);
}

std::string Table(const SoakResult& result) {
  std::string text = fmt::format("soak: seed {}, {:g} minutes, {} jobs\n\n", result.seed,
                                 result.minutes, result.jobs.size());
  for (const std::string& words : result.left_out) text += "left out: " + words + "\n";
  text += fmt::format("{:<12} {:<10} {:>6}  {}\n", "role", "kind", "faults",
                      "longest stand-still around one, s");
  for (const auto& [what, sum] : SumByFault(result)) {
    text += fmt::format("{:<12} {:<10} {:>6}  {:.1f}\n", ToString(what.role), ToString(what.kind),
                        sum.faults, sum.longest_stand_still);
  }
  text += fmt::format(kHead, "job", "scheme", "ckpt", "faults", "seconds", "still, s", "roll-backs",
                      "steps lost", "epochs", "samples", "accuracy", "without", "came to");
  for (const JobResult& job : result.jobs) text += Row(job);
  const Totals totals = Total(result);
  const auto sums = SumByFault(result);
  const auto rarest =
      std::ranges::min_element(sums, {}, [](const auto& named) { return named.second.faults; });
  text += fmt::format("\n{} faults, {} at least of each role and kind; {} more found no target\n",
                      totals.faults, rarest->second.faults, totals.missed);
  text += fmt::format(
      "longest stand-still {:.1f} s; {} roll-backs, {} steps lost; {} samples "
      "counted\n"
      "{} hangs, {} wrong ledgers, {} jobs lost, {} below the accuracy of runs without faults\n",
      totals.longest_stand_still, totals.roll_backs, totals.steps_lost, totals.samples, totals.hung,
      totals.wrong, totals.lost, totals.inaccurate);
  for (const JobResult& job : result.jobs) {
    const std::vector<std::string> complaints = Complaints(job);
    if (complaints.empty()) continue;
    text += fmt::format("\njob {}, {}{}\n", job.plan.number, job.plan.scheme.name,
                        job.folder.empty() ? "" : ": kept in " + job.folder);
    for (const std::string& complaint : complaints) text += "  " + complaint + "\n";
    text += "  again: " + ReplayCommand(result, job) + "\n";
  }
  return text;
}

nlohmann::ordered_json Json(const SoakResult& result) {
  using nlohmann::ordered_json;
  const Totals totals = Total(result);
  ordered_json faults = ordered_json::array();
  for (const auto& [what, sum] : SumByFault(result)) {
    faults.push_back({{"role", ToString(what.role)},
                      {"kind", ToString(what.kind)},
                      {"faults", sum.faults},
                      {"longestStandStillSeconds", sum.longest_stand_still}});
  }
  ordered_json jobs = ordered_json::array();
  for (const JobResult& job : result.jobs) {
    jobs.push_back({{"job", job.plan.number},
                    {"scheme", job.plan.scheme.name},
                    {"checkpoints", job.plan.has_checkpoints},
                    {"ending", ToString(job.ending)},
                    {"faults", job.faults.size()},
                    {"seconds", job.seconds},
                    {"longestStandStillSeconds", job.longest_stand_still_seconds},
                    {"rollBacks", job.roll_backs},
                    {"stepsLost", job.steps_lost},
                    {"epochs", job.epochs},
                    {"samples", job.samples},
                    {"accuracy", job.accuracy},
                    {"accuracyWithoutFaults", {job.calm_least, job.calm_most}},
                    {"complaints", Complaints(job)},
                    {"again", ReplayCommand(result, job)}});
  }
  return {{"seed", result.seed},
          {"minutes", result.minutes},
          {"good", IsGood(result)},
          {"leftOut", result.left_out},
          {"faults", totals.faults},
          {"foundNoTarget", totals.missed},
          {"longestStandStillSeconds", totals.longest_stand_still},
          {"rollBacks", totals.roll_backs},
          {"stepsLost", totals.steps_lost},
          {"samples", totals.samples},
          {"hangs", totals.hung},
          {"wrongLedgers", totals.wrong},
          {"jobsLost", totals.lost},
          {"belowAccuracy", totals.inaccurate},
          {"byRoleAndKind", faults},
          {"jobs", jobs}};
}

}  // namespace paceline::soak

#include "simulator/advice/advice_text.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace paceline::simulator {
namespace {

std::string GainText(const Gain& gain) {
  return fmt::format("{:.2f} ({:.2f}..{:.2f})", gain.median, gain.low, gain.high);
}

std::string FiguresText(const Figures& figures, uint32_t seeds) {
  if (figures.gain) return GainText(*figures.gain);
  if (figures.failed > 0) return fmt::format("failed {} of {}", figures.failed, seeds);
  return "-";
}

std::string NameText(const ArmAdvice& arm) {
  std::string name = arm.name;
  if (arm.is_recorded && name != "recorded") name += " (recorded)";
  if (arm.is_risky) name += " *";
  return name;
}

std::string FactorText(double factor) {
  return factor >= 1 ? fmt::format("{:g}x", factor) : fmt::format("1/{:g}x", 1 / factor);
}

std::string HeadText(const Report& report) {
  const Recording& recording = report.recording;
  const double live =
      recording.seconds / static_cast<double>(std::max<uint64_t>(recording.versions - 1, 1));
  const double simulated = report.simulated_seconds;
  std::string text = fmt::format(
      "{}: {} versions in {:.1f} s, {:.4g} s each, by {} under {}.\n"
      "Simulated on that cluster until the objective's loss falls from {:g} to {:g}, seeds 1 to "
      "{}.",
      report.source, recording.versions, recording.seconds, live,
      report.cluster.workers.size() == 1 ? "one worker"
                                         : fmt::format("{} workers", report.cluster.workers.size()),
      recording.policy, report.cluster.objective.start_loss, report.cluster.target_loss,
      report.seeds);
  if (live > 0) {
    text +=
        fmt::format(" There the recorded scheme takes {:.4g} s a version, {:+.0f} %, over as many.",
                    simulated, 100 * (simulated / live - 1));
  }
  return text + "\n";
}

// Those with one reason in one line; what was asked for instead is in their names.
std::string LeftOutText(const std::vector<LeftOut>& left_out) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const LeftOut& one : left_out) {
    const std::string reason = one.reason.substr(0, one.reason.find(": got "));
    const auto known =
        std::ranges::find(reasons, reason, [](const auto& pair) { return pair.first; });
    if (known == reasons.end()) {
      reasons.push_back({reason, {one.name}});
    } else {
      known->second.push_back(one.name);
    }
  }
  std::string text;
  for (const auto& [reason, names] : reasons)
    text += fmt::format("Left out: {} ({})\n", fmt::join(names, ", "), reason);
  return text;
}

std::string TableText(const Advice& advice, uint32_t seeds) {
  size_t width = 3;
  for (const ArmAdvice& arm : advice.arms) width = std::max(width, NameText(arm).size());
  std::string text = fmt::format("{:<{}}  {:>21}  {:>10}  {:>21}  {:>5}\n", "", width,
                                 "at the job's rate", "", "each at its best", "");
  text += fmt::format("{:<{}}  {:>21}  {:>10}  {:>21}  {:>5}\n", "arm", width, "times as fast",
                      "s/version", "times as fast", "rate");
  for (const ArmAdvice& arm : advice.arms) {
    text += fmt::format("{:<{}}  {:>21}  {:>10.4g}  {:>21}  {:>5}\n", NameText(arm), width,
                        FiguresText(arm.equal, seeds), arm.equal.step_seconds,
                        FiguresText(arm.best, seeds), FactorText(arm.factor));
  }
  return text;
}

std::string LegendText(const Report& report) {
  std::string text =
      "Times as fast as the recorded scheme: the median over the seeds, and the least and the most "
      "of them. Left: all at\n"
      "the job's rate. Right: each arm at the best of its own rates, as many times the job's, the "
      "recorded scheme likewise.\n";
  if (std::ranges::any_of(report.advice.arms, &ArmAdvice::is_risky)) {
    text += fmt::format(
        "* Its pushes count on versions that are newer than theirs, and the optimizer, {}, has "
        "momentum, {:g}: such training\n"
        "diverges at rates that BSP bears. It is not advised; with less momentum it may be worth a "
        "try.\n",
        report.setting.optimizer.empty() ? "SGD" : report.setting.optimizer,
        report.setting.momentum);
  }
  return text + LeftOutText(report.left_out);
}

std::string ModelText(const Report& report) {
  if (!report.on_model)
    return fmt::format("Not tried on the job's own model: {}.\n", report.why_no_model);
  const OnModel& model = *report.on_model;
  std::string text = fmt::format(
      "On the job's own model, {}, until {}, at its rate {:g}, looked at every {:.3g} s, seeds 1 "
      "to {}: the recorded scheme,\n"
      "and of those above the best that may be advised.\n\n",
      model.setting.name, model.setting.until, model.setting.rate, model.look_seconds, model.seeds);
  text += TableText(model.advice, model.seeds) + LeftOutText(model.left_out);
  if (model.seeds < report.seeds) {
    text += fmt::format("Of {} seeds there was time for {}: --model-seconds gives more.\n",
                        report.seeds, model.seeds);
  }
  return text;
}

std::string RateText(const Advice& advice, uint32_t seeds, std::string_view what) {
  const ArmAdvice& recorded = advice.Recorded();
  if (recorded.equal.failed > 0) {
    return fmt::format(
        "At the job's rate the recorded scheme itself did not reach the goal in {} of {} lives: of "
        "equal rates nothing is\n"
        "said.\n",
        recorded.equal.failed, seeds);
  }
  if (recorded.factor == 1)
    return "Another learning rate alone would have brought the recorded scheme nothing.\n";
  return fmt::format(
      "{} the job's rate alone would have made the recorded scheme {:.2f} times as fast, on the "
      "{}.\n",
      FactorText(recorded.factor), recorded.equal.seconds / recorded.best.seconds, what);
}

std::string NameOfRecorded(const ArmAdvice& recorded) {
  return recorded.name == "recorded" ? "the recorded scheme" : recorded.name;
}

// How fast it was, what is left of that, and why.
std::string RefusedText(const ArmAdvice& arm, const Report& report) {
  const bool is_on_model = &arm != report.advice.Refused();
  return fmt::format(
      "{} was {} times as fast{} on what was recorded, and {}\n"
      "without what processes did to each other. All shared one machine: a step took longer where "
      "others computed beside it, and\n"
      "a scheme that waits for fewer has more of them compute at once.\n",
      arm.name, GainText(*arm.SureGain()), is_on_model ? " on the model" : "",
      arm.still ? GainText(*arm.still) + (is_on_model ? " on the objective" : "")
                : "did not reach the goal");
}

std::string VerdictText(const Report& report) {
  const Advice& advice = report.verdict();
  const ArmAdvice& recorded = advice.Recorded();
  const ArmAdvice* const refused = report.Refused();
  if (!advice.best && refused != nullptr) {
    return fmt::format("Nothing would have been faster than {}: {}", NameOfRecorded(recorded),
                       RefusedText(*refused, report));
  }
  if (!advice.best) {
    return fmt::format(
        "Nothing is surely faster{}, and by {:.0f} % at both rates: {} is the best of what can be "
        "advised.\n",
        report.on_model ? " on the model, with every seed at the job's rate" : ", with every seed",
        100 * (kGainMin - 1), NameOfRecorded(recorded));
  }
  const ArmAdvice& best = advice.arms[*advice.best];
  std::string text = fmt::format(
      "Advised: {}, {} times as fast{} at equal rates, {} where each has its best. In the "
      "manifest:\n\n{}\n",
      best.name, GainText(*best.equal.gain), report.on_model ? " on the model" : "",
      GainText(*best.best.gain), ManifestLines(best.lines));
  if (!advice.as_good.empty()) {
    text += fmt::format("Not told apart from it, as their ranges meet: {}.\n",
                        fmt::join(advice.as_good, ", "));
  }
  if (refused != nullptr) text += "Not advised: " + RefusedText(*refused, report);
  if (recorded.name != "recorded") {
    text += fmt::format("See it live: paceline compare MANIFEST --schemes {},{} --seeds 3\n",
                        recorded.name, best.name);
  }
  return text;
}

// Of what is advised, what the figures do not hold for.
void AddUnknownsOfModel(const OnModel& model, std::vector<std::string>& unknown) {
  unknown.emplace_back(
      "Which schemes are worth a trial on the model was found on a quadratic: one that the model "
      "likes better may be missing.");
  if (!model.setting.not_simulated.empty()) {
    unknown.push_back(fmt::format("Of the job are not simulated: {}.",
                                  fmt::join(model.setting.not_simulated, ", ")));
  }
}

void AddUnknownsOfQuadratic(const Report& report, std::vector<std::string>& unknown) {
  const Setting& setting = report.setting;
  unknown.emplace_back(
      "Gradients are the objective's (a quadratic, descended by SGD), not the model's: s/version "
      "is told, what a version is worth is supposed.");
  if (!setting.is_job_known) {
    unknown.emplace_back(
        "The trace does not say the job's optimizer. If that has momentum, SSP, ASP, KBatchAsync, "
        "WBSP and PSPlus may diverge: the run's folder would tell.");
  } else if (setting.optimizer != "SGD") {
    unknown.push_back(
        fmt::format("{} is not simulated: SGD with momentum {:g} stands for it, at a usual rate.",
                    setting.optimizer, setting.momentum));
  }
  const double meant = setting.rate;
  const bool is_in_its_units = setting.optimizer.empty() || setting.optimizer == "SGD";
  if (is_in_its_units && std::abs(meant - setting.simulated_rate) > 1e-9 * meant) {
    unknown.push_back(
        fmt::format("The job's rate, {:g}, would not do on the objective: {:g} stands for it.",
                    meant, setting.simulated_rate));
  }
  if (std::ranges::any_of(report.advice.arms, [](const ArmAdvice& arm) {
        return arm.name.starts_with("dbw") && !arm.name.starts_with("dbw:");
      })) {
    unknown.emplace_back(
        "DBW waits for as many pushes as gradients call for: beside live runs of two samples its "
        "s/version was told 22 % and 33 % too long.");
  }
}

// Of a run on one machine, what is left of what is advised.
void AddUnknownsOfOneMachine(const Report& report, std::vector<std::string>& unknown) {
  const Advice& advice = report.verdict();
  if (!advice.best) return;
  const ArmAdvice& best = advice.arms[*advice.best];
  const std::optional<Gain> recorded = report.advice.Find(best.name)->SureGain();
  unknown.push_back(fmt::format(
      "All shared one machine. Without what its processes did to each other {} is {} times as fast "
      "on the objective{}; that a scheme which waits for fewer has more of them compute at once is "
      "not simulated.",
      best.name, GainText(*best.still),
      recorded ? fmt::format(", and {} on what was recorded", GainText(*recorded)) : ""));
}

// What the figures do not hold for.
std::vector<std::string> Unknowns(const Report& report) {
  std::vector<std::string> unknown;
  if (report.on_model) {
    AddUnknownsOfModel(*report.on_model, unknown);
  } else {
    AddUnknownsOfQuadratic(report, unknown);
  }
  if (std::ranges::any_of(report.advice.arms, &ArmAdvice::interrupts)) {
    unknown.emplace_back(
        "An interrupted step draws its delay anew, at once: where slowness lasts for two or three "
        "steps, too short to be found, interrupts bring less than is told here.");
  }
  if (report.still) AddUnknownsOfOneMachine(report, unknown);
  if (report.recording.policies > 1) {
    unknown.push_back(fmt::format(
        "The trace has {} policies one after the other: the first is what arms are held against.",
        report.recording.policies));
  }
  return unknown;
}

}  // namespace

std::string ManifestLines(const std::vector<std::string>& lines) {
  std::string text = "spec:\n  sync:\n";
  for (const std::string& line : lines) text += fmt::format("    {}\n", line);
  return text;
}

std::string AdviceText(const Report& report) {
  std::string text = HeadText(report) + "\n" + TableText(report.advice, report.seeds) +
                     LegendText(report) + "\n" + RateText(report.advice, report.seeds, "objective");
  if (report.on_model) {
    text += "\n" + ModelText(report) + "\n" +
            RateText(report.on_model->advice, report.on_model->seeds, "model");
  } else {
    text += ModelText(report);
  }
  text += VerdictText(report) + "\nNot known:\n";
  for (const std::string& one : Unknowns(report)) text += fmt::format("- {}\n", one);
  return text;
}

}  // namespace paceline::simulator

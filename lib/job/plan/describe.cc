#include "lib/job/plan/describe.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace paceline::job {
namespace {

constexpr size_t kWordsMax = 5;
constexpr size_t kReasonMax = 300;  // Of what others say; their texts can be pages.

std::string Shortened(const std::string& text) {
  return text.size() <= kReasonMax ? text : text.substr(0, kReasonMax) + "...";
}

std::string WithMessage(std::string text, const std::string& message) {
  if (!message.empty()) text += ": " + Shortened(message);
  return text;
}

std::string DescribeEnd(const SeenProcess& process) {
  const std::string name = Named(process);
  if (process.is_disruption) return fmt::format("{} was disrupted", name);
  if (process.is_out_of_memory)
    return fmt::format("{} was killed because it used more memory than its limit", name);
  // A kubelet may miss that the kernel did it for the memory, and then says nothing.
  constexpr int kKill = 9;
  if (process.signal == kKill && !process.memory_limit.empty()) {
    return fmt::format("{} was killed by signal 9, as happens beyond its memory limit of {}", name,
                       process.memory_limit);
  }
  if (process.signal != 0) return fmt::format("{} was killed by signal {}", name, process.signal);
  if (!process.last_word.empty()) return WithMessage(name, process.last_word);
  if (process.exit_code == kExitCannotWorkHere)
    return fmt::format("{} said that its machine cannot do the work", name);
  return fmt::format("{} exited with code {}", name, process.exit_code);
}

// Who is absent, and what is said behind one such name or behind several.
struct Absence {
  std::string who;
  std::string one;
  std::string many;
};

Absence AbsenceOf(const std::string& name, const SeenProcess* process) {
  if (process == nullptr) return {name, "", ""};
  const std::string named = Named(*process);
  if (process->node_lost_since) return {named, ", which does not answer", ", which do not answer"};
  if (process->is_stopping) return {named, " is stopping", " are stopping"};
  if (process->state == ProcessState::kExited) {
    const std::string end = DescribeExit(*process).substr(named.size());
    return {named, end, end.starts_with(" was ") ? " were " + end.substr(5) : end};
  }
  if (process->state == ProcessState::kRunning) return {named, " is not ready", " are not ready"};
  if (process->is_gated) {
    return {name, " is held back by its scheduling gates",
            " are held back by their scheduling gates"};
  }
  const std::string& message = process->waiting_message;
  if (process->is_unschedulable) {
    const std::string says = WithMessage(" cannot be scheduled", message);
    return {name, says, says};
  }
  const std::string& reason = process->waiting_reason;
  if (reason.empty()) return {named, "", ""};
  return {named, WithMessage(" waits, " + reason, message),
          WithMessage(" wait, " + reason, message)};
}

}  // namespace

std::string Named(const SeenProcess& process) {
  return process.node.empty() ? process.name : process.name + " on " + process.node;
}

std::string DescribeExit(const SeenProcess& process) {
  if (!process.rule) return DescribeEnd(process);
  SeenProcess seen = process;
  seen.is_disruption = false;  // How it ended says more.
  return fmt::format("{}, by failurePolicy.rules[{}]", DescribeEnd(seen), *process.rule);
}

std::string DescribeAbsence(const std::string& name, const SeenProcess* process) {
  const Absence absence = AbsenceOf(name, process);
  return absence.who + absence.one;
}

std::string DescribeAbsences(const std::vector<Absent>& absent) {
  std::vector<Absence> kinds;
  std::vector<std::vector<std::string>> who;  // Of each kind.
  for (const auto& [name, process] : absent) {
    const Absence absence = AbsenceOf(name, process);
    const auto same = std::ranges::find(kinds, absence.one, &Absence::one);
    if (same == kinds.end()) {
      kinds.push_back(absence);
      who.push_back({absence.who});
    } else {
      who[static_cast<size_t>(same - kinds.begin())].push_back(absence.who);
    }
  }
  std::string text;
  for (size_t i = 0; i < kinds.size(); ++i) {
    const bool is_one = who[i].size() == 1;
    if (i > 0) text += "; ";
    text += Joined(std::move(who[i])) + (is_one ? kinds[i].one : kinds[i].many);
  }
  return text;
}

std::string DescribeRecovery(const Draft& draft) {
  const auto& checkpoint = draft.plan.status.checkpoint;
  if (!draft.KeepsCheckpoints()) return "without checkpoints training starts over";
  if (!checkpoint) return "training starts over, no checkpoint being complete";
  return fmt::format("training goes back to the checkpoint of version {}", checkpoint->version);
}

std::string Joined(std::vector<std::string> words) {
  const size_t more = words.size() > kWordsMax ? words.size() - kWordsMax : 0;
  if (more > 0) words.resize(kWordsMax);
  return fmt::format("{}{}", fmt::join(words, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

std::string DescribeDuration(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "";
  const auto all = static_cast<int64_t>(std::llround(seconds));
  const int64_t minutes = all / 60, hours = minutes / 60, days = hours / 24;
  if (days > 0) return fmt::format("{}d{}h", days, hours % 24);
  if (hours > 0) return fmt::format("{}h{:02}m", hours, minutes % 60);
  if (minutes > 0) return fmt::format("{}m{:02}s", minutes, all % 60);
  return fmt::format("{}s", all);
}

}  // namespace paceline::job

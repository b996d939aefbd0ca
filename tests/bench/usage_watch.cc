#include "tests/bench/usage_watch.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "tests/bench/child_process.h"
#include "tests/bench/process_usage.h"

namespace paceline::bench {
namespace {

// Children are started one after the other, and again where they failed.
constexpr double kFindSeconds = 0.1;

struct Stat {
  pid_t parent = 0;
  double minor_faults = 0;
};

// As much as can be read: the process may end meanwhile, at which an istreambuf_iterator throws.
std::string TextOf(pid_t process, const char* name) {
  std::ifstream file(fmt::format("/proc/{}/{}", process, name));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// proc(5): the name in brackets may hold anything; fields 4 and 10 come behind it.
std::optional<Stat> StatOf(pid_t process) {
  const std::string text = TextOf(process, "stat");
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  Stat stat;
  std::string skipped;
  fields >> skipped >> stat.parent;
  for (int i = 0; i < 5; ++i) fields >> skipped;
  fields >> stat.minor_faults;
  return fields ? std::optional(stat) : std::nullopt;
}

std::string CommandOf(pid_t process) {
  std::string text = TextOf(process, "cmdline");
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

bool Contains(const std::string& text, const std::vector<std::string>& words) {
  size_t at = 0;
  for (const std::string& word : words) {
    at = text.find(word, at);
    if (at == std::string::npos) return false;
    at += word.size();
  }
  return true;
}

}  // namespace

void UsageWatch::Find() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t process = std::atoi(entry.path().filename().c_str());
    if (process <= 0) continue;
    const std::optional<Stat> stat = StatOf(process);
    if (!stat || stat->parent != parent_) continue;
    // A child that has just been forked still has its parent's command line, a dead one none.
    if (std::string command = CommandOf(process); !command.empty())
      children_[process].command = std::move(command);
  }
}

void UsageWatch::Look() {
  const double now = SteadySeconds();
  if (now - found_at_ > kFindSeconds) {
    found_at_ = now;
    Find();
  }
  for (auto& [process, child] : children_) {
    const std::optional<Stat> stat = StatOf(process);
    const double cpu_seconds = UsageOf(process).cpu_seconds;
    if (stat && cpu_seconds > 0)
      child.looks.push_back({SteadySeconds(), {cpu_seconds, stat->minor_faults}});
  }
}

Usage UsageWatch::Between(double begin, double end, const std::vector<std::string>& words) const {
  Usage sum;
  for (const auto& [process, child] : children_) {
    const auto& looks = child.looks;
    if (looks.size() < 2 || looks.front().at > begin || !Contains(child.command, words)) continue;
    const auto at = [&looks](double moment) {
      auto after = std::find_if(looks.begin() + 1, looks.end(),
                                [moment](const Moment& look) { return look.at >= moment; });
      if (after == looks.end()) --after;  // It ended at about that moment.
      const auto before = after - 1;
      const double share = (moment - before->at) / (after->at - before->at);
      const auto between = [share](double a, double b) { return a + share * (b - a); };
      return Usage{between(before->usage.cpu_seconds, after->usage.cpu_seconds),
                   between(before->usage.minor_faults, after->usage.minor_faults)};
    };
    const Usage first = at(begin), last = at(end);
    sum.cpu_seconds += last.cpu_seconds - first.cpu_seconds;
    sum.minor_faults += last.minor_faults - first.minor_faults;
  }
  return sum;
}

}  // namespace paceline::bench

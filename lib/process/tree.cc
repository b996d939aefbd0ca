#include "lib/process/tree.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>

#include <sys/prctl.h>

#include "lib/process/read_file.h"

namespace paceline::process {
namespace {

// The mark in an environment as /proc shows it: entries that end with a zero.
std::string MarkIn(std::string_view environment) {
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    if (entry.size() > kMarkVariable.size() && entry.starts_with(kMarkVariable) &&
        entry[kMarkVariable.size()] == '=')
      return std::string(entry.substr(kMarkVariable.size() + 1));
    environment.remove_prefix(std::min(entry.size() + 1, environment.size()));
  }
  return "";
}

// None for one that has ended. "pid (name) state parent group ...", where the name may hold
// anything (proc(5)).
std::optional<RunningProcess> Read(const std::string& folder, pid_t pid) {
  const std::string stat = ReadFile(folder + "/stat").value_or("");
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream rest(stat.substr(name_end + 1));
  RunningProcess process{.pid = pid};
  char state = 'X';
  if (!(rest >> state >> process.parent >> process.group) || state == 'Z' || state == 'X')
    return std::nullopt;
  process.mark = MarkIn(ReadFile(folder + "/environ").value_or(""));
  return process;
}

}  // namespace

std::vector<RunningProcess> RunningProcesses() {
  std::vector<RunningProcess> processes;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc", error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    pid_t pid = 0;
    const auto [last, wrong] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (wrong != std::errc() || last != name.data() + name.size()) continue;
    if (std::optional<RunningProcess> process = Read(at->path().string(), pid))
      processes.push_back(*std::move(process));
  }
  return processes;
}

std::vector<pid_t> TreeOf(const std::vector<RunningProcess>& processes, std::string_view mark,
                          pid_t group) {
  std::set<pid_t> found;
  for (const RunningProcess& process : processes) {
    const bool is_marked = !mark.empty() && process.mark.starts_with(mark);
    if (is_marked || (group != 0 && process.group == group)) found.insert(process.pid);
  }
  for (bool has_grown = !found.empty(); has_grown;) {
    has_grown = false;
    for (const RunningProcess& process : processes) {
      if (found.contains(process.parent) && found.insert(process.pid).second) has_grown = true;
    }
  }
  return {found.begin(), found.end()};
}

size_t SignalTree(std::string_view mark, pid_t group, pid_t except, int number) {
  std::vector<pid_t> tree = TreeOf(RunningProcesses(), mark, group);
  std::erase(tree, except);
  if (number != 0) {
    for (const pid_t pid : tree) kill(pid, number);
  }
  return tree.size();
}

void AdoptOrphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

}  // namespace paceline::process

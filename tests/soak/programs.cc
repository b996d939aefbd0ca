#include "tests/soak/programs.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "tests/integration/live_run.h"

namespace paceline::soak {
namespace {

namespace fs = std::filesystem;

// $1...: what `paceline run` gives. Rank 0 is dialled at its link, and says so of itself.
constexpr const char* kServer = R"(#!/bin/bash
links={links}
arguments=()
while [ $# -gt 0 ]; do
  case "$1" in
    --rank) rank=$2 ;;
    --listen) listen=${{2#unix:}} ;;
    --coordinator) arguments+=("$1" "unix:$links/ps-0.sock"); shift 2; continue ;;
  esac
  arguments+=("$1"); shift
done
echo "$listen" > "$links/ps-$rank.target.new" && mv "$links/ps-$rank.target.new" "$links/ps-$rank.target"
[ "$rank" != 0 ] || arguments+=(--commit-log {evidence}/commits)
exec {real}/paceline-ps "${{arguments[@]}}" --advertise "unix:$links/ps-$rank.sock"
)";

constexpr const char* kWorker = R"(#!/bin/bash
arguments=()
while [ $# -gt 0 ]; do
  case "$1" in
    --coordinator) arguments+=("$1" "unix:{links}/ps-0.sock"); shift 2; continue ;;
  esac
  arguments+=("$1"); shift
done
exec {real}/paceline-worker "${{arguments[@]}}" --push-log {evidence}
)";

void WriteScript(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  fs::permissions(path, fs::perms::owner_all);
}

// What follows that option, as one word; empty if it is not there.
std::string After(const std::string& command, const std::string& option) {
  const size_t at = command.find(option + '\0');
  if (at == std::string::npos) return "";
  const size_t begin = at + option.size() + 1;
  return command.substr(begin, command.find('\0', begin) - begin);
}

}  // namespace

void MakePrograms(const ProgramOptions& options) {
  using fmt::arg;
  for (const auto& [name, text] :
       {std::pair("/paceline-ps", kServer), {"/paceline-worker", kWorker}}) {
    WriteScript(options.folder + name,
                fmt::format(fmt::runtime(text), arg("links", options.links),
                            arg("evidence", options.evidence), arg("real", options.real)));
  }
  // It looks for the others where it lies itself; a symbolic link would lead to the real ones.
  const std::string own = options.folder + "/paceline";
  std::error_code error;
  fs::create_hard_link(options.real + "/paceline", own, error);
  if (error) fs::copy_file(options.real + "/paceline", own);
}

std::string ProcessName(pid_t pid) {
  const std::string command = integration::ReadText(fmt::format("/proc/{}/cmdline", pid));
  if (const std::string rank = After(command, "--rank"); !rank.empty()) return "ps-" + rank;
  const std::string role = After(command, "--role");
  return role == "worker" ? "worker-" + After(command, "--index") : role;
}

}  // namespace paceline::soak

// Defines what belongs together among this machine's processes: a program and all that it started.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace paceline::process {

// A variable of the environment that says of a process, and of all that it starts, whose it is.
inline constexpr std::string_view kMarkVariable = "PACELINE_PROCESS";

struct RunningProcess {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  std::string mark;  // kMarkVariable as it was when the program began; empty: not set, or not told.
};

// Those that /proc shows, but for zombies. Empty where there is no /proc.
std::vector<RunningProcess> RunningProcesses();

// Which of them belong to a tree: whose mark begins with `mark` (empty: none), whose group is
// `group` (0: none), and what descends from these. Programs leave their group (setsid), lose their
// parent (nohup, a shell that is killed) and clear their environment (env -i), seldom all at once.
std::vector<pid_t> TreeOf(const std::vector<RunningProcess>& processes, std::string_view mark,
                          pid_t group);

// Sends `number` (0: nothing) to all of TreeOf(RunningProcesses(), ...) but `except`. How many they
// are.
size_t SignalTree(std::string_view mark, pid_t group, pid_t except, int number);

// From now on a process whose parent ended is this one's child, not init's: within a tree there are
// then no parents unknown to it.
void AdoptOrphans();

}  // namespace paceline::process

#include "cli/local/process_table.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <sys/wait.h>

#include "cli/local/log_rotation.h"
#include "lib/job/last_line.h"
#include "lib/process/exit.h"
#include "lib/process/read_file.h"

namespace paceline::local {
namespace {

std::string LastWord(const std::string& path) {
  std::string text = process::ReadFile(path).value_or("");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// The end of a file, from so many bytes on.
std::string EndOf(const std::string& path, uint64_t begin) {
  constexpr uint64_t kEndBytes = 8192;
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  std::ifstream file(path);
  if (error || size <= begin) return "";
  file.seekg(static_cast<std::streamoff>(std::max(begin, size - std::min(size, kEndBytes))));
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr Duration kRestGrace = std::chrono::seconds(5);
constexpr Duration kRestGivenUp = std::chrono::seconds(10);
constexpr Duration kKillPeriod = std::chrono::milliseconds(100);

void KillAgain(Child& child, Time& kill_at, Time now) {
  child.SignalTree(SIGKILL);
  kill_at = now + kKillPeriod;
}

}  // namespace

void ProcessTable::Start(const job::Start& start, const Command& command,
                         const std::string& last_word_path, Time now) {
  std::error_code ignored;
  std::filesystem::remove(last_word_path, ignored);  // An earlier life's word is not this one's.
  Entry entry;
  entry.seen = {.name = start.name,
                .role = start.role,
                .index = start.index,
                .state = job::ProcessState::kRunning,
                .started_at = now,
                .attempt = start.attempt,
                .failures = start.failures,
                .unfit = start.unfit,
                .disruptions = start.disruptions,
                .group = start.group};
  entry.last_word_path = last_word_path;
  if (command.may_leave_none) {
    const uint64_t before = std::filesystem::file_size(command.log_path, ignored);
    entry.log_path = command.log_path;
    entry.log_begin = ignored ? 0 : before;
  }
  if (command.log_bytes_max > 0) {
    entry.rotated_log = command.log_path;
    entry.log_bytes_max = command.log_bytes_max;
  }
  if (StatusOr<Child> child = Child::Start(command); child.ok()) {
    entry.child = *std::move(child);
  } else {
    entry.seen.state = job::ProcessState::kExited;
    entry.seen.ended_at = now;
    entry.seen.exit_code = process::kExitCannotWork;
    entry.seen.last_word = Message(child.status());
  }
  entries_.insert_or_assign(start.name, std::move(entry));
}

void ProcessTable::Stop(const std::string& name, Duration grace, Time now) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  if (entry.seen.state == job::ProcessState::kExited) {
    entries_.erase(found);
    return;
  }
  if (entry.seen.is_stopping) return;
  entry.seen.is_stopping = true;
  entry.kill_at = now + grace;
  entry.child->Signal(SIGTERM);
}

void ProcessTable::StopAll(Duration grace, Time now) {
  for (auto& [name, entry] : entries_) {
    if (entry.seen.state == job::ProcessState::kExited || entry.seen.is_stopping) continue;
    entry.seen.is_stopping = true;
    entry.kill_at = now + grace;
    entry.child->Signal(SIGTERM);
  }
}

void ProcessTable::KillAll() {
  for (auto& [name, entry] : entries_) {
    if (entry.child) entry.child->SignalTree(SIGKILL);
  }
}

void ProcessTable::Kill(const std::string& name) {
  const auto found = entries_.find(name);
  if (found != entries_.end() && found->second.child) found->second.child->SignalTree(SIGKILL);
}

// What outlives its program is asked, then killed; after that it is waited for, but not for ever: a
// process may hang in the kernel.
bool ProcessTable::HasTreeEnded(Entry& entry, Time now) {
  if (!entry.give_up_at) {
    if (entry.child->SignalTree(SIGTERM) == 0) return true;
    const Time kill_at = entry.kill_at.value_or(now + kRestGrace);
    entry.kill_at = kill_at;
    entry.give_up_at = std::max(kill_at, now) + kRestGivenUp;
    return false;
  }
  if (now >= *entry.kill_at) KillAgain(*entry.child, *entry.kill_at, now);
  return entry.child->SignalTree(0) == 0 || now >= *entry.give_up_at;
}

// Those of trees, which are this process's children once their parents have ended.
void ProcessTable::ReapOrphans() {
  siginfo_t ended{};
  while (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0) {
    const pid_t pid = ended.si_pid;
    const bool is_own = std::ranges::any_of(entries_, [&](const auto& named) {
      return named.second.child && named.second.child->pid() == pid;
    });
    if (is_own) return;  // Its Child reaps it, and then come those behind it.
    waitpid(pid, nullptr, WNOHANG);
    ended.si_pid = 0;
  }
}

void ProcessTable::Update(Time now) {
  ReapOrphans();
  for (auto at = entries_.begin(); at != entries_.end();) {
    Entry& entry = at->second;
    if (entry.seen.state == job::ProcessState::kExited) {
      ++at;
      continue;
    }
    if (!entry.rotated_log.empty() && RotateLog(entry.rotated_log, entry.log_bytes_max))
      entry.log_begin = 0;
    const std::optional<Exit> exit = entry.child->Poll();
    if (!exit) {
      if (entry.kill_at && now >= *entry.kill_at) KillAgain(*entry.child, *entry.kill_at, now);
      ++at;
      continue;
    }
    if (!HasTreeEnded(entry, now)) {
      ++at;
      continue;
    }
    if (entry.seen.is_stopping) {
      at = entries_.erase(at);
      continue;
    }
    entry.seen.state = job::ProcessState::kExited;
    entry.seen.ended_at = now;
    entry.seen.exit_code = exit->code;
    entry.seen.signal = exit->signal;
    entry.seen.is_disruption = exit->code == process::kExitTerminated;
    entry.child.reset();
    entry.kill_at.reset();
    entry.seen.last_word = LastWord(entry.last_word_path);
    const bool has_failed = exit->code != process::kExitDone && !entry.seen.is_disruption;
    if (entry.seen.last_word.empty() && has_failed && !entry.log_path.empty())
      entry.seen.last_word = job::LastLine(EndOf(entry.log_path, entry.log_begin));
    ++at;
  }
}

std::vector<job::SeenProcess> ProcessTable::Seen() const {
  std::vector<job::SeenProcess> seen;
  for (const auto& [name, entry] : entries_) seen.push_back(entry.seen);
  return seen;
}

const job::SeenProcess* ProcessTable::Find(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second.seen;
}

bool ProcessTable::IsAnyRunning() const {
  return std::ranges::any_of(entries_, [](const auto& named) {
    return named.second.seen.state != job::ProcessState::kExited;
  });
}

std::optional<Time> ProcessTable::NextKill() const {
  std::optional<Time> next;
  for (const auto& [name, entry] : entries_) {
    if (entry.kill_at && (!next || *entry.kill_at < *next)) next = entry.kill_at;
  }
  return next;
}

}  // namespace paceline::local

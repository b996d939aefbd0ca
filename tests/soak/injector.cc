#include "tests/soak/injector.h"

#include <algorithm>
#include <csignal>

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace paceline::soak {
namespace {

int OpenProcess(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

bool SendSignal(int process, int number) {
  return syscall(SYS_pidfd_send_signal, process, number, nullptr, 0) == 0;
}

}  // namespace

Injector::~Injector() {
  for (AtWork& one : at_work_) End(one);
}

std::string Injector::ProcessFor(const Fault& fault) const {
  const auto pick = [&](uint64_t count) {
    return static_cast<uint64_t>(fault.where * static_cast<double>(count));
  };
  switch (fault.what.role) {
    case Role::kWorker:
      return fmt::format("worker-{}", pick(victims_.workers));
    case Role::kShard:
      return fmt::format("ps-{}", 1 + pick(victims_.shards - 1));
    case Role::kCoordinator:
      return "ps-0";
    default:
      return "evaluator";
  }
}

bool Injector::IsHit(const std::string& target, Role role) const {
  return std::ranges::any_of(at_work_, [&](const AtWork& one) {
    return one.target == target && (one.fault.what.role == Role::kDisk) == (role == Role::kDisk);
  });
}

std::optional<std::string> Injector::Begin(const Fault& fault, double now) {
  AtWork begun{.fault = fault, .target = "", .until = now + fault.seconds, .link = {}};
  const auto hit = [&] {
    switch (fault.what.role) {
      case Role::kLink:
        return BeginOnLink(begun);
      case Role::kDisk:
        return BeginOnDisk(begun);
      default:
        break;
    }
    begun.target = ProcessFor(fault);
    return fault.what.kind == Kind::kKill ? BeginKill(begun) : BeginFreeze(begun);
  };
  if (!hit()) return std::nullopt;
  const std::string target = begun.target;
  if (fault.what.kind != Kind::kKill) at_work_.push_back(std::move(begun));
  return target;
}

bool Injector::BeginKill(AtWork& begun) {
  const pid_t pid = victims_.run->PidOf(begun.target);
  return pid > 0 && kill(pid, SIGKILL) == 0;
}

bool Injector::BeginFreeze(AtWork& begun) {
  if (IsHit(begun.target, Role::kWorker)) return false;
  const pid_t pid = victims_.run->PidOf(begun.target);
  if (pid <= 0) return false;
  begun.process = OpenProcess(pid);
  if (begun.process < 0) return false;
  if (SendSignal(begun.process, SIGSTOP)) return true;
  close(begun.process);
  return false;
}

bool Injector::BeginOnLink(AtWork& begun) {
  std::vector<Link> links = victims_.links->Used();
  std::erase_if(links, [](const Link& link) { return link.from == link.to; });
  if (links.empty()) return false;
  begun.link = links[static_cast<size_t>(begun.fault.where * static_cast<double>(links.size()))];
  begun.target = begun.link.from + " to " + begun.link.to;
  if (IsHit(begun.target, Role::kLink)) return false;
  switch (begun.fault.what.kind) {
    case Kind::kCut:
      victims_.links->Cut(begun.link);
      break;
    case Kind::kSilence:
      victims_.links->Silence(begun.link);
      break;
    default:
      victims_.links->Slow(begun.link, begun.fault.bytes_per_second);
  }
  return true;
}

bool Injector::BeginOnDisk(AtWork& begun) {
  begun.target = "disk";
  if (victims_.volume == nullptr || IsHit(begun.target, Role::kDisk)) return false;
  if (begun.fault.what.kind == Kind::kReadOnly) return victims_.volume->MakeReadOnly().ok();
  return victims_.volume->Fill().ok() && victims_.runs->Fill().ok();
}

int Injector::EndDue(double now) {
  int ended = 0;
  for (auto one = at_work_.begin(); one != at_work_.end();) {
    if (one->until > now) {
      ++one;
      continue;
    }
    End(*one);
    one = at_work_.erase(one);
    ++ended;
  }
  return ended;
}

void Injector::End(AtWork& ended) {
  switch (ended.fault.what.role) {
    case Role::kLink:
      return victims_.links->Restore(ended.link);
    case Role::kDisk:
      if (ended.fault.what.kind == Kind::kReadOnly) {
        (void)victims_.volume->MakeWritable();
      } else {
        (void)victims_.volume->Empty();
        (void)victims_.runs->Empty();
      }
      return;
    default:
      break;
  }
  (void)SendSignal(ended.process, SIGCONT);  // It may be gone.
  close(ended.process);
}

}  // namespace paceline::soak

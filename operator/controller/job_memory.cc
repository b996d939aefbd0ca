#include "operator/controller/job_memory.h"

#include <algorithm>
#include <utility>

namespace paceline::controller {

void Tombstones::PodGone(const kube::ObjectKey& job, const std::string& pod_uid,
                         job::SeenProcess process, Time now) {
  const std::lock_guard lock(mutex_);
  if (expected_.erase(pod_uid) > 0) return;
  if (process.state != job::ProcessState::kExited) process.ended_at = now;
  process.state = job::ProcessState::kExited;
  process.is_stopping = false;
  process.is_disruption = true;
  if (process.last_word.empty()) process.last_word = "its pod was deleted";
  gone_[job][process.name] = std::move(process);
}

void Tombstones::Expect(const std::string& pod_uid) {
  const std::lock_guard lock(mutex_);
  expected_.insert(pod_uid);
}

void Tombstones::AddTo(const kube::ObjectKey& job, std::vector<job::SeenProcess>& processes) const {
  const std::lock_guard lock(mutex_);
  const auto found = gone_.find(job);
  if (found == gone_.end()) return;
  for (const auto& gone : found->second) {
    const bool is_there = std::any_of(processes.begin(), processes.end(),
                                      [&](const auto& seen) { return seen.name == gone.first; });
    if (!is_there) processes.push_back(gone.second);
  }
}

bool Tombstones::Take(const kube::ObjectKey& job, const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = gone_.find(job);
  return found != gone_.end() && found->second.erase(name) > 0;
}

void Tombstones::Forget(const kube::ObjectKey& job) {
  const std::lock_guard lock(mutex_);
  gone_.erase(job);
}

std::shared_ptr<JobMemory> JobMemories::Of(const kube::ObjectKey& job, const std::string& uid) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<JobMemory>& memory = by_job_[job];
  if (memory == nullptr || memory->uid != uid) {
    memory = std::make_shared<JobMemory>();
    memory->uid = uid;
  }
  return memory;
}

std::optional<std::string> JobMemories::Forget(const kube::ObjectKey& job) {
  const std::lock_guard lock(mutex_);
  const auto found = by_job_.find(job);
  if (found == by_job_.end()) return std::nullopt;
  std::string uid = found->second->uid;
  by_job_.erase(found);
  return uid;
}

void JobMemories::ForgetAll() {
  const std::lock_guard lock(mutex_);
  by_job_.clear();
}

}  // namespace paceline::controller

#include "operator/controller/job_record.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace paceline::controller {
namespace {

constexpr Duration kViewTimeout = std::chrono::seconds(30);  // For the view to show what we did.

}  // namespace

void GonePods::PodGone(const std::string& pod_uid, job::SeenProcess process, Time now) {
  const std::lock_guard lock(mutex_);
  if (expected_.erase(pod_uid) > 0) return;
  process.ended_at = now;  // By our own clock; whoever saw it end before knows better.
  process.state = job::ProcessState::kExited;
  process.is_stopping = false;
  process.is_disruption = true;
  if (process.last_word.empty()) process.last_word = "its pod was deleted";
  gone_[process.name] = std::move(process);
}

void GonePods::Expect(const std::string& pod_uid) {
  const std::lock_guard lock(mutex_);
  expected_.insert(pod_uid);
}

void GonePods::AddTo(std::vector<job::SeenProcess>& processes) const {
  const std::lock_guard lock(mutex_);
  for (const auto& gone : gone_) {
    const bool is_there = std::any_of(processes.begin(), processes.end(),
                                      [&](const auto& seen) { return seen.name == gone.first; });
    if (!is_there) processes.push_back(gone.second);
  }
}

bool GonePods::Take(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return gone_.erase(name) > 0;
}

JobRecord::JobRecord(kube::ObjectKey its_key, std::string its_uid)
    : key(std::move(its_key)), uid(std::move(its_uid)), expectations(kViewTimeout) {}

void JobRecords::Lead() {
  const std::lock_guard lock(mutex_);
  leads_ = true;
}

std::shared_ptr<JobRecord> JobRecords::Of(const kube::ObjectKey& job, const std::string& uid) {
  std::shared_ptr<JobRecord> former;  // Ends without the lock.
  const std::lock_guard lock(mutex_);
  if (!leads_) return nullptr;
  std::string& uid_of_name = uids_[job];
  if (uid_of_name != uid) {
    if (const auto found = by_uid_.find(uid_of_name); found != by_uid_.end()) {
      former = std::move(found->second);
      by_uid_.erase(found);
    }
    uid_of_name = uid;
  }
  std::shared_ptr<JobRecord>& record = by_uid_[uid];
  if (record == nullptr) record = std::make_shared<JobRecord>(job, uid);
  return record;
}

std::shared_ptr<JobRecord> JobRecords::Find(const std::string& uid) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_uid_.find(uid);
  return found == by_uid_.end() ? nullptr : found->second;
}

void JobRecords::Forget(const kube::ObjectKey& job) {
  std::shared_ptr<JobRecord> record;  // Ends without the lock.
  const std::lock_guard lock(mutex_);
  const auto uid = uids_.find(job);
  if (uid == uids_.end()) return;
  if (const auto found = by_uid_.find(uid->second); found != by_uid_.end()) {
    record = std::move(found->second);
    by_uid_.erase(found);
  }
  uids_.erase(uid);
}

void JobRecords::ForgetAll() {
  std::map<std::string, std::shared_ptr<JobRecord>> records;  // End without the lock.
  const std::lock_guard lock(mutex_);
  leads_ = false;
  records.swap(by_uid_);
  uids_.clear();
}

size_t JobRecords::CountOthers() const {
  const std::lock_guard lock(mutex_);
  return static_cast<size_t>(std::ranges::count_if(
      by_uid_, [](const auto& one) { return one.second->is_anothers.load(); }));
}

size_t JobRecords::size() const {
  const std::lock_guard lock(mutex_);
  return by_uid_.size();
}

}  // namespace paceline::controller

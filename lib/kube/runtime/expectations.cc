#include "lib/kube/runtime/expectations.h"

#include <chrono>

#include "lib/kube/core/metadata.h"

namespace paceline::kube {
namespace {

Time SteadyNow() {
  return Time(
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

}  // namespace

Expectations::Expectations(Duration timeout) : timeout_(timeout) {}

void Expectations::ExpectCreation(const ObjectKey& owner, const ObjectKey& object) {
  std::lock_guard lock(mutex_);
  by_owner_[owner][object] = {.gone_uid = "", .until = SteadyNow() + timeout_};
  owner_of_[object] = owner;
}

void Expectations::ExpectDeletion(const ObjectKey& owner, const ObjectKey& object,
                                  const std::string& uid) {
  std::lock_guard lock(mutex_);
  by_owner_[owner][object] = {.gone_uid = uid, .until = SteadyNow() + timeout_};
  owner_of_[object] = owner;
}

void Expectations::Drop(const ObjectKey& owner, const ObjectKey& object) {
  std::lock_guard lock(mutex_);
  owner_of_.erase(object);
  const auto found = by_owner_.find(owner);
  if (found == by_owner_.end()) return;
  found->second.erase(object);
  if (found->second.empty()) by_owner_.erase(found);
}

void Expectations::Forget(const ObjectKey& owner) {
  std::lock_guard lock(mutex_);
  const auto found = by_owner_.find(owner);
  if (found == by_owner_.end()) return;
  for (const auto& [object, expected] : found->second) owner_of_.erase(object);
  by_owner_.erase(found);
}

void Expectations::Saw(const ObjectChange& change) {
  const Json& object = *change.object();
  const ObjectKey key = KeyOf(object);
  std::lock_guard lock(mutex_);
  const auto owner = owner_of_.find(key);
  if (owner == owner_of_.end()) return;
  const auto expectations = by_owner_.find(owner->second);
  if (expectations == by_owner_.end()) return;
  const auto expected = expectations->second.find(key);
  if (expected == expectations->second.end()) return;
  const std::string& gone_uid = expected->second.gone_uid;
  const bool is_there = change.after != nullptr;
  const bool is_met =
      gone_uid.empty() ? is_there : !is_there || IsBeingDeleted(object) || Uid(object) != gone_uid;
  if (!is_met) return;
  expectations->second.erase(expected);
  if (expectations->second.empty()) by_owner_.erase(expectations);
  owner_of_.erase(owner);
}

bool Expectations::AreMet(const ObjectKey& owner) {
  std::lock_guard lock(mutex_);
  const auto found = by_owner_.find(owner);
  if (found == by_owner_.end()) return true;
  const Time now = SteadyNow();
  std::erase_if(found->second, [&](const auto& entry) {
    if (entry.second.until > now) return false;
    owner_of_.erase(entry.first);
    return true;
  });
  if (!found->second.empty()) return false;
  by_owner_.erase(found);
  return true;
}

}  // namespace paceline::kube

#include "operator/controller/pods/room_news.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "lib/base/rfc3339.h"
#include "lib/job/plan/reason.h"
#include "lib/kube/core/json.h"
#include "lib/kube/core/metadata.h"

namespace paceline::controller {
namespace {

constexpr Duration kAskAfter = std::chrono::seconds(30);  // Most find room before.
constexpr Duration kAskPeriod = std::chrono::seconds(60);
constexpr size_t kPodsAtOnce = 10;

bool HasNoRoom(const OwnPod& own) {
  const job::SeenProcess& process = own.process;
  return process.state == job::ProcessState::kPending && process.is_unschedulable &&
         !process.is_stopping;
}

// By scheduling gates: of who admits jobs one after the other.
bool IsHeldBack(const kube::ObjectPtr& pod) {
  const kube::Json* const conditions = kube::Find(*pod, "/status/conditions");
  if (conditions == nullptr || !conditions->is_array()) return false;
  return std::ranges::any_of(*conditions, [](const kube::Json& condition) {
    return kube::StringAt(condition, "/reason") == "SchedulingGated";
  });
}

}  // namespace

std::optional<Time> RoomPromisedBy(const kube::Json& event) {
  const std::string reason = kube::StringAt(event, "/reason");
  if (reason != "TriggeredScaleUp" && reason != "Nominated") return std::nullopt;
  for (const std::string_view when : {"/series/lastObservedTime", "/deprecatedLastTimestamp",
                                      "/eventTime", "/metadata/creationTimestamp"}) {
    if (const auto time = ParseTime(kube::StringAt(event, when))) return time;
  }
  return std::nullopt;
}

bool AnyOtherWaits(const std::vector<kube::ObjectPtr>& jobs, const PodsOfJob& pods_of,
                   const kube::ObjectKey& but) {
  return std::ranges::any_of(jobs, [&](const kube::ObjectPtr& job) {
    if (kube::KeyOf(*job) == but) return false;
    const std::string state = kube::StringAt(*job, "/status/state");
    if (state == job::ToWord(job::PlanReason::kUnschedulable) ||
        state == job::ToWord(job::PlanReason::kGaveWay))
      return true;
    if (state != job::ToWord(job::PlanReason::kStarting)) return false;
    return std::ranges::any_of(pods_of(kube::Uid(*job)), IsHeldBack);
  });
}

void RoomNews::Refresh(kube::Client& client, const std::vector<OwnPod>& pods, Time now) {
  std::map<std::string, Waiting> waiting;
  std::vector<std::string> uids;
  std::vector<kube::Request> requests;
  for (const OwnPod& own : pods) {
    if (!HasNoRoom(own)) continue;
    const std::string uid = kube::Uid(*own.pod);
    const auto known = by_uid_.find(uid);
    Waiting& pod = waiting[uid] = known == by_uid_.end() ? Waiting{} : known->second;
    const bool is_nominated = !kube::StringAt(*own.pod, "/status/nominatedNodeName").empty();
    const bool was_nominated = std::exchange(pod.is_nominated, is_nominated);
    if (is_nominated && !was_nominated) pod.promised_at = now;
    const bool is_due = now - own.process.started_at >= kAskAfter &&
                        (!pod.asked_at || now - *pod.asked_at >= kAskPeriod);
    if (!is_due || requests.size() >= kPodsAtOnce) continue;
    pod.asked_at = now;
    uids.push_back(uid);
    requests.push_back(kube::List(kube::Events(), {.name_space = kube::Namespace(*own.pod),
                                                   .field_selector = "regarding.uid=" + uid,
                                                   .limit = 100}));
  }
  by_uid_ = std::move(waiting);
  if (requests.empty()) return;
  const std::vector<StatusOr<kube::Json>> lists = client.CallAll(std::move(requests));
  for (size_t i = 0; i < lists.size(); ++i) {
    const kube::Json* const events = lists[i].ok() ? kube::Find(*lists[i], "/items") : nullptr;
    if (events == nullptr) continue;
    Waiting& pod = by_uid_[uids[i]];
    for (const kube::Json& event : *events) {
      if (const auto time = RoomPromisedBy(event))
        pod.promised_at = std::max(pod.promised_at.value_or(*time), std::min(*time, now));
    }
  }
}

std::optional<Time> RoomNews::promised_at() const {
  std::optional<Time> newest;
  for (const auto& [uid, pod] : by_uid_) {
    if (pod.promised_at) newest = std::max(newest.value_or(*pod.promised_at), *pod.promised_at);
  }
  return newest;
}

}  // namespace paceline::controller

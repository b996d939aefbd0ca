#include "lib/sync/trace/trace_recorder.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "lib/sync/trace/trace.h"

namespace paceline::sync {

TraceRecorder::TraceRecorder(std::unique_ptr<Policy> policy, const PolicySpec& spec,
                             const std::string& saved, Sink sink, std::optional<Parts> parts)
    : policy_(std::move(policy)), sink_(std::move(sink)), parts_(std::move(parts)), spec_(spec) {
  sink_(std::string(kTracePolicy) + FormatPolicySpec(spec));
  if (!saved.empty()) sink_(std::string(kTraceSaved) + EncodeHex(saved));
}

void TraceRecorder::Observe(const Event& event, Time now, std::vector<Decision>& decisions) {
  if (parts_ && parts_->is_full()) parts_->begin(Snapshot(now));
  sink_(FormatTime(now) + " " + FormatEvent(event));
  const size_t first = decisions.size();
  policy_->Observe(event, now, decisions);
  for (size_t i = first; i < decisions.size(); ++i) sink_("  " + FormatDecision(decisions[i]));
  if (parts_) Note(event);
}

void TraceRecorder::Note(const Event& event) {
  if (const auto* joined = std::get_if<WorkerJoined>(&event)) members_.insert(joined->worker);
  if (const auto* left = std::get_if<WorkerLeft>(&event)) members_.erase(left->worker);
  if (const auto* committed = std::get_if<StepCommitted>(&event))
    spec_.first_version = committed->version;
  if (const auto* changed = std::get_if<Reconfigured>(&event)) {
    const Version version = spec_.first_version;
    spec_ = changed->spec;
    spec_.first_version = version;
  }
}

std::vector<std::string> TraceRecorder::Snapshot(Time now) const {
  PolicySpec spec = spec_;
  spec.workers_expected = std::max<uint32_t>(1, static_cast<uint32_t>(members_.size()));
  std::vector<std::string> lines = {std::string(kTracePolicy) + FormatPolicySpec(spec)};
  if (const std::string saved = policy_->Save(); !saved.empty())
    lines.push_back(std::string(kTraceSaved) + EncodeHex(saved));
  for (const WorkerId worker : members_)
    lines.push_back(FormatTime(now) + " " + FormatEvent(WorkerJoined{worker}));
  return lines;
}

}  // namespace paceline::sync

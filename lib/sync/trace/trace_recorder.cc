#include "lib/sync/trace/trace_recorder.h"

#include <utility>

#include "lib/sync/trace/trace.h"

namespace paceline::sync {

TraceRecorder::TraceRecorder(std::unique_ptr<Policy> policy, const PolicySpec& spec,
                             const std::string& saved, Sink sink)
    : policy_(std::move(policy)), sink_(std::move(sink)) {
  sink_(std::string(kTracePolicy) + FormatPolicySpec(spec));
  if (!saved.empty()) sink_(std::string(kTraceSaved) + EncodeHex(saved));
}

void TraceRecorder::Observe(const Event& event, Time now, std::vector<Decision>& decisions) {
  sink_(FormatTime(now) + " " + FormatEvent(event));
  const size_t first = decisions.size();
  policy_->Observe(event, now, decisions);
  for (size_t i = first; i < decisions.size(); ++i) sink_("  " + FormatDecision(decisions[i]));
}

}  // namespace paceline::sync

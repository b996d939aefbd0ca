#include "lib/sync/trace/replay.h"

#include <memory>
#include <utility>
#include <vector>

#include "lib/sync/schemes/policy_factory.h"
#include "lib/sync/trace/trace.h"

namespace paceline::sync {
namespace {

bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

class Replayer {
 public:
  // Takes the next line; after it `result().difference` may be set.
  Status Take(size_t number, std::string_view line) {
    line_ = number;
    if (line.empty() || line[0] == '#') return OkStatus();
    if (StartsWith(line, kTraceGap)) return TakeGap();
    if (is_behind_gap_ && !StartsWith(line, kTracePolicy)) {
      if (line[0] == '@') ++result_.unchecked;
      return OkStatus();
    }
    if (StartsWith(line, " ")) return TakeDecision(line);
    TakeEndOfDecisions();
    if (result_.difference) return OkStatus();
    if (StartsWith(line, kTracePolicy)) return TakePolicy(line.substr(kTracePolicy.size()));
    if (StartsWith(line, kTraceSaved)) return TakeSaved(line.substr(kTraceSaved.size()));
    return TakeEvent(line);
  }

  // The trace has no more decisions for the last event.
  void TakeEndOfDecisions() {
    if (next_ < decisions_.size()) Differ("", FormatDecision(decisions_[next_]));
    decisions_.clear();
    next_ = 0;
  }

  const ReplayResult& result() const { return result_; }

 private:
  // The decisions on the last event before it are all there, and its own header comes next.
  Status TakeGap() {
    TakeEndOfDecisions();
    ++result_.gaps;
    is_behind_gap_ = has_stand_in_ = true;
    return OkStatus();
  }

  Status TakePolicy(std::string_view text) {
    if (std::exchange(has_stand_in_, false)) return OkStatus();
    is_behind_gap_ = false;
    PACELINE_ASSIGN_OR_RETURN(spec_, ParsePolicySpec(text));
    ++result_.policies;
    return Make("");
  }

  Status TakeSaved(std::string_view text) {
    if (policy_ == nullptr) return InvalidArgument("saved state comes before its policy");
    PACELINE_ASSIGN_OR_RETURN(const std::string saved, DecodeHex(text));
    return Make(saved);
  }

  Status Make(const std::string& saved) {
    PACELINE_ASSIGN_OR_RETURN(policy_, MakePolicy(spec_, saved));
    return OkStatus();
  }

  Status TakeEvent(std::string_view line) {
    if (policy_ == nullptr) return InvalidArgument("event comes before its policy: {}", line);
    const size_t space = line.find(' ');
    PACELINE_ASSIGN_OR_RETURN(const Time now, ParseTime(line.substr(0, space)));
    if (space == std::string_view::npos) return InvalidArgument("event is missing: {}", line);
    PACELINE_ASSIGN_OR_RETURN(const Event event, ParseEvent(line.substr(space + 1)));
    ++result_.events;
    policy_->Observe(event, now, decisions_);
    return OkStatus();
  }

  // Compared as text, where equal numbers are equal bits and NaN equals itself.
  Status TakeDecision(std::string_view line) {
    PACELINE_ASSIGN_OR_RETURN(const Decision decision, ParseDecision(line));
    const std::string recorded = FormatDecision(decision);
    const std::string replayed = next_ < decisions_.size() ? FormatDecision(decisions_[next_]) : "";
    if (recorded == replayed) {
      ++next_;
      ++result_.decisions;
    } else {
      Differ(recorded, replayed);
    }
    return OkStatus();
  }

  void Differ(std::string recorded, std::string replayed) {
    result_.difference = ReplayDifference{line_, std::move(recorded), std::move(replayed)};
  }

  PolicySpec spec_;
  std::unique_ptr<Policy> policy_;
  std::vector<Decision> decisions_;  // Of the last event.
  size_t next_ = 0;                  // Of decisions_, the first not yet seen in the trace.
  size_t line_ = 0;
  bool is_behind_gap_ = false;
  bool has_stand_in_ = false;  // The next header stands in for what is missing.
  ReplayResult result_;
};

}  // namespace

StatusOr<ReplayResult> Replay(std::string_view trace_text) {
  Replayer replayer;
  size_t number = 0;
  while (true) {
    const size_t end = trace_text.find('\n');
    const bool is_cut_off = end == std::string_view::npos && !trace_text.empty();
    if (is_cut_off) break;
    if (end == std::string_view::npos) {
      replayer.TakeEndOfDecisions();
      break;
    }
    ++number;
    PACELINE_RETURN_IF_ERROR(
        Annotate(replayer.Take(number, trace_text.substr(0, end)), fmt::format("line {}", number)));
    if (replayer.result().difference) break;
    trace_text.remove_prefix(end + 1);
  }
  if (replayer.result().policies == 0) {
    return InvalidArgument("trace has no policy: want a line that begins with \"policy\"");
  }
  return replayer.result();
}

}  // namespace paceline::sync

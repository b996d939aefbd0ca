#include "lib/sync/trace/what_if.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <variant>

#include "lib/sync/schemes/policy_factory.h"
#include "lib/sync/trace/trace.h"

namespace paceline::sync {
namespace {

constexpr uint32_t kSpareBudget = 64;  // As the server gives.
constexpr int kDeadlinesMax = 100;     // Between two events.

bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

std::vector<std::string> Texts(const std::vector<Decision>& decisions) {
  std::vector<std::string> texts;
  texts.reserve(decisions.size());
  for (const Decision& decision : decisions) texts.push_back(FormatDecision(decision));
  return texts;
}

// The other policy, and who is there.
class Other {
 public:
  Other(const PolicySpec& spec, bool has_spare) : spec_(spec), has_spare_(has_spare) {}

  // In the place of a policy of the trace. What was learnt stays.
  Status Begin(const PolicySpec& recorded) {
    workers_.clear();
    spec_.workers_expected = recorded.workers_expected;
    return Make(recorded.first_version);
  }

  // Appends what it decides until then and on the event.
  Status Observe(const Event& event, Time now, std::vector<Decision>& decisions) {
    PassDeadlines(now, decisions);
    if (const auto* joined = std::get_if<WorkerJoined>(&event)) workers_.insert(joined->worker);
    if (const auto* left = std::get_if<WorkerLeft>(&event)) workers_.erase(left->worker);
    if (const auto* committed = std::get_if<StepCommitted>(&event)) {
      if (is_off_ && committed->version != version_) return PutOn(committed->version, now);
    }
    if (IsMeantFor(event)) Feed(event, now, decisions);
    if (!has_spare_ && policy_->WantsSpare()) Feed(Spare{kSpareBudget}, now, decisions);
    return OkStatus();
  }

  // From now on it is put onto the recorded versions.
  void IsOff() { is_off_ = true; }

  // Pushes that it waits for in the open round; one where there are no rounds.
  double WaitsFor() const {
    std::vector<Figure> figures;
    policy_->Tell(figures);
    const auto found = std::ranges::find(figures, &kWaitingFor, &Figure::kind);
    return found == figures.end() ? 1 : found->value;
  }

 private:
  Status Make(Version version) {
    spec_.first_version = version_ = version;
    const std::string saved = policy_ == nullptr ? "" : policy_->Save();
    PACELINE_ASSIGN_OR_RETURN(policy_, MakePolicy(spec_, saved));
    return OkStatus();
  }

  Status PutOn(Version version, Time now) {
    spec_.workers_expected = std::max<uint32_t>(1, static_cast<uint32_t>(workers_.size()));
    PACELINE_RETURN_IF_ERROR(Make(version));
    std::vector<Decision> releases;
    for (const WorkerId worker : workers_) Feed(WorkerJoined{worker}, now, releases);
    return OkStatus();
  }

  // Its own deadlines, where nothing happened; the trace has those of the recorded policy.
  void PassDeadlines(Time now, std::vector<Decision>& decisions) {
    for (int i = 0; i < kDeadlinesMax; ++i) {
      const std::optional<Time> deadline = policy_->Deadline();
      if (!deadline || *deadline >= now) return;
      Feed(DeadlineReached{}, *deadline, decisions);
    }
  }

  bool IsMeantFor(const Event& event) const {
    if (std::holds_alternative<Reconfigured>(event)) return false;  // Its knobs are what was asked.
    if (std::holds_alternative<Spare>(event)) return policy_->WantsSpare();
    return true;
  }

  void Feed(const Event& event, Time now, std::vector<Decision>& decisions) {
    if (std::holds_alternative<DeadlineReached>(event)) {
      const std::optional<Time> deadline = policy_->Deadline();
      if (!deadline || *deadline > now) return;
    }
    const size_t before = decisions.size();
    policy_->Observe(event, now, decisions);
    for (size_t i = before; i < decisions.size(); ++i)
      if (std::holds_alternative<Commit>(decisions[i])) version_ = version_.Next();
  }

  PolicySpec spec_;
  const bool has_spare_;  // The trace says when there was time to spare.
  std::unique_ptr<Policy> policy_;
  std::set<WorkerId> workers_;
  Version version_;  // The newest that it committed.
  bool is_off_ = false;
};

// Of the rounds since the recorded version before.
struct Round {
  double recorded_pushes = 0, other_pushes = 0;  // Accumulated, and not committed yet.
  std::optional<double> recorded, other;         // What the first commit of it held.
  bool is_sooner = false;                        // The other's was on an earlier event.
};

class Reader {
 public:
  Reader(const PolicySpec& other, bool has_spare) : other_(other, has_spare) {}

  Status Take(size_t number, std::string_view line) {
    if (line.empty() || line[0] == '#' || StartsWith(line, kTraceSaved)) return OkStatus();
    if (line[0] == ' ') {
      PACELINE_ASSIGN_OR_RETURN(const Decision decision, ParseDecision(line));
      recorded_.push_back(decision);
      return OkStatus();
    }
    PACELINE_RETURN_IF_ERROR(EndEvent());
    // What it decided there nobody knows: it goes on on the rails.
    if (StartsWith(line, kTraceGap)) {
      ++result_.gaps;
      round_ = {};
      if (!result_.difference) result_.difference = {number, std::string(line), {}, {}};
      other_.IsOff();
      return OkStatus();
    }
    if (StartsWith(line, kTracePolicy)) {
      PACELINE_ASSIGN_OR_RETURN(const PolicySpec spec,
                                ParsePolicySpec(line.substr(kTracePolicy.size())));
      has_policy_ = true;
      return other_.Begin(spec);
    }
    if (!has_policy_) return InvalidArgument("event comes before its policy: {}", line);
    const size_t space = std::min(line.find(' '), line.size());
    PACELINE_ASSIGN_OR_RETURN(now_, ParseTime(line.substr(0, space)));
    if (space == line.size()) return InvalidArgument("event is missing: {}", line);
    PACELINE_ASSIGN_OR_RETURN(event_, ParseEvent(line.substr(space + 1)));
    event_line_ = number;
    event_text_ = line;
    return OkStatus();
  }

  // All decisions on the last event are known.
  Status EndEvent() {
    if (!event_) return OkStatus();
    const Event event = *std::exchange(event_, {});
    const std::vector<Decision> recorded = std::exchange(recorded_, {});
    const bool is_version = std::holds_alternative<StepCommitted>(event);
    if (is_version) EndRound();
    std::vector<Decision> decided;
    PACELINE_RETURN_IF_ERROR(other_.Observe(event, now_, decided));
    if (is_version && !result_.difference) ++result_.versions;
    if (!result_.difference) Compare(recorded, decided);
    Count(recorded, decided);
    return OkStatus();
  }

  StatusOr<WhatIfResult> End() {
    if (!has_policy_)
      return InvalidArgument("trace has no policy: want a line that begins with \"policy\"");
    return std::move(result_);
  }

 private:
  void Compare(const std::vector<Decision>& recorded, const std::vector<Decision>& decided) {
    std::vector<std::string> theirs = Texts(recorded), ours = Texts(decided);
    if (theirs == ours) {
      ++result_.events;
      result_.decisions += ours.size();
      return;
    }
    result_.difference = {event_line_, event_text_, std::move(theirs), std::move(ours)};
    other_.IsOff();
  }

  void Count(const std::vector<Decision>& recorded, const std::vector<Decision>& decided) {
    const bool had_committed = round_.recorded.has_value();
    CountOf(recorded, round_.recorded_pushes, round_.recorded);
    const bool is_first = !round_.other;
    CountOf(decided, round_.other_pushes, round_.other);
    if (is_first && round_.other && !had_committed && !round_.recorded) round_.is_sooner = true;
  }

  static void CountOf(const std::vector<Decision>& decisions, double& pushes,
                      std::optional<double>& committed) {
    for (const Decision& decision : decisions) {
      if (std::holds_alternative<Accumulate>(decision)) ++pushes;
      if (!std::holds_alternative<Commit>(decision)) continue;
      if (!committed) committed = pushes;
      pushes = 0;
    }
  }

  // Before the other hears of the recorded version.
  void EndRound() {
    const Round round = std::exchange(round_, {});
    if (!round.recorded || !result_.difference) return;
    OnRails& after = result_.after;
    after.recorded.Add(*round.recorded);
    after.other.Add(round.other ? *round.other : other_.WaitsFor());
    if (!round.other) {
      ++after.later;
    } else {
      ++(round.is_sooner ? after.sooner : after.alike);
    }
  }

  Other other_;
  bool has_policy_ = false;
  std::optional<Event> event_;  // The last one, whose decisions are being read.
  size_t event_line_ = 0;
  std::string event_text_;
  Time now_;
  std::vector<Decision> recorded_;
  Round round_;
  WhatIfResult result_;
};

}  // namespace

void PushCount::Add(double pushes) {
  least = versions == 0 ? pushes : std::min(least, pushes);
  most = std::max(most, pushes);
  sum += pushes;
  ++versions;
}

StatusOr<WhatIfResult> ReplayWith(std::string_view trace_text, const PolicySpec& other) {
  Reader reader(other, trace_text.find(" spare ") != std::string_view::npos);
  for (size_t number = 1;; ++number) {
    const size_t end = trace_text.find('\n');
    if (end == std::string_view::npos) break;
    PACELINE_RETURN_IF_ERROR(
        Annotate(reader.Take(number, trace_text.substr(0, end)), fmt::format("line {}", number)));
    trace_text.remove_prefix(end + 1);
  }
  if (trace_text.empty()) PACELINE_RETURN_IF_ERROR(reader.EndEvent());
  return reader.End();
}

}  // namespace paceline::sync

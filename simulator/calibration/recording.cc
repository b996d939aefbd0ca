#include "simulator/calibration/recording.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <variant>

#include "lib/sync/schemes/policy_spec.h"
#include "lib/sync/trace/trace.h"

namespace paceline::simulator {
namespace {

bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

class Reader {
 public:
  Status Take(std::string_view line) {
    if (line.empty() || line[0] == '#' || StartsWith(line, sync::kTraceSaved)) return OkStatus();
    if (StartsWith(line, sync::kTraceGap)) {
      is_behind_gap_ = recording_.versions > 0;
      decided_.reset();
      ++recording_.gaps;
      return OkStatus();
    }
    if (StartsWith(line, sync::kTracePolicy))
      return TakePolicy(line.substr(sync::kTracePolicy.size()));
    if (line[0] == ' ') return TakeDecision(line);
    return TakeEvent(line);
  }

  StatusOr<Recording> End() {
    if (recording_.versions == 0) return InvalidArgument("nothing was committed in it");
    recording_.seconds = ToSeconds(last_commit_ - first_commit_ - missing_);
    // Who left behind the last commit left since the job was over.
    for (RecordedWorker& worker : recording_.workers) {
      std::erase_if(worker.absences, [&](const RecordedAbsence& absence) {
        return *first_join_ + absence.from >= last_commit_;
      });
    }
    return std::move(recording_);
  }

 private:
  Status TakePolicy(std::string_view text) {
    PACELINE_ASSIGN_OR_RETURN(const sync::PolicySpec spec, sync::ParsePolicySpec(text));
    scales_.clear();
    TakeSpec(spec);
    if (!recording_.policy.empty()) return OkStatus();
    recording_.policy = text;
    recording_.batch = spec.global_batch_size;
    return OkStatus();
  }

  // A server that came back has the one before.
  void TakeSpec(sync::PolicySpec spec) {
    spec.workers_expected = 1;
    spec.first_version = Version();
    if (spec == spec_) return;
    ++recording_.policies;
    spec_ = std::move(spec);
  }

  Status TakeDecision(std::string_view line) {
    PACELINE_ASSIGN_OR_RETURN(const sync::Decision decision, sync::ParseDecision(line));
    if (const auto* commit = std::get_if<sync::Commit>(&decision)) {
      decided_ = now_;
      scales_.push_back(commit->learning_rate_scale);
    }
    return OkStatus();
  }

  Status TakeEvent(std::string_view line) {
    const size_t space = std::min(line.find(' '), line.size());
    PACELINE_ASSIGN_OR_RETURN(now_, sync::ParseTime(line.substr(0, space)));
    if (space == line.size()) return InvalidArgument("event is missing: {}", line);
    PACELINE_ASSIGN_OR_RETURN(const sync::Event event, sync::ParseEvent(line.substr(space + 1)));
    if (const auto* joined = std::get_if<sync::WorkerJoined>(&event)) Joined(joined->worker);
    if (const auto* left = std::get_if<sync::WorkerLeft>(&event)) Left(*left);
    if (const auto* push = std::get_if<sync::PushArrived>(&event)) Pushed(*push);
    if (const auto* committed = std::get_if<sync::StepCommitted>(&event)) Committed(*committed);
    if (const auto* changed = std::get_if<sync::Reconfigured>(&event)) TakeSpec(changed->spec);
    return OkStatus();
  }

  // Null if it never joined.
  RecordedWorker* Find(WorkerId worker) {
    const auto found = std::ranges::find(recording_.workers, worker, &RecordedWorker::worker);
    return found == recording_.workers.end() ? nullptr : &*found;
  }

  void Joined(WorkerId worker) {
    if (!first_join_) first_join_ = now_;
    RecordedWorker* const known = Find(worker);
    if (known == nullptr) {
      recording_.workers.push_back({worker, now_ - *first_join_, {}, {}});
    } else if (!known->absences.empty() && !known->absences.back().lasting) {
      known->absences.back().lasting = now_ - *first_join_ - known->absences.back().from;
    }
  }

  void Left(const sync::WorkerLeft& left) {
    RecordedWorker* const known = Find(left.worker);
    if (known == nullptr) return;
    known->absences.push_back(
        {now_ - *first_join_, std::nullopt, left.reason == sync::LeaveReason::kSilent});
  }

  void Pushed(const sync::PushArrived& push) {
    RecordedWorker* const known = Find(push.worker);
    if (known == nullptr) return;
    known->pushes.push_back({push.samples, push.steps, ToSeconds(push.timing.compute),
                             ToSeconds(push.timing.communication), now_ - *first_join_,
                             ToSeconds(push.timing.injected)});
  }

  void Committed(const sync::StepCommitted& committed) {
    if (recording_.versions == 0) first_commit_ = now_;
    if (!scales_.empty()) {
      recording_.learning_rate =
          std::max(recording_.learning_rate, committed.learning_rate / scales_.front());
      scales_.pop_front();
    }
    if (std::exchange(is_behind_gap_, false)) missing_ += now_ - last_commit_;
    ++recording_.versions;
    last_commit_ = now_;
    if (decided_) recording_.commits.push_back(ToSeconds(now_ - *std::exchange(decided_, {})));
  }

  Recording recording_;
  std::optional<sync::PolicySpec> spec_;  // The newest.
  Time now_;
  std::optional<Time> first_join_;
  std::optional<Time> decided_;  // A commit that is not published yet.
  std::deque<double> scales_;    // Of the rate, of all that are not.
  Time first_commit_, last_commit_;
  bool is_behind_gap_ = false;  // Nothing was committed behind it yet.
  Duration missing_{};          // From the last commit before each gap to the first behind it.
};

}  // namespace

StatusOr<Recording> ReadRecording(std::string_view trace) {
  Reader reader;
  for (size_t number = 1;; ++number) {
    const size_t end = trace.find('\n');
    if (end == std::string_view::npos) break;
    PACELINE_RETURN_IF_ERROR(
        Annotate(reader.Take(trace.substr(0, end)), fmt::format("line {}", number)));
    trace.remove_prefix(end + 1);
  }
  return reader.End();
}

}  // namespace paceline::simulator

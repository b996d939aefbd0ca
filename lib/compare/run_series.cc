#include "lib/compare/run_series.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "lib/sync/trace/trace.h"

namespace paceline::compare {
namespace {

using PushKey = std::pair<WorkerId, Sequence>;

class Reader {
 public:
  Status Take(std::string_view line) {
    if (line.empty() || line[0] == '#' || line.starts_with(sync::kTraceSaved)) return OkStatus();
    if (line.starts_with(sync::kTraceGap)) {
      ++series_.gaps;
      return OkStatus();
    }
    if (line.starts_with(sync::kTracePolicy)) {
      // Another policy, or another life of the job: nobody's push goes on over it.
      open_.clear();
      pushed_at_.clear();
      pushes_ = samples_ = 0;
      loss_ = 0;
      return OkStatus();
    }
    if (line[0] == ' ') {
      PACELINE_ASSIGN_OR_RETURN(const sync::Decision decision, sync::ParseDecision(line));
      std::visit([this](const auto& d) { Decided(d); }, decision);
      return OkStatus();
    }
    const size_t space = std::min(line.find(' '), line.size());
    PACELINE_ASSIGN_OR_RETURN(const Time now, sync::ParseTime(line.substr(0, space)));
    now_ = now;
    if (space == line.size()) return InvalidArgument("event is missing: {}", std::string(line));
    PACELINE_ASSIGN_OR_RETURN(const sync::Event event, sync::ParseEvent(line.substr(space + 1)));
    std::visit([this](const auto& e) { Happened(e); }, event);
    return OkStatus();
  }

  RunSeries TakeSeries() { return std::move(series_); }

 private:
  double Seconds() const { return began_ ? ToSeconds(now_ - *began_) : 0; }

  template <class Other>
  void Happened(const Other&) {}
  void Happened(const sync::PushArrived& push) {
    series_.compute += ToSeconds(push.timing.compute);
    series_.injected += ToSeconds(push.timing.injected);
    series_.wait += ToSeconds(push.timing.wait);
    series_.communication += ToSeconds(push.timing.communication);
    series_.samples_pushed += push.samples;
    open_.insert_or_assign({push.worker, push.sequence}, push);
    const auto [before, is_first] = pushed_at_.try_emplace(push.worker, now_);
    if (!is_first) {
      const double each = ToSeconds(now_ - before->second) / std::max(push.steps, 1u);
      series_.step_seconds.push_back(each);
      before->second = now_;
    }
  }
  void Happened(const sync::WorkerLeft& left) { pushed_at_.erase(left.worker); }
  void Happened(const sync::StepCommitted& committed) {
    series_.published_at[committed.version.value()] = Seconds();
  }

  template <class Other>
  void Decided(const Other&) {}
  void Decided(const sync::Accumulate& accumulate) {
    ++pushes_;
    const auto push = open_.extract({accumulate.worker, accumulate.sequence});
    if (push.empty()) return;
    samples_ += push.mapped().samples;
    loss_ += push.mapped().gradient.loss * push.mapped().samples;
  }
  void Decided(const sync::Drop& drop) {
    const auto push = open_.extract({drop.worker, drop.sequence});
    if (!push.empty()) series_.samples_dropped += push.mapped().samples;
  }
  void Decided(const sync::Commit&) {
    const double loss = samples_ > 0 ? loss_ / static_cast<double>(samples_) : 0;
    series_.commits.push_back({Seconds(), pushes_, loss});
    pushes_ = samples_ = 0;
    loss_ = 0;
  }
  void Decided(const sync::Release& release) {
    if (!began_) began_ = now_;
    Assigned(release.worker, release.assignment);
  }
  void Decided(const sync::Continue& more) { Assigned(more.worker, more.assignment); }
  void Assigned(WorkerId worker, const sync::Assignment& assignment) {
    const auto [before, is_first] = batches_.try_emplace(worker, assignment.samples);
    if (!is_first && before->second == assignment.samples) return;
    before->second = assignment.samples;
    series_.batches.push_back({Seconds(), worker.value(), assignment.samples});
  }

  RunSeries series_;
  Time now_{};
  std::optional<Time> began_;
  std::map<PushKey, sync::PushArrived> open_;  // Not yet answered.
  std::map<WorkerId, Time> pushed_at_;
  std::map<WorkerId, uint32_t> batches_;
  uint32_t pushes_ = 0;  // Since the last commit.
  uint32_t samples_ = 0;
  double loss_ = 0;
};

}  // namespace

StatusOr<RunSeries> ReadSeries(std::string_view text) {
  Reader reader;
  size_t number = 0;
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    ++number;
    PACELINE_RETURN_IF_ERROR(
        Annotate(reader.Take(text.substr(0, end)), fmt::format("line {}", number)));
    text.remove_prefix(end + 1);
  }
  return reader.TakeSeries();
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace paceline::compare

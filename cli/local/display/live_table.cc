#include "cli/local/display/live_table.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "cli/local/display/progress_view.h"

namespace paceline::local {
namespace {

constexpr size_t kColumns = 10;
using Row = std::array<std::string, kColumns>;

std::string StateWord(const LiveWorker& worker) {
  if (!worker.is_member) return "gone";
  return worker.is_draining ? "leaving" : "working";
}

std::string Share(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::vector<Row> Rows(const LiveState& state) {
  std::vector<Row> rows = {{"WORKER", "STATE", "DEVICE", "THREADS", "STEPS", "SAMPLES", "BATCH",
                            "COMPUTE", "WAIT", "COMMUNICATION"}};
  for (const LiveWorker& worker : state.workers) {
    rows.push_back({worker.name(), StateWord(worker), worker.device,
                    worker.threads > 0 ? std::to_string(worker.threads) : "",
                    Thousands(worker.steps), Thousands(worker.samples),
                    Thousands(worker.batch_size), Share(worker.compute_share),
                    Share(worker.wait_share), Share(worker.communication_share)});
  }
  return rows;
}

}  // namespace

std::string LiveText(const LiveState& state) {
  std::string text = fmt::format("{:.0f} %  {}", state.percent, ProgressLine(state));
  if (!state.scheme.empty())
    text += fmt::format("  {}{}", state.scheme, state.is_changing_scheme ? " (changing)" : "");
  text += "\n";
  if (state.roll_backs > 0) {
    const std::string count =
        state.roll_backs == 1 ? "once" : fmt::format("{} times, the last", state.roll_backs);
    text += fmt::format("rolled back {}: {}\n", count, state.last_roll_back);
  }
  if (state.finished) {
    text += fmt::format("{}: {}\n", state.finished->is_success ? "succeeded" : "failed",
                        state.finished->reason);
  }
  const std::vector<Row> rows = Rows(state);
  std::array<size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (size_t column = 0; column < kColumns; ++column)
      widths[column] = std::max(widths[column], row[column].size());
  }
  for (const Row& row : rows) {
    std::string line;
    for (size_t column = 0; column < kColumns; ++column) {
      // Words to the left, numbers to the right.
      const char* const gap = column == 0 ? "" : "  ";
      line += column == 1 || column == 2
                  ? fmt::format("{}{:<{}}", gap, row[column], widths[column])
                  : fmt::format("{}{:>{}}", gap, row[column], widths[column]);
    }
    text += line + "\n";
  }
  return text;
}

}  // namespace paceline::local

#include "lib/compare/report.h"

#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/json_text.h"

namespace paceline::compare {
namespace {

// Members stay in the order in which they are put in.
using json = nlohmann::ordered_json;

constexpr size_t kColumns = 12;
using Row = std::array<std::string, kColumns>;

// "12.1 (11.8-13.0)" of the runs that count; the bare number where all are alike.
std::string RangeText(std::vector<double> values, int decimals) {
  if (values.empty()) return "-";
  const double median = Median(values);
  const auto [least, most] = std::ranges::minmax(values);
  const std::string text = fmt::format("{:.{}f}", median, decimals);
  const std::string from = fmt::format("{:.{}f}", least, decimals);
  const std::string to = fmt::format("{:.{}f}", most, decimals);
  return from == to ? text : fmt::format("{} ({}-{})", text, from, to);
}

// Of the runs that count and say one.
std::string AccuracyText(const std::vector<ArmRun>& runs, const std::string& arm) {
  std::vector<double> values;
  for (const ArmRun& run : runs)
    if (run.scheme == arm && run.counts() && run.accuracy) values.push_back(100 * *run.accuracy);
  return RangeText(std::move(values), 2);
}

Row RowOf(const std::vector<ArmRun>& runs, const std::string& arm) {
  size_t all = 0;
  size_t reached = 0;
  size_t counting = 0;
  for (const ArmRun& run : runs) {
    if (run.scheme != arm) continue;
    ++all;
    if (run.counts()) ++counting;
    if (run.counts() && run.reached) ++reached;
  }
  const auto column = [&](int decimals, const std::function<double(const ArmRun&)>& value,
                          bool must_have_reached = false) {
    std::vector<double> values;
    for (const ArmRun& run : runs) {
      if (run.scheme == arm && run.counts() && (!must_have_reached || run.reached))
        values.push_back(value(run));
    }
    return RangeText(std::move(values), decimals);
  };
  return {arm,
          fmt::format("{}/{}/{}", reached, counting, all),
          column(
              1, [](const ArmRun& run) { return run.seconds_to_target.value_or(0); }, true),
          column(0, [](const ArmRun& run) { return static_cast<double>(run.steps); }),
          column(1, [](const ArmRun& run) { return 1e3 * run.step_seconds_p50; }),
          column(1, [](const ArmRun& run) { return 100 * run.compute_share; }),
          column(1, [](const ArmRun& run) { return 100 * run.injected_share; }),
          column(0, [](const ArmRun& run) { return run.samples_per_second; }),
          column(1, [](const ArmRun& run) { return 100 * run.dropped; }),
          column(2, [](const ArmRun& run) { return run.cores; }),
          AccuracyText(runs, arm),
          column(3, [](const ArmRun& run) { return run.bytes_per_step / 1e6; })};
}

std::string Columns(const std::vector<Row>& rows) {
  std::array<size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < kColumns; ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string Problems(const std::vector<ArmRun>& runs) {
  std::string text;
  for (const ArmRun& run : runs) {
    if (!run.problem.empty()) {
      text +=
          fmt::format("{} with seed {} does not count: {}\n", run.scheme, run.seed, run.problem);
    } else if (!run.counts()) {
      text += fmt::format(
          "{} with seed {} does not count: its processes used {:.2f} cores, and from {} on the "
          "machine is what is measured\n",
          run.scheme, run.seed, run.cores, kCoresMax);
    }
  }
  return text;
}

json RunJson(const ArmRun& run) {
  return {
      {"scheme", run.scheme},
      {"seed", run.seed},
      {"reached", run.reached},
      {"seconds_to_target", run.seconds_to_target ? json(*run.seconds_to_target) : json(nullptr)},
      {"steps", run.steps},
      {"step_seconds_p50", run.step_seconds_p50},
      {"compute_share", run.compute_share},
      {"samples_per_second", run.samples_per_second},
      {"dropped", run.dropped},
      {"injected_share", run.injected_share},
      {"cores", run.cores},
      {"accuracy", run.accuracy ? json(*run.accuracy) : json(nullptr)},
      {"bytes_per_step", run.bytes_per_step},
      {"load_average", run.load_average},
      {"counts", run.counts()},
      {"problem", run.problem.empty() ? json(nullptr) : json(run.problem)}};
}

// Quoted where it must be (RFC 4180).
std::string Cell(const json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return JsonText(value);
  std::string text = value.get<std::string>();
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  for (size_t at = text.find('"'); at != std::string::npos; at = text.find('"', at + 2))
    text.insert(at, 1, '"');
  return "\"" + text + "\"";
}

}  // namespace

std::string TableText(const std::vector<ArmRun>& runs, const std::string& goal) {
  const std::vector<std::string> arms = ArmsOf(runs);
  std::vector<Row> rows = {{"ARM", "RUNS", "SECONDS", "STEPS", "STEP MS", "COMPUTE %", "INJECTED %",
                            "SAMPLES/S", "DROPPED %", "CORES", "ACCURACY %", "MB/STEP"}};
  for (const std::string& arm : arms) rows.push_back(RowOf(runs, arm));
  std::string text = fmt::format(
      "goal: {}; medians (ranges) of the runs that count; RUNS: reached it/count/all\n", goal);
  text += Columns(rows) + Problems(runs);
  for (size_t i = 1; i < arms.size(); ++i)
    text += fmt::format("{} against {}: {}\n", arms[i], arms[0],
                        ToString(Judge(runs, arms[i], arms[0])));
  return text + WinnerInWords(runs) + "\n";
}

std::string RunsJson(const std::vector<ArmRun>& runs) {
  json list = json::array();
  for (const ArmRun& run : runs) list.push_back(RunJson(run));
  return JsonText(list) + "\n";
}

std::string RunsCsv(const std::vector<ArmRun>& runs) {
  std::string text;
  for (const ArmRun& run : runs) {
    std::string header;
    std::string row;
    const json object = RunJson(run);
    for (const auto& [name, value] : object.items()) {
      header += (header.empty() ? "" : ",") + name;
      row += (row.empty() ? "" : ",") + Cell(value);
    }
    if (text.empty()) text = header + "\n";
    text += row + "\n";
  }
  return text;
}

}  // namespace paceline::compare

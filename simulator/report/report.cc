#include "simulator/report/report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/json_text.h"

namespace paceline::simulator {
namespace {

double Median(std::vector<double> values) {
  if (values.empty()) return std::nan("");
  std::ranges::sort(values);
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

nlohmann::ordered_json Json(const Row& row) {
  nlohmann::ordered_json json = {{"arm", row.arm},
                                 {"seed", row.seed},
                                 {"ending", ToString(row.ending)},
                                 {"seconds", row.seconds},
                                 {"steps", row.steps},
                                 {"step_seconds", row.step_seconds},
                                 {"loss", row.loss},
                                 {"pushes_a_step", row.pushes_a_step},
                                 {"dropped", row.dropped},
                                 {"interrupted", row.interrupted},
                                 {"computing", row.computing},
                                 {"wasted", row.wasted}};
  if (!std::isfinite(row.loss)) json["loss"] = nullptr;
  return json;
}

// Seed by seed, how many times as fast as the first arm; empty where lives did not end alike.
std::vector<double> Speeds(const std::vector<Row>& arm, const std::vector<Row>& first) {
  std::vector<double> speeds;
  for (size_t i = 0; i < arm.size() && i < first.size(); ++i) {
    if (arm[i].ending == first[i].ending) speeds.push_back(first[i].seconds / arm[i].seconds);
  }
  return speeds;
}

}  // namespace

Row RowOf(const std::string& arm, uint64_t seed, size_t workers, const Life& life) {
  Row row{.arm = arm,
          .seed = seed,
          .ending = life.ending,
          .seconds = life.seconds,
          .steps = life.versions.size(),
          .dropped = life.dropped,
          .interrupted = life.interrupted};
  if (life.versions.empty()) return row;
  const auto steps = static_cast<double>(life.versions.size());
  row.step_seconds = life.versions.back().at_seconds / steps;
  row.loss = life.versions.back().loss;
  for (const VersionFacts& version : life.versions) row.pushes_a_step += version.pushes / steps;
  if (life.seconds > 0)
    row.computing = life.compute_seconds / (life.seconds * static_cast<double>(workers));
  if (life.compute_seconds > 0) row.wasted = life.wasted_seconds / life.compute_seconds;
  return row;
}

std::string TableText(const std::vector<Row>& rows) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<Row>> arms;
  size_t width = 3;
  for (const Row& row : rows) {
    if (!arms.contains(row.arm)) order.push_back(row.arm);
    arms[row.arm].push_back(row);
    width = std::max(width, row.arm.size());
  }
  std::string text =
      fmt::format("{:<{}} {:>9} {:>21} {:>8} {:>9} {:>9} {:>7} {:>8} {:>11} {:>10} {:>7} {:>7}\n",
                  "arm", width, "seconds", "(least, most)", "steps", "s/step", "loss", "pushes",
                  "dropped", "interrupted", "computing", "wasted", "speed");
  for (const std::string& name : order) {
    const std::vector<Row>& arm = arms[name];
    const auto median = [&arm](auto Row::*figure) {
      std::vector<double> values;
      for (const Row& row : arm) values.push_back(static_cast<double>(row.*figure));
      return Median(values);
    };
    const auto [least, most] = std::ranges::minmax(arm, {}, &Row::seconds);
    const std::vector<double> speeds = Speeds(arm, arms[order.front()]);
    const std::string speed =
        speeds.size() == arm.size()
            ? fmt::format("{:.2f}", Median(speeds))
            : fmt::format("{} of {} {}", arm.size() - speeds.size(), arm.size(),
                          arm.size() == 1 ? ToString(arm.front().ending) : "ended otherwise");
    text += fmt::format(
        "{:<{}} {:>9.4g} {:>21} {:>8.0f} {:>9.4g} {:>9.3g} {:>7.2f} {:>8.0f} {:>11.0f} {:>9.0f}% "
        "{:>6.0f}% {:>7}\n",
        name, width, median(&Row::seconds),
        fmt::format("({:.4g}, {:.4g})", least.seconds, most.seconds), median(&Row::steps),
        median(&Row::step_seconds), median(&Row::loss), median(&Row::pushes_a_step),
        median(&Row::dropped), median(&Row::interrupted), 100 * median(&Row::computing),
        100 * median(&Row::wasted), speed);
  }
  return text;
}

std::string RowsJson(const std::vector<Row>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows) list.push_back(Json(row));
  return JsonText(list) + "\n";
}

std::string RowsCsv(const std::vector<Row>& rows) {
  std::string text =
      "arm,seed,ending,seconds,steps,step_seconds,loss,pushes_a_step,dropped,interrupted,computing,"
      "wasted\n";
  for (const Row& row : rows) {
    std::string name = row.arm;
    if (name.find_first_of(",\"\n") != std::string::npos) {
      std::string quoted;
      for (const char c : name) quoted += c == '"' ? "\"\"" : std::string(1, c);
      name = '"' + quoted + '"';
    }
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", name, row.seed,
                        ToString(row.ending), row.seconds, row.steps, row.step_seconds, row.loss,
                        row.pushes_a_step, row.dropped, row.interrupted, row.computing, row.wasted);
  }
  return text;
}

}  // namespace paceline::simulator

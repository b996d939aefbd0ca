#include "cli/local/display/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/local/display/progress_view.h"
#include "lib/base/json_text.h"
#include "lib/job/process_name.h"

namespace paceline::local {
namespace {

// Members stay in the order in which they are put in.
using json = nlohmann::ordered_json;

json OrNull(const std::optional<double>& value) { return value ? json(*value) : json(nullptr); }

// Held-out where there is an evaluation, else of the latest commit.
std::optional<double> ShownLoss(const LiveState& state) {
  if (state.evaluation_loss) return state.evaluation_loss;
  return state.step > 0 ? state.loss : std::nullopt;
}

double MeanSamplesPerSecond(const LiveState& state) {
  if (state.seconds <= 0 || state.committed_samples <= state.samples_before) return 0;
  return static_cast<double>(state.committed_samples - state.samples_before) / state.seconds;
}

uint64_t Overflows(const LiveState& state) {
  uint64_t overflows = 0;
  for (const LiveWorker& worker : state.workers) overflows += worker.overflows;
  return overflows;
}

// What loss scaling cost; empty without it, or where it cost nothing.
std::string OverflowsText(const LiveState& state) {
  const uint64_t overflows = Overflows(state);
  if (overflows == 0) return "";
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const LiveWorker& worker : state.workers) {
    if (worker.loss_scale == 0) continue;
    least = std::min(least, worker.loss_scale);
    most = std::max(most, worker.loss_scale);
  }
  const std::string scales =
      least == most ? fmt::format("{:g}", most) : fmt::format("{:g} to {:g}", least, most);
  return fmt::format("  overflows  {} steps given up by loss scaling; scale now {}\n",
                     Thousands(overflows), scales);
}

uint64_t Expulsions(const LiveState& state) {
  uint64_t expulsions = 0;
  for (const LiveWorker& worker : state.workers) expulsions += worker.expulsions;
  return expulsions;
}

// Samples and processes that were to blame, one line each; empty if there were none.
std::string FaultsText(const LiveState& state) {
  std::string text;
  if (state.poisoned_samples > 0) {
    text += fmt::format("  poisoned   {} samples left out: {}{}\n", state.poisoned_samples,
                        fmt::join(state.poisoned, ", "),
                        state.poisoned.size() < state.poisoned_samples ? ", ..." : "");
  }
  if (state.skipped_samples > 0) {
    text += fmt::format("  skipped    {} samples, which the script did without\n",
                        state.skipped_samples);
  }
  if (const uint64_t expulsions = Expulsions(state); expulsions > 0)
    text += fmt::format("  expelled   {} processes of workers\n", expulsions);
  return text;
}

job::ProcessId IdOf(const LiveWorker& worker) {
  return {.group = worker.group, .index = static_cast<int64_t>(worker.index)};
}

}  // namespace

std::string SummaryText(const RunSummary& summary) {
  const std::string verdict = summary.is_success ? "succeeded" : "failed";
  std::string text = fmt::format("{} {}: {}\n", summary.job, verdict, summary.reason);
  if (summary.state) {
    const LiveState& state = *summary.state;
    if (state.accuracy)
      text += fmt::format("  accuracy   {:.2f} % on held-out data\n", 100 * *state.accuracy);
    for (const auto& [name, value] : state.evaluation_metrics) {
      if (name != "accuracy") text += fmt::format("  {:<10} {:.6g}\n", name, value);
    }
    if (const auto loss = ShownLoss(state)) text += fmt::format("  loss       {:.4f}\n", *loss);
    text += fmt::format("  time       {:.1f} s of training, {} samples/s\n", state.seconds,
                        Thousands(static_cast<uint64_t>(MeanSamplesPerSecond(state))));
    text += fmt::format("  steps      {} in {:.2f} epochs\n", Thousands(state.step), state.epochs);
    if (state.nonfinite_pushes > 0)
      text += fmt::format("  not finite {} pushes left out\n", state.nonfinite_pushes);
    text += OverflowsText(state);
    text += FaultsText(state);
    if (summary.restarts > 0)
      text += fmt::format("  restarts   {} of processes\n", summary.restarts);
    if (const auto& recovery = summary.recovery) {
      text += fmt::format(
          "  roll backs {}, which cost {} steps and {:.1f} s of training; the last: {}\n",
          recovery->roll_backs, Thousands(static_cast<uint64_t>(recovery->lost_steps)),
          recovery->lost_seconds, recovery->message);
    }
    if (state.is_chaos_enabled) {
      text += fmt::format("  chaos      on: {:.1f} % of the workers' time was injected sleep\n",
                          100 * InjectedShare(state));
    }
    if (!state.workers.empty()) {
      text +=
          fmt::format("  {:<24} {:<6} {:>7} {:>8} {:>10} {:>8} {:>8} {:>14}\n", "worker", "device",
                      "threads", "steps", "samples", "compute", "wait", "communication");
    }
    for (const LiveWorker& worker : state.workers) {
      text += fmt::format("  {:<24} {:<6} {:>7} {:>8} {:>10} {:>6.1f} % {:>6.1f} % {:>12.1f} %\n",
                          job::ProcessName(summary.job, IdOf(worker)), worker.device,
                          worker.threads > 0 ? std::to_string(worker.threads) : "",
                          Thousands(worker.steps), Thousands(worker.samples),
                          100 * worker.compute_share, 100 * worker.wait_share,
                          100 * worker.communication_share);
    }
  }
  if (!summary.model_path.empty()) {
    text += fmt::format("  model      {}\n", summary.model_path);
    if (summary.state && summary.state->left_out_of_model > 0) {
      text += fmt::format(
          "             without {} frozen parameters of the script's own: load those as it does\n",
          summary.state->left_out_of_model);
    }
  }
  text += fmt::format("  logs       {}/logs\n", summary.folder);
  return text;
}

std::string SummaryJson(const RunSummary& summary) {
  json object = {{"succeeded", summary.is_success},
                 {"reason", summary.reason},
                 {"accuracy", nullptr},
                 {"loss", nullptr},
                 {"metrics", json::object()},
                 {"steps", nullptr},
                 {"epochs", nullptr},
                 {"seconds", nullptr},
                 {"samplesPerSecond", nullptr},
                 {"rollBacks", summary.recovery ? summary.recovery->roll_backs : 0},
                 {"lostSteps", summary.recovery ? summary.recovery->lost_steps : 0},
                 {"lostSeconds", summary.recovery ? summary.recovery->lost_seconds : 0.0},
                 {"overflows", 0},
                 {"poisonedSamples", 0},
                 {"skippedSamples", 0},
                 {"expulsions", 0},
                 {"workers", json::array()},
                 {"model", summary.model_path.empty() ? json(nullptr) : json(summary.model_path)}};
  if (summary.state) {
    const LiveState& state = *summary.state;
    object["accuracy"] = OrNull(state.accuracy);
    for (const auto& [name, value] : state.evaluation_metrics) object["metrics"][name] = value;
    object["loss"] = OrNull(ShownLoss(state));
    object["steps"] = state.step;
    object["epochs"] = state.epochs;
    object["seconds"] = state.seconds;
    object["samplesPerSecond"] = MeanSamplesPerSecond(state);
    object["overflows"] = Overflows(state);
    object["poisonedSamples"] = state.poisoned_samples;
    object["skippedSamples"] = state.skipped_samples;
    object["expulsions"] = Expulsions(state);
    for (const LiveWorker& worker : state.workers) {
      const job::ProcessId process = IdOf(worker);
      object["workers"].push_back({{"name", job::ProcessName(summary.job, process)},
                                   {"group", process.group},
                                   {"index", process.index},
                                   {"device", worker.device},
                                   {"threads", worker.threads},
                                   {"steps", worker.steps},
                                   {"samples", worker.samples},
                                   {"computeShare", worker.compute_share},
                                   {"waitShare", worker.wait_share},
                                   {"communicationShare", worker.communication_share}});
    }
  }
  return JsonText(object) + "\n";
}

}  // namespace paceline::local

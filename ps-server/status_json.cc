#include "ps-server/status_json.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/json_text.h"
#include "lib/coordination/words.h"
#include "lib/telemetry/clock.h"

namespace paceline::ps {
namespace {

using nlohmann::json;

constexpr size_t kReasonMax = 2000;
constexpr size_t kPoisonedMax = 100;

// JSON has no NaN and no infinity.
json Number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

// Who was expelled; the age is for the planner, which ends a process that hangs yet.
json QuarantineJson(const coordination::Quarantine& quarantine) {
  json one = {{"reason", quarantine.reason},
              {"isHung", quarantine.is_hung},
              {"seconds", ToSeconds(telemetry::SteadyNow() - quarantine.since)}};
  if (quarantine.attempt) one["attempt"] = *quarantine.attempt;
  return one;
}

json WorkerJson(const coordination::WorkerStatus& worker, const WorkerPace& pace) {
  const double compute = ToSeconds(worker.total.compute);
  const double wait = ToSeconds(worker.total.wait);
  const double communication = ToSeconds(worker.total.communication);
  const double all = compute + wait + communication;
  const auto share = [all](double part) { return all > 0 ? part / all : 0.0; };
  json one = {{"group", worker.seat.group.empty() ? "worker" : worker.seat.group},
              {"index", worker.seat.index},
              {"incarnation", worker.incarnation.value()},
              {"isMember", worker.is_member},
              {"hasEnded", worker.has_ended},
              {"isDraining", worker.is_draining},
              {"device", worker.device},
              {"threads", worker.threads},
              {"steps", worker.steps},
              {"samples", worker.samples_committed},
              {"accepted", worker.accepted},
              {"dropped", worker.dropped},
              {"overflows", worker.overflows},
              {"lossScale", worker.loss_scale},
              {"staleness", worker.staleness},
              {"batchSize", worker.batch_size},
              {"pushedBytes", worker.traffic.pushed_bytes},
              {"pulledBytes", worker.traffic.pulled_bytes},
              {"loss", Number(worker.loss)},
              {"computeShare", share(compute)},
              {"waitShare", share(wait)},
              {"communicationShare", share(communication)},
              {"injectedShare", share(ToSeconds(worker.total.injected))},
              {"computeSecondsP50", pace.compute_seconds_p50},
              {"slowdownPercent", pace.slowdown_percent},
              {"isStraggler", pace.is_straggler},
              {"doing", worker.is_member ? coordination::ToString(worker.doing) : "gone"},
              {"expulsions", worker.expulsions}};
  if (worker.quarantine) one["quarantine"] = QuarantineJson(*worker.quarantine);
  return one;
}

// What there is none of is left out.
json CheckpointJson(const Progress& progress) {
  const coordination::Status& status = progress.status;
  json checkpoint = {{"problem", status.checkpoint_problem}, {"note", progress.checkpoint_note}};
  if (status.checkpoint_period > Duration::zero()) {
    checkpoint["periodSeconds"] = ToSeconds(status.checkpoint_period);
    checkpoint["costSeconds"] = ToSeconds(status.checkpoint_cost);
  }
  if (status.checkpoint_version) checkpoint["version"] = status.checkpoint_version->value();
  if (status.restored_from) checkpoint["restoredFrom"] = status.restored_from->value();
  if (!progress.checkpoint_completed.empty())
    checkpoint["completionTime"] = progress.checkpoint_completed;
  return checkpoint;
}

json JudgedJson(const coordination::Status& status) {
  const coordination::Judged& judged = status.judged;
  json object = {{"withoutBetter", judged.without_better}, {"rateCuts", judged.cuts}};
  if (judged.best) {
    object["best"] = {{"version", judged.best->version.value()},
                      {"value", Number(judged.best->value)}};
  }
  if (status.kept) object["kept"] = status.kept->value();
  return object;
}

json EvaluationJson(const protocol::Evaluated& evaluation) {
  json metrics = json::object();
  for (const auto& [name, value] : evaluation.metrics) metrics[name] = Number(value);
  return {{"version", evaluation.version.value()},
          {"loss", Number(evaluation.loss)},
          {"accuracy", evaluation.accuracy ? Number(*evaluation.accuracy) : json(nullptr)},
          {"accuracyFrom", evaluation.accuracy_from},
          {"metrics", std::move(metrics)},
          {"samples", evaluation.samples}};
}

json FinishingJson(const coordination::Status& status) {
  json finishing = {{"reason", *status.stop_reason}};
  if (status.model_version) finishing["modelVersion"] = status.model_version->value();
  return finishing;
}

// Of schemes without a step that is waited for: who owes a push.
uint64_t WaitingFor(const Progress& progress) {
  for (const sync::Figure& figure : progress.figures) {
    if (figure.kind == &sync::kWaitingFor) return static_cast<uint64_t>(figure.value);
  }
  return progress.status.waiting_for;
}

// Of the way that a scheme goes which chooses by itself; else empty.
std::string_view WayOf(const Progress& progress) {
  for (const sync::Figure& figure : progress.figures) {
    if (figure.kind == &sync::kAutoAsync) return figure.value > 0 ? "+Async" : "+Barrier";
  }
  return "";
}

// The first ones of what may be many.
json PoisonedJson(const std::vector<coordination::PoisonedSample>& poisoned) {
  json list = json::array();
  for (size_t i = 0; i < std::min(poisoned.size(), kPoisonedMax); ++i) {
    list.push_back({{"sample", poisoned[i].sample},
                    {"epoch", poisoned[i].epoch},
                    {"position", poisoned[i].position}});
    if (poisoned[i].is_drawn) list.back()["drawn"] = true;
  }
  return list;
}

json FiguresJson(const std::vector<sync::Figure>& figures) {
  json list = json::array();
  for (const sync::Figure& figure : figures) {
    json entry = {{"name", figure.kind->name}, {"value", Number(figure.value)}};
    if (!figure.kind->label.empty()) entry[std::string(figure.kind->label)] = figure.label;
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

std::string ProgressJson(const Progress& progress, const JobView& view,
                         const std::optional<coordination::Finished>& finished) {
  const coordination::Status& status = progress.status;
  json job = {
      {"phase", ToString(status.phase)},
      {"step", status.version.value()},
      {"epoch", status.epoch},
      {"epochProgress", status.train_samples > 0 ? static_cast<double>(status.committed_samples) /
                                                       static_cast<double>(status.train_samples)
                                                 : 0.0},
      {"committedSamples", status.committed_samples},
      {"samplesBefore", progress.samples_before},
      {"trainSamples", status.train_samples},
      {"percent", progress.percent},
      {"etaSeconds", progress.eta_seconds ? Number(*progress.eta_seconds) : json(nullptr)},
      {"loss", Number(status.loss)},
      {"trainAccuracy", Number(status.train_accuracy)},
      {"seconds", progress.seconds},
      {"samplesPerSecond", progress.samples_per_second},
      {"stepsPerSecond", progress.steps_per_second},
      {"waitingFor", WaitingFor(progress)},
      {"pushesOwed", status.waiting_for},
      {"nonFinitePushes", status.nonfinite_pushes},
      {"poisonedSamples", status.poisoned.size()},
      {"skippedSamples", status.skipped_samples},
      {"startupWaitsFor", status.startup_waits_for},
      {"generationStart", status.generation.start},
      {"generationCounter", status.generation.counter},
      {"rollBacks", status.roll_backs},
      {"lastRollBack", status.last_roll_back},
      {"lostSteps", status.lost.steps},
      {"lostSeconds", ToSeconds(status.lost.training)},
      {"lastLostSteps", status.last_lost.steps},
      {"lastLostSeconds", ToSeconds(status.last_lost.training)},
      {"rolledBackFrom", status.rolled_back_from.value()},
      {"rolledBackTo", status.rolled_back_to.value()},
      {"frozenParameters", status.frozen_parameters},
      {"leftOutOfModel", view.left_out_of_model},
      {"modelProblem", status.model_problem},
      {"roomProblem", progress.room_problem},
      {"checkpoint", CheckpointJson(progress)}};
  job["standstill"] = progress.standstill;
  job["shardStalled"] = !status.lost_shards.empty() || !status.shard_waits.empty();
  job["lostShards"] = json::array();
  for (const Progress::LostShard& lost : progress.lost_shards) {
    job["lostShards"].push_back({{"rank", lost.rank},
                                 {"reason", lost.reason},
                                 {"seconds", lost.seconds},
                                 {"wasThere", lost.was_there}});
  }
  job["idlePatterns"] = progress.idle_patterns;
  job["chaos"] = view.is_chaos_enabled;
  job["security"] = {{"mtls", job::ToWord(view.mtls)}, {"inUse", view.has_tls}};
  job["sync"] = {{"scheme", view.scheme},
                 {"composition", view.composition + std::string(WayOf(progress))},
                 {"changing", status.is_changing_policy}};
  if (status.evaluation) {
    job["evaluation"] = EvaluationJson(*status.evaluation);
    job["judged"] = JudgedJson(status);
  }
  if (status.stop_reason) job["finishing"] = FinishingJson(status);
  job["scriptsEnded"] = status.have_scripts_ended;
  job["evaluatorGone"] = status.is_evaluator_gone;
  job["targetProblem"] = status.target_problem;
  job["workers"] = json::array();
  for (size_t i = 0; i < status.workers.size(); ++i) {
    const WorkerPace pace = i < progress.paces.size() ? progress.paces[i] : WorkerPace{};
    job["workers"].push_back(WorkerJson(status.workers[i], pace));
  }
  job["poisoned"] = PoisonedJson(status.poisoned);
  job["figures"] = FiguresJson(progress.figures);
  job["epochs"] = json::array();
  for (const auto& epoch : progress.epochs) {
    job["epochs"].push_back({{"epoch", epoch.epoch},
                             {"free", epoch.free},
                             {"leased", epoch.leased},
                             {"accumulated", epoch.accumulated},
                             {"committed", epoch.committed},
                             {"discarded", epoch.discarded},
                             {"skipped", epoch.skipped}});
  }
  if (view.model) {
    job["model"] = {{"sizeBytes", view.model->bytes},
                    {"sha256", view.model->sha256},
                    {"fetched", view.is_model_fetched}};
  }
  if (finished && finished->is_suspended) {
    job["suspended"] = {{"reason", finished->reason}};
  } else if (finished) {
    job["finished"] = {{"success", finished->is_success},
                       {"reason", finished->reason},
                       {"isUnjudged", finished->is_unjudged}};
  }
  return JsonText(job);
}

std::string FinalStateJson(const Progress& progress, const JobView& view,
                           const coordination::Finished& finished) {
  Progress brief = progress;
  brief.status.workers.clear();
  brief.epochs.clear();
  brief.lost_shards.clear();
  coordination::Finished shortened = finished;
  shortened.reason.resize(std::min(shortened.reason.size(), kReasonMax));
  return ProgressJson(brief, view, shortened);
}

}  // namespace paceline::ps

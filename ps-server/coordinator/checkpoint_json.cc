#include "ps-server/coordinator/checkpoint_json.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/base/json_text.h"
#include "ps-server/coordinator/state_field.h"

namespace paceline::ps {
namespace {

using coordination::CheckpointState;
using coordination::LeaseLedger;
using nlohmann::json;
using Intervals = std::vector<std::pair<uint64_t, uint64_t>>;

constexpr uint64_t kFormat = 1;

// JSON has no NaN and no infinity; such a loss is only for display.
json Number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

json TensorJson(const store::TensorSpec& tensor) {
  return {{"name", tensor.name},
          {"shape", tensor.shape},
          {"type", tensor.type == store::DataType::kInt64 ? "I64" : "F32"},
          {"kind", tensor.kind == store::TensorKind::kBuffer ? "buffer" : "parameter"}};
}

store::TensorSpec TensorFrom(const StateField& object) {
  store::TensorSpec tensor{.name = object.At("name").Text(), .shape = {}};
  for (const StateField& size : object.At("shape").Items())
    tensor.shape.push_back(static_cast<int64_t>(size.Whole(std::numeric_limits<int64_t>::max())));
  if (object.At("type").IsSecond("F32", "I64")) tensor.type = store::DataType::kInt64;
  if (object.At("kind").IsSecond("parameter", "buffer")) tensor.kind = store::TensorKind::kBuffer;
  return tensor;
}

json LeasesJson(const LeaseLedger::Saved& saved) {
  json complete = json::array(), open = json::array();
  for (const auto& epoch : saved.complete)
    complete.push_back({{"committed", epoch.committed},
                        {"discarded", epoch.discarded},
                        {"skipped", epoch.skipped}});
  for (const auto& epoch : saved.open) {
    open.push_back({{"epoch", epoch.epoch},
                    {"committed", epoch.committed},
                    {"discarded", epoch.discarded},
                    {"skipped", epoch.skipped}});
  }
  return {{"complete", complete}, {"open", open}};
}

Intervals IntervalsFrom(const StateField& list) {
  Intervals intervals;
  for (const StateField& one : list.Items()) intervals.push_back(one.Pair());
  return intervals;
}

// Checkpoints of before samples could be skipped have no such number.
uint64_t SkippedFrom(const StateField& epoch) {
  const auto skipped = epoch.Find("skipped");
  return skipped ? skipped->Whole() : 0;
}

LeaseLedger::Saved LeasesFrom(const StateField& object) {
  LeaseLedger::Saved saved;
  for (const StateField& epoch : object.At("complete").Items())
    saved.complete.push_back(
        {epoch.At("committed").Whole(), epoch.At("discarded").Whole(), SkippedFrom(epoch)});
  for (const StateField& epoch : object.At("open").Items()) {
    saved.open.push_back({epoch.At("epoch").Whole(), IntervalsFrom(epoch.At("committed")),
                          IntervalsFrom(epoch.At("discarded")), SkippedFrom(epoch)});
  }
  return saved;
}

json WorkersJson(const std::vector<CheckpointState::Worker>& workers) {
  json list = json::array();
  for (const CheckpointState::Worker& worker : workers) {
    list.push_back({{"index", worker.worker.value()},
                    {"steps", worker.steps},
                    {"samples", worker.samples_committed},
                    {"accepted", worker.accepted},
                    {"dropped", worker.dropped}});
  }
  return list;
}

json SeatsJson(const std::vector<coordination::Seats::Given>& seats) {
  json list = json::array();
  for (const auto& [worker, seat] : seats)
    list.push_back({{"worker", worker.value()}, {"group", seat.group}, {"index", seat.index}});
  return list;
}

std::vector<coordination::Seats::Given> SeatsFrom(const StateField& list) {
  std::vector<coordination::Seats::Given> seats;
  for (const StateField& one : list.Items()) {
    seats.push_back(
        {WorkerId(one.At("worker").Whole()), {one.At("group").Text(), one.At("index").Whole()}});
  }
  return seats;
}

CheckpointState::Worker WorkerFrom(const StateField& object) {
  return {.worker = WorkerId(object.At("index").Whole()),
          .steps = object.At("steps").Whole(),
          .samples_committed = object.At("samples").Whole(),
          .accepted = object.At("accepted").Whole(),
          .dropped = object.At("dropped").Whole()};
}

json EvaluationJson(const std::optional<protocol::Evaluated>& evaluation) {
  if (!evaluation) return nullptr;
  json metrics = json::object();
  for (const auto& [name, value] : evaluation->metrics) metrics[name] = Number(value);
  return {{"version", evaluation->version.value()},
          {"loss", Number(evaluation->loss)},
          {"accuracy", evaluation->accuracy ? Number(*evaluation->accuracy) : json(nullptr)},
          {"accuracyFrom", evaluation->accuracy_from},
          {"metrics", std::move(metrics)},
          {"samples", evaluation->samples}};
}

// What a script's own evaluation said may be any number.
protocol::Evaluated EvaluationFrom(const StateField& object) {
  protocol::Evaluated evaluated{.version = Version(object.At("version").Whole()),
                                .loss = object.At("loss").NumberOrNone(),
                                .samples = object.At("samples").Whole()};
  if (const auto accuracy = object.Find("accuracy")) evaluated.accuracy = accuracy->Number();
  if (const auto from = object.Find("accuracyFrom")) evaluated.accuracy_from = from->Text();
  if (const auto metrics = object.Find("metrics")) {
    for (const auto& [name, metric] : metrics->Members())
      evaluated.metrics[name] = metric.NumberOrNone();
  }
  return evaluated;
}

json JudgedJson(const coordination::Judged& judged) {
  json object = {{"withoutBetter", judged.without_better},
                 {"withoutBetterOrCut", judged.without_better_or_cut},
                 {"cuts", judged.cuts}};
  if (judged.best)
    object["best"] = {{"version", judged.best->version.value()}, {"value", judged.best->value}};
  return object;
}

coordination::Judged JudgedFrom(const StateField& object) {
  coordination::Judged judged;
  if (const auto best = object.Find("best"))
    judged.best =
        coordination::Best{Version(best->At("version").Whole()), best->At("value").Number()};
  judged.without_better = object.At("withoutBetter").Count();
  judged.without_better_or_cut = object.At("withoutBetterOrCut").Count();
  judged.cuts = object.At("cuts").Count();
  return judged;
}

// What is multiplied onto the learning rate after roll backs, each of which takes some of it away.
double ScaleFrom(const StateField& scale) {
  const double number = scale.Number();
  if (number <= 0) scale.Refuse("more than 0");
  if (number > 1) scale.Refuse("at most 1");
  return number;
}

coordination::CourseThen CourseFrom(const StateField& course) {
  const double base_rate = course.At("baseRate").Number();
  if (base_rate < 0) course.At("baseRate").Refuse("at least 0");
  return {course.At("epochsMax").Whole(), course.At("stepsMax").Whole(), base_rate};
}

// Policies save text of any bytes.
std::string Hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

StatusOr<std::string> FromHex(std::string_view text) {
  std::string bytes;
  for (size_t at = 0; at < text.size(); at += 2) {
    const std::string digits(text.substr(at, 2));
    if (digits.find_first_not_of("0123456789abcdef") != std::string::npos || digits.size() != 2)
      return DataLoss("policy is not written in hexadecimal digits");
    bytes += static_cast<char>(std::stoi(digits, nullptr, 16));
  }
  return bytes;
}

StatusOr<CheckpointState> Read(const StateField& object) {
  const uint64_t format = object.At("format").Whole();
  if (format > kFormat)
    return Unimplemented("it has format {}, this version reads {}", format, kFormat);
  if (format != kFormat) return DataLoss("format is {}, want {}", format, kFormat);
  CheckpointState state;
  state.version = Version(object.At("version").Whole());
  state.seed = object.At("seed").Whole();
  state.train_samples = object.At("trainSamples").Whole(std::numeric_limits<uint64_t>::max(), 1);
  std::vector<store::TensorSpec> tensors;
  for (const StateField& tensor : object.At("layout").Items())
    tensors.push_back(TensorFrom(tensor));
  PACELINE_ASSIGN_OR_RETURN(state.layout, store::Layout::Create(tensors));
  if (const auto frozen = object.Find("frozen")) {
    state.frozen.emplace();
    for (const StateField& one : frozen->Items())
      state.frozen->push_back(
          {one.At("name").Text(), one.At("type").Text(), one.At("digest").Text()});
  }
  state.leases = LeasesFrom(object.At("leases"));
  state.committed_samples = object.At("committedSamples").Whole();
  state.loss = object.At("loss").NumberOrNone();
  state.train_accuracy = object.At("trainAccuracy").NumberOrNone();
  state.nonfinite_pushes = object.At("nonFinitePushes").Whole();
  if (const auto evaluation = object.Find("evaluation"))
    state.evaluation = EvaluationFrom(*evaluation);
  if (const auto judged = object.Find("judged")) state.judged = JudgedFrom(*judged);
  if (const auto measure = object.Find("measure")) {
    state.measure =
        coordination::Measure{measure->At("metric").Text(), measure->At("isHigherBetter").Truth()};
  }
  if (const auto kept = object.Find("kept")) state.kept = EvaluationFrom(*kept);
  if (state.kept.has_value() && state.kept->version > state.version)
    return DataLoss("kept is {}, want no newer version than {}", state.kept->version,
                    state.version);
  for (const StateField& worker : object.At("workers").Items())
    state.workers.push_back(WorkerFrom(worker));
  if (const auto seats = object.Find("seats")) state.seats = SeatsFrom(*seats);
  const StateField damping = object.At("damping");
  state.damping = {damping.At("rollBacks").Count(), ScaleFrom(damping.At("learningRateScale"))};
  if (const auto course = object.Find("course")) state.course = CourseFrom(*course);
  PACELINE_ASSIGN_OR_RETURN(state.policy, FromHex(object.At("policy").Text()));
  PACELINE_RETURN_IF_ERROR(LeaseLedger::Restore({state.train_samples, 0}, state.leases).status());
  return state;
}

}  // namespace

std::string CheckpointStateJson(const CheckpointState& state) {
  json layout = json::array();
  for (const store::TensorPlace& place : state.layout.tensors())
    layout.push_back(TensorJson(place.spec));
  json object = {{"format", kFormat},
                 {"version", state.version.value()},
                 {"seed", state.seed},
                 {"trainSamples", state.train_samples},
                 {"layout", layout},
                 {"leases", LeasesJson(state.leases)},
                 {"committedSamples", state.committed_samples},
                 {"loss", Number(state.loss)},
                 {"trainAccuracy", Number(state.train_accuracy)},
                 {"nonFinitePushes", state.nonfinite_pushes},
                 {"evaluation", EvaluationJson(state.evaluation)},
                 {"workers", WorkersJson(state.workers)},
                 {"damping",
                  {{"rollBacks", state.damping.roll_backs},
                   {"learningRateScale", state.damping.learning_rate_scale}}},
                 {"policy", Hex(state.policy)}};
  if (state.judged != coordination::Judged()) object["judged"] = JudgedJson(state.judged);
  if (state.measure) {
    object["measure"] = {{"metric", state.measure->metric},
                         {"isHigherBetter", state.measure->is_higher_better}};
  }
  if (state.kept) object["kept"] = EvaluationJson(state.kept);
  if (state.frozen) {
    object["frozen"] = json::array();
    for (const protocol::FrozenTensor& one : *state.frozen)
      object["frozen"].push_back({{"name", one.name}, {"type", one.type}, {"digest", one.digest}});
  }
  if (!state.seats.empty()) object["seats"] = SeatsJson(state.seats);
  if (state.course) {
    object["course"] = {{"epochsMax", state.course->epochs_max},
                        {"stepsMax", state.course->steps_max},
                        {"baseRate", state.course->base_rate}};
  }
  return JsonText(object, 1) + "\n";
}

StatusOr<CheckpointState> ParseCheckpointState(std::string_view text) {
  try {
    const json object = JsonFrom(text);
    StatusOr<CheckpointState> state = Read(StateField(object, ""));
    if (state.status().code() == StatusCode::kUnimplemented) return state;
    if (!state.ok()) return DataLoss("{}", Message(state.status()));
    return state;
  } catch (const WrongField& error) {
    return DataLoss("{}", error.what());
  } catch (const json::exception& error) {
    return DataLoss("{}", error.what());
  }
}

}  // namespace paceline::ps

#include "ps-server/coordinator/checkpoint_json.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/base/json_text.h"

namespace paceline::ps {
namespace {

using coordination::CheckpointState;
using coordination::LeaseLedger;
using nlohmann::json;
using Intervals = std::vector<std::pair<uint64_t, uint64_t>>;

constexpr int kFormat = 1;

// JSON has no NaN and no infinity; such a loss is only for display.
json Number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }
double NumberFrom(const json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

json TensorJson(const store::TensorSpec& tensor) {
  return {{"name", tensor.name},
          {"shape", tensor.shape},
          {"type", tensor.type == store::DataType::kInt64 ? "I64" : "F32"},
          {"kind", tensor.kind == store::TensorKind::kBuffer ? "buffer" : "parameter"}};
}

store::TensorSpec TensorFrom(const json& object) {
  return {.name = object.at("name").get<std::string>(),
          .shape = object.at("shape").get<std::vector<int64_t>>(),
          .type = object.at("type") == "I64" ? store::DataType::kInt64 : store::DataType::kFloat32,
          .kind = object.at("kind") == "buffer" ? store::TensorKind::kBuffer
                                                : store::TensorKind::kParameter};
}

json LeasesJson(const LeaseLedger::Saved& saved) {
  json complete = json::array(), open = json::array();
  for (const auto& epoch : saved.complete)
    complete.push_back({{"committed", epoch.committed}, {"discarded", epoch.discarded}});
  for (const auto& epoch : saved.open) {
    open.push_back(
        {{"epoch", epoch.epoch}, {"committed", epoch.committed}, {"discarded", epoch.discarded}});
  }
  return {{"complete", complete}, {"open", open}};
}

LeaseLedger::Saved LeasesFrom(const json& object) {
  LeaseLedger::Saved saved;
  for (const json& epoch : object.at("complete")) {
    saved.complete.push_back(
        {epoch.at("committed").get<uint64_t>(), epoch.at("discarded").get<uint64_t>()});
  }
  for (const json& epoch : object.at("open")) {
    saved.open.push_back({epoch.at("epoch").get<uint64_t>(), epoch.at("committed").get<Intervals>(),
                          epoch.at("discarded").get<Intervals>()});
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

std::vector<coordination::Seats::Given> SeatsFrom(const json& list) {
  std::vector<coordination::Seats::Given> seats;
  for (const json& one : list) {
    seats.push_back({WorkerId(one.at("worker").get<uint64_t>()),
                     {one.at("group").get<std::string>(), one.at("index").get<uint64_t>()}});
  }
  return seats;
}

CheckpointState::Worker WorkerFrom(const json& object) {
  return {.worker = WorkerId(object.at("index").get<uint64_t>()),
          .steps = object.at("steps").get<uint64_t>(),
          .samples_committed = object.at("samples").get<uint64_t>(),
          .accepted = object.at("accepted").get<uint64_t>(),
          .dropped = object.at("dropped").get<uint64_t>()};
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

std::optional<protocol::Evaluated> EvaluationFrom(const json& value) {
  if (value.is_null()) return std::nullopt;
  protocol::Evaluated evaluated{.version = Version(value.at("version").get<uint64_t>()),
                                .loss = NumberFrom(value.at("loss")),
                                .samples = value.at("samples").get<uint64_t>(),
                                .accuracy_from = value.value("accuracyFrom", "")};
  if (!value.at("accuracy").is_null()) evaluated.accuracy = NumberFrom(value.at("accuracy"));
  const json metrics = value.value("metrics", json::object());
  for (const auto& [name, metric] : metrics.items()) evaluated.metrics[name] = NumberFrom(metric);
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

coordination::Judged JudgedFrom(const json& object) {
  coordination::Judged judged;
  if (const auto best = object.find("best"); best != object.end()) {
    judged.best = coordination::Best{Version(best->at("version").get<uint64_t>()),
                                     best->at("value").get<double>()};
  }
  judged.without_better = object.at("withoutBetter").get<uint32_t>();
  judged.without_better_or_cut = object.at("withoutBetterOrCut").get<uint32_t>();
  judged.cuts = object.at("cuts").get<uint32_t>();
  return judged;
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

StatusOr<CheckpointState> Read(const json& object) {
  if (object.at("format").get<int>() != kFormat)
    return DataLoss("format is {}, want {}", JsonText(object.at("format")), kFormat);
  CheckpointState state;
  state.version = Version(object.at("version").get<uint64_t>());
  state.seed = object.at("seed").get<uint64_t>();
  state.train_samples = object.at("trainSamples").get<uint64_t>();
  std::vector<store::TensorSpec> tensors;
  for (const json& tensor : object.at("layout")) tensors.push_back(TensorFrom(tensor));
  PACELINE_ASSIGN_OR_RETURN(state.layout, store::Layout::Create(tensors));
  state.leases = LeasesFrom(object.at("leases"));
  state.committed_samples = object.at("committedSamples").get<uint64_t>();
  state.loss = NumberFrom(object.at("loss"));
  state.train_accuracy = NumberFrom(object.at("trainAccuracy"));
  state.nonfinite_pushes = object.at("nonFinitePushes").get<uint64_t>();
  state.evaluation = EvaluationFrom(object.at("evaluation"));
  if (const auto judged = object.find("judged"); judged != object.end())
    state.judged = JudgedFrom(*judged);
  if (const auto measure = object.find("measure"); measure != object.end()) {
    state.measure = coordination::Measure{measure->at("metric").get<std::string>(),
                                          measure->at("isHigherBetter").get<bool>()};
  }
  state.kept = EvaluationFrom(object.value("kept", json(nullptr)));
  if (state.kept.has_value() && state.kept->version > state.version)
    return DataLoss("kept is {}, want no newer version than {}", state.kept->version,
                    state.version);
  for (const json& worker : object.at("workers")) state.workers.push_back(WorkerFrom(worker));
  state.seats = SeatsFrom(object.value("seats", json::array()));
  state.damping = {object.at("damping").at("rollBacks").get<uint32_t>(),
                   object.at("damping").at("learningRateScale").get<double>()};
  if (const auto course = object.find("course"); course != object.end()) {
    state.course = {course->at("epochsMax").get<uint64_t>(), course->at("stepsMax").get<uint64_t>(),
                    course->at("baseRate").get<double>()};
  }
  PACELINE_ASSIGN_OR_RETURN(state.policy, FromHex(object.at("policy").get<std::string>()));
  if (state.train_samples == 0) return DataLoss("trainSamples must be above 0: got 0");
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
    StatusOr<CheckpointState> state = Read(JsonFrom(text));
    if (!state.ok()) return DataLoss("{}", Message(state.status()));
    return state;
  } catch (const json::exception& error) {
    return DataLoss("{}", error.what());
  }
}

}  // namespace paceline::ps

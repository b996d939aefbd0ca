#include "cli/local/display/live_state.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/json_text.h"

namespace paceline::local {
namespace {

using nlohmann::json;

std::optional<double> Number(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

LiveWorker ParseWorker(const json& object) {
  return {.group = object.value("group", "worker"),
          .index = object.at("index").get<uint64_t>(),
          .is_member = object.at("isMember").get<bool>(),
          .is_draining = object.value("isDraining", false),
          .device = object.value("device", ""),
          .threads = object.value("threads", uint64_t{0}),
          .steps = object.at("steps").get<uint64_t>(),
          .samples = object.at("samples").get<uint64_t>(),
          .batch_size = object.value("batchSize", uint64_t{0}),
          .transferred_bytes =
              object.value("pushedBytes", uint64_t{0}) + object.value("pulledBytes", uint64_t{0}),
          .compute_share = object.at("computeShare").get<double>(),
          .wait_share = object.at("waitShare").get<double>(),
          .communication_share = object.at("communicationShare").get<double>(),
          .expulsions = object.value("expulsions", uint64_t{0}),
          .overflows = object.value("overflows", uint64_t{0}),
          .loss_scale = object.value("lossScale", 0.0),
          .injected_share = object.value("injectedShare", 0.0)};
}

LiveState Parse(const json& object) {
  LiveState state;
  state.phase = object.at("phase").get<std::string>();
  state.startup_waits_for = object.value("startupWaitsFor", "");
  state.standstill = object.value("standstill", "");
  if (const auto sync = object.find("sync"); sync != object.end()) {
    state.scheme = sync->value("scheme", "");
    state.is_changing_scheme = sync->value("changing", false);
  }
  state.is_chaos_enabled = object.value("chaos", false);
  state.step = object.at("step").get<uint64_t>();
  state.epochs = object.at("epochProgress").get<double>();
  state.percent = object.at("percent").get<double>();
  state.eta_seconds = Number(object, "etaSeconds");
  state.loss = Number(object, "loss");
  state.seconds = object.at("seconds").get<double>();
  state.samples_per_second = object.at("samplesPerSecond").get<double>();
  state.committed_samples = object.at("committedSamples").get<uint64_t>();
  state.nonfinite_pushes = object.at("nonFinitePushes").get<uint64_t>();
  state.skipped_samples = object.value("skippedSamples", uint64_t{0});
  state.poisoned_samples = object.value("poisonedSamples", uint64_t{0});
  for (const json& one : object.value("poisoned", json::array()))
    state.poisoned.push_back(one.value("drawn", false)
                                 ? fmt::format("position {} of epoch {}",
                                               one.value("position", uint64_t{0}),
                                               one.value("epoch", uint64_t{0}))
                                 : std::to_string(one.at("sample").get<uint64_t>()));
  state.samples_before = object.at("samplesBefore").get<uint64_t>();
  state.roll_backs = object.at("rollBacks").get<uint64_t>();
  state.last_roll_back = object.at("lastRollBack").get<std::string>();
  state.left_out_of_model = object.value("leftOutOfModel", uint64_t{0});
  state.model_problem = object.value("modelProblem", "");
  state.room_problem = object.value("roomProblem", "");
  const json& checkpoint = object.at("checkpoint");
  if (const auto version = checkpoint.find("version"); version != checkpoint.end())
    state.checkpoint_version = version->get<uint64_t>();
  state.checkpoint_problem = checkpoint.at("problem").get<std::string>();
  state.checkpoint_note = checkpoint.at("note").get<std::string>();
  if (const auto evaluation = object.find("evaluation"); evaluation != object.end()) {
    state.accuracy = Number(*evaluation, "accuracy");
    state.evaluation_loss = Number(*evaluation, "loss");
    state.evaluation_version = evaluation->at("version").get<uint64_t>();
    const json metrics = evaluation->value("metrics", json::object());
    for (const auto& [name, value] : metrics.items()) {
      if (value.is_number()) state.evaluation_metrics[name] = value.get<double>();
    }
  }
  for (const json& worker : object.at("workers")) state.workers.push_back(ParseWorker(worker));
  if (const auto finishing = object.find("finishing"); finishing != object.end()) {
    state.finishing = LiveFinishing{finishing->at("reason").get<std::string>(), {}};
    if (finishing->contains("modelVersion"))
      state.finishing->model_version = finishing->at("modelVersion").get<uint64_t>();
  }
  if (const auto finished = object.find("finished"); finished != object.end()) {
    state.finished =
        LiveFinish{finished->at("success").get<bool>(), finished->at("reason").get<std::string>()};
  }
  if (const auto suspended = object.find("suspended"); suspended != object.end())
    state.suspended = suspended->at("reason").get<std::string>();
  return state;
}

}  // namespace

std::string LiveWorker::name() const {
  return group == "worker" ? std::to_string(index) : fmt::format("{}/{}", group, index);
}

double InjectedShare(const LiveState& state) {
  double sum = 0;
  for (const LiveWorker& worker : state.workers) sum += worker.injected_share;
  return state.workers.empty() ? 0 : sum / static_cast<double>(state.workers.size());
}

StatusOr<LiveState> ParseLiveState(std::string_view text) {
  try {
    return Parse(JsonFrom(text));
  } catch (const json::exception& error) {
    return InvalidArgument("not a job's state: {}", error.what());
  }
}

}  // namespace paceline::local

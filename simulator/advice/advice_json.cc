#include <nlohmann/json.hpp>

#include "simulator/advice/advice_text.h"

namespace paceline::simulator {
namespace {

using Json = nlohmann::ordered_json;

Json JsonOf(const Figures& figures) {
  Json json = {{"seconds", figures.seconds},
               {"step_seconds", figures.step_seconds},
               {"failed", figures.failed},
               {"speed", nullptr}};
  if (figures.gain) {
    json["speed"] = {
        {"low", figures.gain->low}, {"median", figures.gain->median}, {"high", figures.gain->high}};
  }
  return json;
}

Json JsonOf(const ArmAdvice& arm) {
  Json equal = JsonOf(arm.equal), best = JsonOf(arm.best);
  best["rate_factor"] = arm.factor;
  return {{"arm", arm.name},
          {"sync", arm.lines.empty() ? Json(nullptr) : Json(InOneLine(arm.lines))},
          {"recorded", arm.is_recorded},
          {"risky", arm.is_risky},
          {"equal_rates", std::move(equal)},
          {"best_rates", std::move(best)}};
}

}  // namespace

std::string AdviceJson(const Report& report) {
  Json arms = Json::array(), left_out = Json::array();
  for (const ArmAdvice& arm : report.advice.arms) arms.push_back(JsonOf(arm));
  for (const LeftOut& one : report.left_out)
    left_out.push_back({{"arm", one.name}, {"reason", one.reason}});
  Json json = {{"source", report.source},
               {"policy", report.recording.policy},
               {"versions", report.recording.versions},
               {"seconds", report.recording.seconds},
               {"workers", report.cluster.workers.size()},
               {"seeds", report.seeds},
               {"optimizer", report.setting.optimizer},
               {"momentum", report.setting.momentum},
               {"learning_rate", report.setting.rate},
               {"simulated_learning_rate", report.setting.simulated_rate},
               {"best", nullptr},
               {"sync", nullptr},
               {"as_good", report.advice.as_good},
               {"arms", std::move(arms)},
               {"left_out", std::move(left_out)}};
  if (report.advice.best) {
    const ArmAdvice& best = report.advice.arms[*report.advice.best];
    json["best"] = best.name;
    json["sync"] = InOneLine(best.lines);
  }
  return json.dump() + "\n";
}

}  // namespace paceline::simulator

#include <nlohmann/json.hpp>

#include "lib/base/json_text.h"
#include "simulator/advice/advice_text.h"

namespace paceline::simulator {
namespace {

using Json = nlohmann::ordered_json;

Json JsonOf(const std::optional<Gain>& gain) {
  if (!gain) return nullptr;
  return {{"low", gain->low}, {"median", gain->median}, {"high", gain->high}};
}

Json JsonOf(const Figures& figures) {
  return {{"seconds", figures.seconds},
          {"step_seconds", figures.step_seconds},
          {"failed", figures.failed},
          {"speed", JsonOf(figures.gain)}};
}

Json JsonOf(const ArmAdvice& arm) {
  Json equal = JsonOf(arm.equal), best = JsonOf(arm.best);
  best["rate_factor"] = arm.factor;
  return {{"arm", arm.name},
          {"sync", arm.lines.empty() ? Json(nullptr) : Json(InOneLine(arm.lines))},
          {"recorded", arm.is_recorded},
          {"risky", arm.is_risky},
          {"equal_rates", std::move(equal)},
          {"best_rates", std::move(best)},
          {"still_speed", JsonOf(arm.still)}};
}

Json JsonOf(const std::vector<ArmAdvice>& arms) {
  Json json = Json::array();
  for (const ArmAdvice& arm : arms) json.push_back(JsonOf(arm));
  return json;
}

Json JsonOf(const std::vector<LeftOut>& left_out) {
  Json json = Json::array();
  for (const LeftOut& one : left_out) json.push_back({{"arm", one.name}, {"reason", one.reason}});
  return json;
}

Json JsonOf(const OnModel& model) {
  return {{"name", model.setting.name},
          {"until", model.setting.until},
          {"learning_rate", model.setting.rate},
          {"look_seconds", model.look_seconds},
          {"seeds", model.seeds},
          {"not_simulated", model.setting.not_simulated},
          {"arms", JsonOf(model.advice.arms)},
          {"left_out", JsonOf(model.left_out)}};
}

}  // namespace

std::string AdviceJson(const Report& report) {
  const Advice& verdict = report.verdict();
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
               {"judged_on", report.on_model ? "model" : "objective"},
               {"best", nullptr},
               {"sync", nullptr},
               {"as_good", verdict.as_good},
               {"on_one_machine", report.still.has_value()},
               {"refused", nullptr},
               {"arms", JsonOf(report.advice.arms)},
               {"left_out", JsonOf(report.left_out)},
               {"model", nullptr},
               {"why_no_model", nullptr}};
  if (report.on_model) {
    json["model"] = JsonOf(*report.on_model);
  } else {
    json["why_no_model"] = report.why_no_model;
  }
  if (const ArmAdvice* const refused = report.Refused()) {
    json["refused"] = {{"arm", refused->name},
                       {"speed", JsonOf(refused->SureGain())},
                       {"still_speed", JsonOf(refused->still)}};
  }
  if (verdict.best) {
    const ArmAdvice& best = verdict.arms[*verdict.best];
    json["best"] = best.name;
    json["sync"] = InOneLine(best.lines);
  }
  return JsonText(json) + "\n";
}

}  // namespace paceline::simulator

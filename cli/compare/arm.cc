#include "cli/compare/arm.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace paceline::compare {
namespace {

struct Word {
  std::string_view name;
  std::string_view scheme;
  std::string_view knob;       // Field that the text behind the colon replaces; empty: none.
  std::string_view knob_name;  // For people.
  // Words that may stand behind the colon instead of a number, with the field's value for each;
  // the first is what the bare name means.
  std::array<std::pair<std::string_view, std::string_view>, 3> choices = {};
};

constexpr std::string_view kBatching = "batchSizing.strategy";

constexpr Word kWords[] = {
    {"bsp", "BSP", "", "", {}},
    {"ssp", "SSP", "ssp.staleness", "STALENESS", {}},
    {"asp", "ASP", "", "", {}},
    {"backup", "BackupWorkers", "backupWorkers.count", "COUNT", {}},
    {"dbw",
     "DBW",
     "dbw.method",
     "gain|blind|adasync",
     {{{"gain", "Gain"}, {"blind", "Blind"}, {"adasync", "AdaSync"}}}},
    {"lbbsp",
     "BSP",
     kBatching,
     "narx|ema|stepwise",
     {{{"narx", "NARX"}, {"ema", "EMA"}, {"stepwise", "Stepwise"}}}},
    {"wbsp", "WBSP", "wbsp.overlap", "overlap", {{{"", "false"}, {"overlap", "true"}, {}}}},
    {"psplus", "PSPlus", "psPlus.staleness", "STALENESS", {}},
};

constexpr std::pair<std::string_view, std::string_view> kStrategies[] = {
    {"ema", "EMA"}, {"narx", "NARX"}, {"stepwise", "Stepwise"}};

std::string Set(std::string_view field, std::string_view value) {
  return fmt::format("spec.sync.{}={}", field, value);
}

// What stands before the first `separator`; `rest` gets what stands behind it, if there is one.
std::string_view Cut(std::string_view text, char separator, std::optional<std::string_view>& rest) {
  const size_t at = text.find(separator);
  if (at == std::string_view::npos) return text;
  rest = text.substr(at + 1);
  return text.substr(0, at);
}

bool HasChoices(const Word& word) { return !word.choices[0].second.empty(); }

StatusOr<std::string_view> Choose(const Word& word, std::string_view arm, std::string_view asked) {
  for (const auto& [name, value] : word.choices) {
    if (!value.empty() && name == asked) return value;
  }
  return InvalidArgument("arm {}: must be {}[:{}]", std::string(arm), word.name, word.knob_name);
}

StatusOr<Arm> ParseArm(std::string_view text) {
  std::optional<std::string_view> strategy;
  std::optional<std::string_view> knob;
  const std::string_view name = Cut(Cut(text, '+', strategy), ':', knob);
  const auto* const word = std::ranges::find(kWords, name, &Word::name);
  if (word == std::end(kWords)) {
    return InvalidArgument("no such arm: \"{}\"; want some of {}", std::string(text), ArmWords());
  }
  Arm arm{.name = std::string(text), .overrides = {Set("scheme", word->scheme)}};
  // What the manifest says of batches is for its own scheme; an arm is what its name says.
  if (word->knob != kBatching && !strategy) arm.overrides.push_back(Set(kBatching, "Equal"));
  if (HasChoices(*word)) {
    const std::string_view usual = word->choices[0].first;
    PACELINE_ASSIGN_OR_RETURN(const std::string_view value,
                              Choose(*word, text, knob.value_or(usual)));
    arm.overrides.push_back(Set(word->knob, value));
  } else if (knob) {
    if (word->knob.empty() || knob->empty())
      return InvalidArgument("arm {}: must be {}", std::string(text), ArmWords());
    arm.overrides.push_back(Set(word->knob, *knob));
  }
  if (strategy) {
    const auto* const found =
        std::ranges::find(kStrategies, *strategy, [](const auto& pair) { return pair.first; });
    if (found == std::end(kStrategies) || word->knob == kBatching) {
      return InvalidArgument("arm {}: behind + must stand ema, narx or stepwise, once",
                             std::string(text));
    }
    arm.overrides.push_back(Set(kBatching, found->second));
  }
  return arm;
}

}  // namespace

std::string ArmWords() {
  std::vector<std::string> words;
  for (const Word& word : kWords) {
    words.push_back(word.knob.empty() ? std::string(word.name)
                                      : fmt::format("{}[:{}]", word.name, word.knob_name));
  }
  return fmt::format("{}; any with +ema, +narx or +stepwise", fmt::join(words, ", "));
}

StatusOr<std::vector<Arm>> ParseArms(std::string_view text) {
  std::vector<Arm> arms;
  std::optional<std::string_view> rest = text;
  while (rest) {
    const std::string_view all = *rest;
    rest.reset();
    PACELINE_ASSIGN_OR_RETURN(Arm arm, ParseArm(Cut(all, ',', rest)));
    if (std::ranges::find(arms, arm.name, &Arm::name) != arms.end())
      return InvalidArgument("arm {} comes twice", arm.name);
    arms.push_back(std::move(arm));
  }
  return arms;
}

}  // namespace paceline::compare

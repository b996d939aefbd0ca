#include "lib/compare/arm.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/lower_case.h"
#include "lib/sync/schemes/presets.h"

namespace paceline::compare {
namespace {

struct Word {
  std::string_view name;
  std::string_view scheme;
  std::string_view knob;       // Field that the text behind the colon replaces; empty: none.
  std::string_view knob_name;  // For people.
  // Words that may stand behind the colon instead of a number, with the field's value for each;
  // the first is what the bare name means.
  std::array<std::pair<std::string_view, std::string_view>, 5> choices = {};
};

constexpr std::string_view kBatching = "batchSizing.strategy";
constexpr std::string_view kPrecision = "training.precision";  // The only one outside spec.sync.

constexpr Word kWords[] = {
    {"bsp", "BSP", "", "", {}},
    {"ssp", "SSP", "ssp.staleness", "STALENESS", {}},
    {"asp", "ASP", "", "", {}},
    {"backup", "BackupWorkers", "backupWorkers.count", "COUNT", {}},
    {"dbw",
     "DBW",
     "dbw.method",
     "gain|blind|adasync|noisescale|star",
     {{{"gain", "Gain"},
       {"blind", "Blind"},
       {"adasync", "AdaSync"},
       {"noisescale", "NoiseScale"},
       {"star", "STAR"}}}},
    {"lbbsp",
     "BSP",
     kBatching,
     "narx|ema|stepwise",
     {{{"narx", "NARX"}, {"ema", "EMA"}, {"stepwise", "Stepwise"}}}},
    {"wbsp", "WBSP", "wbsp.overlap", "overlap", {{{"", "false"}, {"overlap", "true"}, {}}}},
    {"psplus", "PSPlus", "psPlus.staleness", "STALENESS", {}},
};

// Behind a plus: a part of the scheme that is to be another.
struct Part {
  std::string_view name;
  std::string_view field;
  std::string_view value;
};

constexpr Part kParts[] = {
    {"ema", kBatching, "EMA"},
    {"narx", kBatching, "NARX"},
    {"stepwise", kBatching, "Stepwise"},
    {"goon", "meanwhile", "GoOn"},
    {"local", "meanwhile", "LocalSteps"},
    {"eager", "meanwhile", "EagerPull"},
    {"weigh", "late", "Weigh"},
    {"interrupt", "lateWorker", "Interrupt"},
    {"staleness", "modulation.rule", "Staleness"},
    {"bfloat16", kPrecision, "BFloat16"},
    {"float16", kPrecision, "Float16"},
};

// What a manifest says of parts is for its own scheme; an arm is what its name says.
constexpr std::string_view kPartFields[] = {"quorum",    "reach",      "late",
                                            "staleness", "meanwhile",  "modulation",
                                            "outer",     "lateWorker", "updateScale"};

std::string Set(std::string_view field, std::string_view value) {
  return fmt::format("spec.{}{}={}", field == kPrecision ? "" : "sync.", field, value);
}

// What stands before the first `separator`; `rest` gets what stands behind it, if there is one.
std::string_view Cut(std::string_view text, char separator, std::optional<std::string_view>& rest) {
  const size_t at = text.find(separator);
  if (at == std::string_view::npos) return text;
  rest = text.substr(at + 1);
  return text.substr(0, at);
}

bool HasChoices(const Word& word) { return !word.choices[0].second.empty(); }

std::string PartWords() {
  std::vector<std::string_view> words;
  for (const Part& part : kParts) words.push_back(part.name);
  return fmt::format("{}", fmt::join(words, ", "));
}

StatusOr<std::string_view> Choose(const Word& word, std::string_view arm, std::string_view asked) {
  for (const auto& [name, value] : word.choices) {
    if (!value.empty() && name == asked) return value;
  }
  return InvalidArgument("arm {}: must be {}[:{}]", std::string(arm), word.name, word.knob_name);
}

// The scheme and its knob, behind the colon.
StatusOr<Arm> SchemeOf(std::string_view text, std::string_view name,
                       std::optional<std::string_view> knob) {
  Arm arm{.name = std::string(text), .overrides = {}};
  for (const std::string_view field : kPartFields) arm.overrides.push_back(Set(field, "null"));
  const auto* const word = std::ranges::find(kWords, name, &Word::name);
  if (word == std::end(kWords)) {
    for (const auto& [scheme, scheme_word] : sync::WordsOf(sync::Scheme{})) {
      if (LowerCase(scheme_word) != name) continue;
      arm.overrides.push_back(Set("scheme", scheme_word));
      arm.overrides.push_back(Set(kBatching, "Equal"));
      if (knob) arm.overrides.push_back(Set("quorum", *knob));
      if (sync::IsKToBeSaid(scheme) == knob.has_value() && knob.value_or("1") != "") return arm;
      return InvalidArgument("arm {}: must be {}{}", std::string(text), name,
                             sync::IsKToBeSaid(scheme) ? ":K" : "");
    }
    return InvalidArgument("no such arm: \"{}\"; want some of {}", std::string(text), ArmWords());
  }
  arm.overrides.push_back(Set("scheme", word->scheme));
  if (word->knob != kBatching) arm.overrides.push_back(Set(kBatching, "Equal"));
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
  return arm;
}

StatusOr<Arm> ParseArm(std::string_view text) {
  std::optional<std::string_view> parts;
  std::optional<std::string_view> knob;
  const std::string_view name = Cut(Cut(text, '+', parts), ':', knob);
  PACELINE_ASSIGN_OR_RETURN(Arm arm, SchemeOf(text, name, knob));
  std::vector<std::string_view> changed;
  if (name == "lbbsp") changed.push_back(kBatching);
  while (parts) {
    const std::string_view all = *parts;
    parts.reset();
    const std::string_view asked = Cut(all, '+', parts);
    const auto* const part = std::ranges::find(kParts, asked, &Part::name);
    if (part == std::end(kParts) || std::ranges::count(changed, part->field) > 0) {
      return InvalidArgument("arm {}: behind + must stand {}, one for each part", std::string(text),
                             PartWords());
    }
    changed.push_back(part->field);
    arm.overrides.push_back(Set(part->field, part->value));
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
  for (const auto& [scheme, word] : sync::WordsOf(sync::Scheme{})) {
    if (std::ranges::count(kWords, word, &Word::scheme) == 0)
      words.push_back(LowerCase(word) + (sync::IsKToBeSaid(scheme) ? ":K" : ""));
  }
  return fmt::format("{}; any with + and {}", fmt::join(words, ", "), PartWords());
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

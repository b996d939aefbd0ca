#include "lib/job/environment.h"

#include <cctype>
#include <cstdint>

#include "lib/base/check.h"

namespace paceline::job {

std::string VariableOf(std::string_view flag) {
  std::string name = "PACELINE_";
  for (const char letter : flag) {
    name += letter == '-' ? '_' : static_cast<char>(std::toupper(letter));
  }
  return name;
}

Environment AsEnvironment(const std::vector<std::string>& arguments) {
  PACELINE_CHECK(arguments.size() % 2 == 0, "{} words are not pairs", arguments.size());
  Environment environment;
  for (size_t i = 0; i < arguments.size(); i += 2) {
    PACELINE_CHECK(arguments[i].starts_with("--"), "{} is no flag", arguments[i]);
    environment.emplace_back(VariableOf(std::string_view(arguments[i]).substr(2)),
                             arguments[i + 1]);
  }
  return environment;
}

Environment ForScripts(int64_t seed) {
  // Python takes 32 bits.
  return {{"PYTHONUNBUFFERED", "1"},
          {"PYTHONHASHSEED", std::to_string(static_cast<uint32_t>(seed))}};
}

}  // namespace paceline::job

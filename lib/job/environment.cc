#include "lib/job/environment.h"

#include <cctype>

#include "lib/base/check.h"

namespace paceline::job {

Environment AsEnvironment(const std::vector<std::string>& arguments) {
  PACELINE_CHECK(arguments.size() % 2 == 0, "{} words are not pairs", arguments.size());
  Environment environment;
  for (size_t i = 0; i < arguments.size(); i += 2) {
    PACELINE_CHECK(arguments[i].starts_with("--"), "{} is no flag", arguments[i]);
    std::string name = arguments[i].substr(2);
    for (char& letter : name) {
      letter = letter == '-' ? '_' : static_cast<char>(std::toupper(letter));
    }
    environment.emplace_back("PACELINE_" + name, arguments[i + 1]);
  }
  return environment;
}

}  // namespace paceline::job

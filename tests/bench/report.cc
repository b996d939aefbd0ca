#include "tests/bench/report.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>

namespace paceline::bench {

double Quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

std::string JsonPathFromEnvironment() {
  const char* const path = std::getenv("JSON");
  return path != nullptr ? path : "";
}

int WriteRows(const nlohmann::ordered_json& rows, const std::string& path) {
  if (path.empty()) return 0;
  std::ofstream file(path);
  file << rows.dump(2) << "\n";
  file.flush();
  if (!file) std::cerr << "cannot write " << path << "\n";
  return file ? 0 : 1;
}

}  // namespace paceline::bench

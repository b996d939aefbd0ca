// Defines what the benches share in reporting: quantiles and the file of rows.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace paceline::bench {

// Of at least one value; `share` in 0..1, between two values the line that joins them.
double Quantile(std::vector<double> values, double share);
inline double Median(std::vector<double> values) { return Quantile(std::move(values), 0.5); }

// What JSON=FILE in the environment names; empty if nothing.
std::string JsonPathFromEnvironment();

// An exit code; nothing is written to an empty path.
int WriteRows(const nlohmann::ordered_json& rows, const std::string& path);

}  // namespace paceline::bench

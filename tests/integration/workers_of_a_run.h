// A run whose workers are found in the middle of a step, and what its state says of each of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace paceline::integration {

// Overrides for DigitsManifest. A step takes each of four workers a tenth of a second; an epoch
// half a second, at least.
std::vector<std::string> SlowSteps(uint64_t epochs);

// Of a state as GET /v1/job has it; null if the worker was never there.
const nlohmann::json* WorkerOf(const nlohmann::json& state, uint64_t index);
uint64_t IncarnationOf(const nlohmann::json& state, uint64_t index);  // 0 if it was never there.
bool IsMember(const nlohmann::json& state, uint64_t index);

}  // namespace paceline::integration

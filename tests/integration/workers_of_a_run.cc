#include "tests/integration/workers_of_a_run.h"

#include <fmt/format.h>

#include "tests/integration/live_run.h"

namespace paceline::integration {

using Json = nlohmann::json;

std::vector<std::string> SlowSteps(uint64_t epochs) {
  return Paced(0.0015, {"spec.training.globalBatchSize=256",
                        fmt::format("spec.training.stop.maxEpochs={}", epochs)});
}

const Json* WorkerOf(const Json& state, uint64_t index) {
  for (const Json& worker : state["workers"]) {
    if (worker["index"] == index) return &worker;
  }
  return nullptr;
}

uint64_t IncarnationOf(const Json& state, uint64_t index) {
  const Json* const worker = WorkerOf(state, index);
  return worker == nullptr ? 0 : (*worker)["incarnation"].get<uint64_t>();
}

bool IsMember(const Json& state, uint64_t index) {
  const Json* const worker = WorkerOf(state, index);
  return worker != nullptr && (*worker)["isMember"].get<bool>();
}

}  // namespace paceline::integration

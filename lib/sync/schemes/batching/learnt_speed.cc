#include "lib/sync/schemes/batching/learnt_speed.h"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/sync/trace/fields.h"

namespace paceline::sync {
namespace {

std::string Numbers(const Scale& scale) {
  return fmt::format("{},{},{}", scale.count, scale.mean, scale.variance);
}

// Fills all of `numbers` from a list with commas; all finite.
template <class Range>
bool ReadNumbers(std::string_view text, Range& numbers) {
  for (double& number : numbers) {
    const size_t end = std::min(text.find(','), text.size());
    if (!ReadValue(text.substr(0, end), number) || !std::isfinite(number)) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return text.empty();
}

bool ReadScale(std::string_view text, Scale& scale) {
  std::array<double, 3> numbers;
  if (!ReadNumbers(text, numbers) || numbers[0] < 0 || numbers[2] < 0) return false;
  scale = {};
  scale.count = numbers[0], scale.mean = numbers[1], scale.variance = numbers[2];
  return true;
}

}  // namespace

std::string FormatLearnt(WorkerId worker, const SpeedPredictor& predictor) {
  std::string line = fmt::format("speed {} mean={}", worker, predictor.mean());
  if (predictor.network() == nullptr) return line;
  if (const auto learnt = predictor.network()->learnt()) {
    line +=
        fmt::format(" log-speed={} cpu={} memory={} weights={}", Numbers(learnt->speed),
                    Numbers(learnt->cpu), Numbers(learnt->memory), fmt::join(learnt->weights, ","));
  }
  return line;
}

StatusOr<LearntSpeed> ParseLearnt(std::string_view line) {
  Fields fields(line);
  LearntSpeed learnt;
  if (!fields.Flag("speed")) fields.Fail("is no learnt speed");
  learnt.worker = fields.Next<WorkerId>("worker");
  learnt.mean = fields.Require<double>("mean");
  if (!std::isfinite(learnt.mean) || learnt.mean <= 0) fields.Fail("mean is not positive");
  std::string text;
  const auto take_scale = [&](std::string_view key, Scale& scale) {
    text = fields.Require<std::string>(key);
    if (!ReadScale(text, scale)) fields.Fail(fmt::format("{} is not valid: {}", key, text));
  };
  if (fields.Take("weights", text)) {
    Narx::Learnt network{};
    if (!ReadNumbers(text, network.weights)) fields.Fail("weights are not valid");
    take_scale("log-speed", network.speed);
    take_scale("cpu", network.cpu);
    take_scale("memory", network.memory);
    learnt.network = network;
  }
  if (const Status wrong = fields.Finish(); !wrong.ok())
    return DataLoss("saved batch sizing cannot be read: {}", Message(wrong));
  return learnt;
}

}  // namespace paceline::sync

#include "simulator/scenario/learning.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

namespace paceline::simulator {
namespace {

using job::Node;

constexpr double kNumberMax = 1e15;
const Bounds kPositive{.above = 0, .max = kNumberMax};
const Bounds kNotNegative{.min = 0, .max = kNumberMax};
const Bounds kSteps{.min = 1, .max = 1e9};

constexpr std::array<std::string_view, 2> kLosses = {"CrossEntropy", "MeanSquaredError"};
constexpr std::array<std::string_view, 4> kQuadratics = {"dimensions", "startLoss", "irreducible",
                                                         "noise"};
constexpr std::array<std::string_view, 3> kModels = {"train", "eval", "loss"};

constexpr std::array<std::string_view, 4> kScheduleWords = {"Constant", "Step", "Cosine", "Linear"};
constexpr std::array<optim::ScheduleKind, 4> kScheduleKinds = {
    optim::ScheduleKind::kConstant, optim::ScheduleKind::kStep, optim::ScheduleKind::kCosine,
    optim::ScheduleKind::kLinear};

FileField TakeFile(Fields& fields, std::string_view name) {
  FileField file;
  const Node* const node = fields.Take(name);
  if (node == nullptr) return file;
  file.line = node->line;
  fields.Take(name, file.path);
  if (node->kind == Node::Kind::kString && file.path.empty())
    fields.Fail(name, "must be the path of a file: got \"\"");
  return file;
}

}  // namespace

void ReadObjective(Fields& fields, Scenario& scenario) {
  QuadraticModel& quadratic = scenario.cluster.objective;
  fields.Take("dimensions", quadratic.dimensions, {.min = 1, .max = 1e6});
  fields.Take("startLoss", quadratic.start_loss, kPositive);
  fields.Take("irreducible", quadratic.irreducible, kNotNegative);
  fields.Take("noise", quadratic.noise, kNotNegative);
  fields.Take("lossEveryPushes", scenario.cluster.loss_every_pushes, {.min = 1, .max = 1e9});
  fields.Take("lossEverySeconds", scenario.cluster.loss_every_seconds, kNotNegative);
  LearntModel model;
  model.model = TakeFile(fields, "model");
  model.train = TakeFile(fields, "train");
  model.eval = TakeFile(fields, "eval");
  size_t loss = kLosses.size();
  fields.Take("loss", kLosses, loss);
  if (loss < kLosses.size()) model.loss = kLosses[loss];
  const bool has_model = fields.Take("model") != nullptr;
  if (has_model) {
    fields.Require("train");
    scenario.model = std::move(model);
  }
  for (const std::string_view name : kQuadratics) {
    if (has_model && fields.Take(name) != nullptr)
      fields.Fail(name, "is of the quadratic, whose place model takes: leave one of them out");
  }
  for (const std::string_view name : kModels) {
    if (!has_model && fields.Take(name) != nullptr)
      fields.Fail(name, fmt::format("is of a model: {} is absent", fields.PathOf("model")));
  }
  fields.Done();
}

void ReadSchedule(Fields& fields, uint32_t global_batch_size, optim::ScheduleOptions& schedule) {
  size_t kind = 0;
  uint64_t every = 0, total = 0;
  fields.Require("kind");
  fields.Take("kind", kScheduleWords, kind);
  fields.Take("warmupSteps", schedule.warmup_steps, {.min = 0, .max = 1e9});
  fields.Take("everySteps", every, kSteps);
  fields.Take("factor", schedule.step_factor, {.above = 0, .max = 1});
  fields.Take("totalSteps", total, kSteps);
  fields.Take("finalFactor", schedule.final_factor, {.min = 0, .max = 1});
  fields.Done();
  schedule.kind = kScheduleKinds[kind];
  schedule.global_batch = global_batch_size;
  schedule.step_samples = every * global_batch_size;
  schedule.total_samples = total * global_batch_size;
  if (schedule.kind == optim::ScheduleKind::kStep) {
    fields.Require("everySteps");
  } else if (schedule.kind != optim::ScheduleKind::kConstant) {
    fields.Require("totalSteps");
    if (total > 0 && total <= schedule.warmup_steps)
      fields.Fail("totalSteps", fmt::format("must be more than warmupSteps, {}: got {}",
                                            schedule.warmup_steps, total));
  }
}

}  // namespace paceline::simulator

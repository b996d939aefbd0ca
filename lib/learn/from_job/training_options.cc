#include "lib/learn/from_job/training_options.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/job/optimizer_options.h"

namespace paceline::learn {
namespace {

std::string Resolve(const std::string& folder, const std::string& path) {
  return path.empty() ? path
                      : (std::filesystem::path(folder) / path).string();  // An absolute path stays.
}

BuiltIn BuiltInFrom(const job::Model& model) {
  BuiltIn built_in;
  switch (*model.built_in) {
    case job::BuiltInModel::kSoftmax:
      built_in.kind = BuiltInKind::kSoftmax;
      break;
    case job::BuiltInModel::kMlp:
      built_in.kind = BuiltInKind::kMlp;
      break;
    case job::BuiltInModel::kCnn:
      built_in.kind = BuiltInKind::kCnn;
      break;
  }
  built_in.input_shape = model.input_shape;
  built_in.outputs = model.classes.value_or(0);
  if (model.hidden) built_in.hidden = {*model.hidden};
  return built_in;
}

Precision PrecisionFrom(job::Precision precision) {
  switch (precision) {
    case job::Precision::kFloat32:
      return Precision::kFloat32;
    case job::Precision::kBFloat16:
      return Precision::kBFloat16;
    case job::Precision::kFloat16:
      return Precision::kFloat16;
  }
  return Precision::kFloat32;
}

// Empty where no group is frozen.
std::function<bool(std::string_view)> FrozenIn(std::vector<optim::ParameterGroup> groups) {
  if (std::ranges::none_of(groups, &optim::ParameterGroup::is_frozen)) return {};
  return [groups = std::move(groups)](std::string_view name) {
    const optim::ParameterGroup* const group = optim::GroupOf(groups, name);
    return group != nullptr && group->is_frozen;
  };
}

// A name of lib/learn/loss.h; empty for the model's own method.
std::string LossName(job::Loss loss) {
  return loss == job::Loss::kModel ? std::string() : std::string(job::ToWord(loss));
}

}  // namespace

TrainingOptions TrainingOptionsFrom(const job::TrainingJob& job, const std::string& folder) {
  const job::JobSpec& spec = job.spec;
  const auto dataset = [&](const std::string& path, const std::optional<std::string>& targets) {
    DatasetOptions options;
    options.path = Resolve(folder, path);
    options.targets_path = Resolve(folder, targets.value_or(""));
    if (!spec.data.inputs.empty()) options.inputs = spec.data.inputs;
    if (spec.data.sequence_length)
      options.window_tokens = static_cast<uint64_t>(*spec.data.sequence_length);
    options.token_bytes = spec.data.token_type == job::TokenType::kInt32 ? 4 : 2;
    return options;
  };
  TrainingOptions options;
  if (spec.model.torch_script) options.model_path = Resolve(folder, *spec.model.torch_script);
  if (spec.model.built_in) options.built_in = BuiltInFrom(spec.model);
  options.init_path = Resolve(folder, spec.model.init.value_or(""));
  options.is_frozen = FrozenIn(job::ParameterGroupsFrom(job));
  options.loss = LossName(spec.model.loss);
  options.train = dataset(spec.data.train.value_or(""), spec.data.train_targets);
  if (spec.data.eval) options.eval = dataset(*spec.data.eval, spec.data.eval_targets);
  options.prefetch_batches = static_cast<uint64_t>(spec.data.prefetch_batches);
  options.seed = static_cast<uint64_t>(spec.training.seed);
  options.precision = PrecisionFrom(spec.training.precision);
  options.micro_batch_size = static_cast<uint64_t>(spec.training.micro_batch_size.value_or(0));
  return options;
}

}  // namespace paceline::learn

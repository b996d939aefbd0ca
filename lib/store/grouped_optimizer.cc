#include "lib/store/grouped_optimizer.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "lib/base/name_pattern.h"

namespace paceline::store {
namespace {

bool IsOrdinary(const optim::Stretch& stretch) {
  return !stretch.is_frozen && !stretch.weight_decay && stretch.rate_scale == 1 &&
         stretch.steps_skipped == 0;
}

bool GoesOn(const optim::Stretch& before, const optim::Stretch& after) {
  return before.end == after.begin && before.is_frozen == after.is_frozen &&
         before.weight_decay == after.weight_decay && before.rate_scale == after.rate_scale &&
         before.steps_skipped == after.steps_skipped;
}

}  // namespace

std::vector<TrustRatio> TrustRatios(std::span<const TensorNorms> norms) {
  std::map<uint32_t, optim::UpdateNorms> sums;
  for (const TensorNorms& one : norms) {
    optim::UpdateNorms& sum = sums[one.tensor];
    sum.weights += one.norms.weights;
    sum.update += one.norms.update;
  }
  std::vector<TrustRatio> ratios;
  ratios.reserve(sums.size());
  for (const auto& [tensor, sum] : sums) ratios.push_back({tensor, optim::TrustRatio(sum)});
  return ratios;
}

std::vector<std::string> IdlePatterns(const Layout& layout,
                                      std::span<const optim::ParameterGroup> groups,
                                      std::span<const std::string> own) {
  std::vector<std::string> idle;
  for (const optim::ParameterGroup& group : groups) {
    for (const std::string& pattern : group.match) {
      const auto fits = [&](const TensorPlace& place) {
        return place.spec.kind == TensorKind::kParameter && FitsPattern(pattern, place.spec.name);
      };
      const auto fits_own = [&](const std::string& name) { return FitsPattern(pattern, name); };
      if (std::ranges::none_of(layout.tensors(), fits) && std::ranges::none_of(own, fits_own))
        idle.push_back(pattern);
    }
  }
  return idle;
}

StatusOr<GroupedOptimizer> GroupedOptimizer::Create(const optim::OptimizerOptions& options,
                                                    std::span<const optim::ParameterGroup> groups,
                                                    const Layout& layout, const Slice& slice) {
  PACELINE_RETURN_IF_ERROR(optim::Validate(groups));
  const uint64_t end_bytes = std::min(slice.end_bytes, layout.parameter_bytes());
  const uint64_t begin_bytes = std::min(slice.begin_bytes, end_bytes);
  PACELINE_ASSIGN_OR_RETURN(
      std::unique_ptr<optim::Optimizer> optimizer,
      optim::MakeOptimizer(options, (end_bytes - begin_bytes) / sizeof(float)));
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < layout.tensors().size(); ++i) {
    const TensorPlace& place = layout.tensors()[i];
    const uint64_t from = std::max(place.offset_bytes, begin_bytes);
    const uint64_t to = std::min(place.offset_bytes + place.size_bytes, end_bytes);
    if (place.spec.kind != TensorKind::kParameter || from >= to) continue;
    Tensor tensor{.index = static_cast<uint32_t>(i),
                  .stretch = {.begin = (from - begin_bytes) / sizeof(float),
                              .end = (to - begin_bytes) / sizeof(float)}};
    if (const optim::ParameterGroup* group = optim::GroupOf(groups, place.spec.name)) {
      tensor.stretch.weight_decay = group->weight_decay;
      tensor.stretch.rate_scale = group->rate_scale;
      tensor.stretch.is_frozen = group->is_frozen;
    }
    tensors.push_back(std::move(tensor));
  }
  return GroupedOptimizer(std::move(optimizer), std::move(tensors), optim::IsLayerWise(options));
}

GroupedOptimizer::GroupedOptimizer(std::unique_ptr<optim::Optimizer> optimizer,
                                   std::vector<Tensor> tensors, bool is_layer_wise)
    : optimizer_(std::move(optimizer)),
      tensors_(std::move(tensors)),
      is_layer_wise_(is_layer_wise) {
  Arrange();
}

void GroupedOptimizer::Arrange() {
  stretches_.clear();
  for (const Tensor& tensor : tensors_) {
    optim::Stretch stretch = tensor.stretch;
    stretch.rate_scale *= tensor.ratio;
    stretch.is_frozen = stretch.is_frozen || tensor.is_left_out;
    stretch.steps_skipped = tensor.steps_skipped;
    if (IsOrdinary(stretch)) continue;
    if (!stretches_.empty() && GoesOn(stretches_.back(), stretch)) {
      stretches_.back().end = stretch.end;
    } else {
      stretches_.push_back(stretch);
    }
  }
}

void GroupedOptimizer::LeaveOut(std::span<const uint32_t> tensors) {
  if (tensors.empty() && !leaves_out_) return;
  const bool left_out_before = std::exchange(leaves_out_, false);
  auto left_out = tensors.begin();
  for (Tensor& tensor : tensors_) {
    while (left_out != tensors.end() && *left_out < tensor.index) ++left_out;
    const bool is_named = left_out != tensors.end() && *left_out == tensor.index;
    tensor.is_left_out = is_named && !tensor.stretch.is_frozen;
    leaves_out_ = leaves_out_ || tensor.is_left_out;
  }
  if (leaves_out_ || left_out_before) Arrange();
}

void GroupedOptimizer::FinishStep() {
  optimizer_->FinishStep();
  if (!leaves_out_) return;
  for (Tensor& tensor : tensors_) tensor.steps_skipped += std::exchange(tensor.is_left_out, false);
  leaves_out_ = false;
  has_skipped_ = true;
  Arrange();
}

void GroupedOptimizer::Reset() {
  optimizer_->Reset();
  Restore(0, {});
}

std::vector<SkippedSteps> GroupedOptimizer::skipped() const {
  std::vector<SkippedSteps> skipped;
  if (!has_skipped_) return skipped;
  for (const Tensor& tensor : tensors_) {
    if (tensor.steps_skipped > 0) skipped.push_back({tensor.index, tensor.steps_skipped});
  }
  return skipped;
}

void GroupedOptimizer::Restore(uint64_t steps, std::span<const SkippedSteps> skipped) {
  optimizer_->set_steps(steps);
  if (skipped.empty() && !has_skipped_) return;
  has_skipped_ = !skipped.empty();
  auto one = skipped.begin();
  for (Tensor& tensor : tensors_) {
    while (one != skipped.end() && one->tensor < tensor.index) ++one;
    const bool is_named = one != skipped.end() && one->tensor == tensor.index;
    tensor.steps_skipped = is_named ? std::min(one->steps, steps) : 0;
  }
  Arrange();
}

void GroupedOptimizer::Norms(size_t begin, std::span<const float> current,
                             std::span<const float> sum, const optim::StepOptions& options,
                             std::vector<TensorNorms>& norms) const {
  const size_t end = begin + current.size();
  auto tensor = std::ranges::partition_point(
      tensors_, [begin](const Tensor& one) { return one.stretch.end <= begin; });
  for (; tensor != tensors_.end() && tensor->stretch.begin < end; ++tensor) {
    const optim::Stretch& stretch = tensor->stretch;
    if (stretch.is_frozen || tensor->is_left_out) continue;
    const size_t from = std::max(stretch.begin, begin), to = std::min(stretch.end, end);
    optim::StepOptions own = options;
    if (stretch.weight_decay) own.weight_decay = stretch.weight_decay;
    own.steps_skipped = tensor->steps_skipped;
    norms.push_back(
        {tensor->index, optimizer_->NormsOfPart(from, current.subspan(from - begin, to - from),
                                                sum.subspan(from - begin, to - from), own)});
  }
}

void GroupedOptimizer::SetRatios(std::span<const TrustRatio> ratios) {
  if (!is_layer_wise_) return;
  auto ratio = ratios.begin();
  for (Tensor& tensor : tensors_) {
    while (ratio != ratios.end() && ratio->tensor < tensor.index) ++ratio;
    tensor.ratio = ratio != ratios.end() && ratio->tensor == tensor.index ? ratio->ratio : 1;
  }
  Arrange();
}

void GroupedOptimizer::StepPart(size_t begin, std::span<const float> current,
                                std::span<const float> sum, const optim::StepOptions& options,
                                std::span<float> next) {
  optim::StepPart(*optimizer_, stretches_, begin, current, sum, options, next);
}

}  // namespace paceline::store

#include "lib/protocol/frozen_tensors.h"

#include <algorithm>

#include <fmt/format.h>

namespace paceline::protocol {

namespace {

bool IsOne(const FrozenTensor& is, const FrozenTensor& wanted) {
  const bool is_compared = !is.digest.empty() && !wanted.digest.empty();
  return is.name == wanted.name && is.type == wanted.type &&
         (!is_compared || is.digest == wanted.digest);
}

}  // namespace

std::vector<std::string> Held(const store::Layout& want, const store::Layout& got,
                              const std::vector<FrozenTensor>& frozen) {
  std::vector<std::string> held;
  std::vector<store::TensorSpec> others;
  for (const store::TensorPlace& place : want.tensors()) {
    if (std::ranges::find(frozen, place.spec.name, &FrozenTensor::name) != frozen.end()) {
      held.push_back(place.spec.name);
    } else {
      others.push_back(place.spec);
    }
  }
  const StatusOr<store::Layout> rest = store::Layout::Create(others);
  if (!rest.ok() || rest->hash() != got.hash()) return {};
  return held;
}

std::vector<std::string> HeldAsFrozen(const store::Layout& want, const store::Layout& got,
                                      const std::vector<FrozenTensor>& frozen,
                                      std::span<const optim::ParameterGroup> groups) {
  std::vector<std::string> held = Held(want, got, frozen);
  const bool is_trained = std::ranges::any_of(want.tensors(), [&](const store::TensorPlace& place) {
    if (place.spec.kind != store::TensorKind::kParameter) return false;
    if (std::ranges::find(held, place.spec.name) == held.end()) return false;
    const optim::ParameterGroup* const group = optim::GroupOf(groups, place.spec.name);
    return group == nullptr || !group->is_frozen;
  });
  if (is_trained) held.clear();
  return held;
}

std::string FrozenDifference(std::vector<FrozenTensor> got, std::vector<FrozenTensor> want,
                             const std::string& whose) {
  std::ranges::sort(got, {}, &FrozenTensor::name);
  std::ranges::sort(want, {}, &FrozenTensor::name);
  const auto [is, wanted] = std::ranges::mismatch(got, want, IsOne);
  if (is == got.end() && wanted == want.end()) return {};
  if (wanted == want.end() || (is != got.end() && is->name < wanted->name))
    return fmt::format("frozen parameter {} ({}) is none of {}", is->name, is->type, whose);
  if (is == got.end() || wanted->name < is->name)
    return fmt::format("frozen parameter {} ({}) of {} is missing", wanted->name, wanted->type,
                       whose);
  if (is->type != wanted->type)
    return fmt::format("frozen parameter {} is {}, want the {} of {}", is->name, is->type,
                       wanted->type, whose);
  return fmt::format(
      "frozen parameter {} has other values than that of {}: have each worker load the same, or "
      "seed what it draws; with paceline.worker(model, frozen=\"first\") all have the first "
      "worker's",
      is->name, whose);
}

}  // namespace paceline::protocol

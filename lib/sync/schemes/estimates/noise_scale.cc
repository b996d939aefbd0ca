#include "lib/sync/schemes/estimates/noise_scale.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/sync/trace/fields.h"

namespace paceline::sync {

void NoiseScale::AddPush(uint32_t samples, double squared_norm) {
  ++open_.pushes;
  open_.samples += samples;
  open_.norms += samples * squared_norm;
}

void NoiseScale::Close(double newest_weight) {
  open_.newest_weight = newest_weight;
  closed_.push_back(std::exchange(open_, {}));
}

void NoiseScale::Applied(double squared_norm) {
  if (closed_.empty()) return;
  const Round round = closed_.front();
  closed_.pop_front();
  if (round.samples <= 0 || !std::isfinite(squared_norm)) return;
  norm_.Add(squared_norm, round.newest_weight);
  inverse_.Add(1 / round.samples, round.newest_weight);
  if (round.pushes < 2) return;
  const double spread = (round.norms - round.samples * squared_norm) / (round.pushes - 1);
  variance_.Add(std::max(spread, 0.0), round.newest_weight);
}

double NoiseScale::squared_gradient() const {
  return std::max(norm_.Or(0) - variance_.Or(0) * inverse_.Or(0), 0.0);
}

double NoiseScale::variance() const { return variance_.Or(0) / global_batch_; }

double NoiseScale::GainAt(double rate, uint32_t k, uint32_t n) const {
  return Gain(double(std::max(k, 1u)) * global_batch_ / n, global_batch_, rate);
}

double NoiseScale::Gain(double samples, double samples_of_all, double rate) const {
  const double truth = squared_gradient();
  const double all = truth + sample_variance() / samples_of_all;
  double noise = 1, price = price_.of_all;
  if (all > 0) {
    noise = (truth + sample_variance() / samples) / all;
    if (truth > 0) price = std::min(price, price_.of_gradient * all / truth);
  }
  return rate * std::max(0.0, 1 - price / 2 * rate * noise);
}

double NoiseScale::LengthScale(double share) const {
  const double truth = squared_gradient();
  const double few = truth + variance() / std::min(share, 1.0);
  return few > 0 ? std::sqrt((truth + variance()) / few) : 1;
}

std::string NoiseScale::Save() const {
  return fmt::format("{},{},{},{},{},{}", variance_.sum, variance_.weight, norm_.sum, norm_.weight,
                     inverse_.sum, inverse_.weight);
}

Status NoiseScale::Restore(std::string_view saved) {
  std::vector<double> values;
  const bool is_read = ReadValue(saved, values) && values.size() == 6 &&
                       std::all_of(values.begin(), values.end(),
                                   [](double value) { return std::isfinite(value) && value >= 0; });
  if (!is_read) return DataLoss("saved noise is {}, want six numbers", saved);
  variance_ = {values[0], values[1]};
  norm_ = {values[2], values[3]};
  inverse_ = {values[4], values[5]};
  return OkStatus();
}

}  // namespace paceline::sync

#include "lib/sync/schemes/dbw/momentum_reach.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace paceline::sync {
namespace {

constexpr size_t kLossesMin = 3;

}  // namespace

void MomentumReach::Add(double loss, double learning_rate) {
  losses_.Add(loss);
  rates_.Add(learning_rate);
}

bool MomentumReach::is_known() const {
  return momentum_ > 0 && losses_.values().size() >= kLossesMin;
}

double MomentumReach::Factor(double squared_gradient) const {
  if (!is_known() || squared_gradient <= 0) return 1;
  return std::clamp(2 * DecreasePerRate() / squared_gradient, 1.0, 1 / (1 - momentum_));
}

double MomentumReach::Smoothness(double squared_gradient, double noise) const {
  if (!is_known() || squared_gradient + noise <= 0) return 0;
  const double reach = Factor(squared_gradient);
  const double rate = rates_.values().back() * reach;
  return 2 * (squared_gradient - DecreasePerRate() / reach) / (rate * (squared_gradient + noise));
}

double MomentumReach::DecreasePerRate() const {
  const std::deque<double>& losses = losses_.values();
  std::vector<double> travelled{0};
  for (const double rate : rates_.values()) travelled.push_back(travelled.back() + rate);
  travelled.pop_back();
  const double count = static_cast<double>(losses.size());
  const double middle = std::accumulate(travelled.begin(), travelled.end(), 0.0) / count;
  double falls = 0, spread = 0;
  for (size_t i = 0; i < losses.size(); ++i) {
    falls -= (travelled[i] - middle) * losses[i];
    spread += (travelled[i] - middle) * (travelled[i] - middle);
  }
  return spread > 0 ? falls / spread : 0;
}

}  // namespace paceline::sync

#include "simulator/kernel/random_stream.h"

#include <cmath>
#include <numbers>

namespace paceline::simulator {
namespace {

uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;

}  // namespace

RandomStream::RandomStream(uint64_t seed, std::string_view name, uint64_t number) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a.
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  state_ = Mix(Mix(Mix(seed + kGolden) ^ hash) + kGolden * (number + 1));
}

uint64_t RandomStream::Next() { return Mix(state_ += kGolden); }
double RandomStream::Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
double RandomStream::Exponential() { return -std::log1p(-Uniform()); }

double RandomStream::Normal() {
  const double radius = std::sqrt(2 * Exponential());
  return radius * std::cos(2 * std::numbers::pi * Uniform());
}

double RandomStream::Gamma(double shape) {
  // Below 1 by one of shape + 1.
  const double scale = shape < 1 ? std::pow(1 - Uniform(), 1 / shape) : 1;
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = Normal(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log1p(-Uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v * scale;
  }
}

}  // namespace paceline::simulator

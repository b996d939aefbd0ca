#include "tests/soak/draw.h"

#include <cmath>

namespace paceline::soak {
namespace {

constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;

// SplitMix64's mixing step (Steele, Lea, Flood 2014).
uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

Draws::Draws(uint64_t seed, std::string_view name) : state_(Mix(seed + kStep)) {
  for (const char c : name) state_ = Mix((state_ ^ static_cast<unsigned char>(c)) + kStep);
}

uint64_t Draws::Next() { return Mix(state_ += kStep); }

double Draws::Share() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

uint64_t Draws::Below(uint64_t count) {
  return static_cast<uint64_t>(Share() * static_cast<double>(count));
}

double Draws::Between(double least, double most) { return least + (most - least) * Share(); }

double Draws::BetweenByFactor(double least, double most) {
  return least * std::pow(most / least, Share());
}

}  // namespace paceline::soak

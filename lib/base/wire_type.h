// Defines WireType: how precisely the numbers of parameters and gradients travel.
#pragma once

namespace paceline {

enum class WireType {
  kFloat32,   // Each bit as it is.
  kBfloat16,  // Rounded to the nearest, ties to even, in half of the bytes.
};

// Of a job: what its workers push as gradients, and what they pull. Deltas, buffers and all that is
// read by others than workers travel as Float32.
struct WireTypes {
  WireType gradients = WireType::kFloat32;
  WireType parameters = WireType::kFloat32;
  friend bool operator==(const WireTypes&, const WireTypes&) = default;
};

}  // namespace paceline

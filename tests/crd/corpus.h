// The manifests of tests/golden/manifests.
#pragma once

#include <string>
#include <vector>

namespace paceline::crd_test {

struct Manifest {
  std::string name;  // "bad/shards_zero.yaml"
  std::string text;
};

std::string ReadText(const std::string& path);  // Below the source tree.

// Of "good" or "bad", by name.
std::vector<Manifest> Manifests(const std::string& folder);

}  // namespace paceline::crd_test

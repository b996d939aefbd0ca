#include "tests/crd/corpus.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "lib/base/testing/places.h"

namespace paceline::crd_test {

std::string ReadText(const std::string& path) {
  std::ifstream file(InSource(path), std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<Manifest> Manifests(const std::string& folder) {
  const std::string root = "tests/golden/manifests/" + folder;
  std::vector<Manifest> manifests;
  for (const auto& entry : std::filesystem::directory_iterator(InSource(root))) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string file = entry.path().filename();
    manifests.push_back({folder + "/" + file, ReadText(root + "/" + file)});
  }
  std::sort(manifests.begin(), manifests.end(),
            [](const Manifest& a, const Manifest& b) { return a.name < b.name; });
  return manifests;
}

}  // namespace paceline::crd_test

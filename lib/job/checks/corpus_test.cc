// Reads tests/golden/manifests and docs/trainingjob.md; PACELINE_REWRITE=1 rewrites what is
// expected.
//
//   good/*.yaml          valid whatever the program can do; loading its own JSON gives the same job
//   bad/*.yaml           never valid; the .txt beside it holds the errors, one a line
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lib/base/testing/places.h"
#include "lib/job/crd/docs_table.h"
#include "lib/job/manifest/defaults.h"
#include "lib/job/manifest/encode.h"
#include "lib/job/manifest/load.h"

namespace paceline::job {
namespace {

const std::filesystem::path kSource = InSource();

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::filesystem::path> Manifests(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(kSource / "tests/golden/manifests" / folder)) {
    if (entry.path().extension() == ".yaml") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string Errors(const Decoded& loaded) {
  std::string text;
  for (const FieldError& error : loaded.errors) text += ToString(error) + "\n";
  return text;
}

// Compares with the file, or writes it.
void ExpectText(const std::filesystem::path& path, const std::string& text) {
  if (std::getenv("PACELINE_REWRITE") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  EXPECT_EQ(ReadText(path), text) << path;
}

TEST(Corpus, GoodManifestsLoadAndSurviveTheirOwnJson) {
  const auto paths = Manifests("good");
  EXPECT_GE(paths.size(), 15u);
  for (const auto& path : paths) {
    const Decoded loaded = LoadJob(ReadText(path), {}, Capabilities::All());
    EXPECT_EQ(Errors(loaded), "") << path;
    const Decoded back = FromJsonText(ToJson(loaded.job).dump());
    EXPECT_EQ(Errors(back), "") << path;
    EXPECT_TRUE(back.job == loaded.job) << path;
    TrainingJob again = loaded.job;
    ApplyDefaults(again);
    EXPECT_TRUE(again == loaded.job) << path;
  }
}

TEST(Corpus, SamplesCanRunHereAndOnACluster) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kSource / "deploy/samples")) {
    if (entry.path().extension() != ".yaml") continue;
    ++count;
    const std::string text = ReadText(entry.path());
    EXPECT_EQ(Errors(LoadJob(text, {}, Capabilities())), "") << entry.path();
  }
  EXPECT_GE(count, 7);
}

TEST(Corpus, BadManifestsGetExactlyTheirErrors) {
  const auto paths = Manifests("bad");
  EXPECT_GE(paths.size(), 60u);
  for (const auto& path : paths) {
    const Decoded loaded = LoadJob(ReadText(path), {}, Capabilities::All());
    EXPECT_FALSE(loaded.errors.empty()) << path;
    ExpectText(std::filesystem::path(path).replace_extension(".txt"), Errors(loaded));
  }
}

TEST(Corpus, WhatAProgramLacksIsSaidByTheFieldsPath) {
  Capabilities none;
  none.schemes = {Scheme::kBsp};
  none.features.clear();
  const std::string text = ReadText(kSource / "tests/golden/manifests/good/straggler_replace.yaml");
  EXPECT_EQ(Errors(LoadJob(text, {"spec.sync.scheme=SSP"}, none)),
            "line 12: spec.workers.stragglerPolicy.action: Replace is not available in this "
            "version; leave it out\n"
            "spec.sync.scheme: SSP is not available in this version; available: BSP\n");
}

TEST(Corpus, StragglersMayBeReplacedEverywhere) {
  const std::string text = ReadText(kSource / "tests/golden/manifests/good/straggler_replace.yaml");
  EXPECT_EQ(Errors(LoadJob(text, {}, Capabilities())), "");
}

TEST(Docs, PageIsWhatTheFieldsSay) { ExpectText(kSource / "docs/trainingjob.md", DocsPage()); }

}  // namespace
}  // namespace paceline::job

// The API server and lib/job judge the same manifests alike.
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "lib/job/crd/verdict.h"
#include "lib/job/manifest/load.h"
#include "lib/job/testing/fuzzed_job.h"
#include "tests/crd/corpus.h"
#include "tests/crd/world.h"

namespace paceline::crd_test {
namespace {

// What lib/job refuses and the API server does not, each with the reason. The operator says so in
// the job's ResourcesReady condition.
const std::map<std::string, std::string> kLibraryAlone = {
    {"bad/status_time.yaml", "a status that comes with a new object is dropped, and not read"},
    {"bad/text_two_documents.yaml", "two documents are two objects, of which a request holds one"},
    {"bad/volume_source_no_object.yaml", "volume sources that Paceline does not know are opaque"},
};

std::string Errors(const job::Decoded& loaded) {
  std::string text;
  for (const job::FieldError& error : loaded.errors) text += "    " + ToString(error) + "\n";
  return text;
}

TEST(Agreement, ApiServerAndLibraryGiveEachManifestTheSameVerdict) {
  PACELINE_CRD_WORLD(world);
  size_t count = 0;
  for (const char* folder : {"good", "unavailable", "bad"}) {
    for (const Manifest& manifest : Manifests(folder)) {
      const job::Decoded loaded = job::LoadJob(manifest.text, {}, job::Capabilities::All());
      const Answer answer =
          world.TryCreate(manifest.text, "application/yaml", loaded.job.metadata.name_space);
      const bool is_valid = loaded.errors.empty();
      const bool is_exception = kLibraryAlone.contains(manifest.name);
      const bool is_text = manifest.name == "bad/text_two_documents.yaml";
      EXPECT_EQ(answer.is_accepted, is_text || job::ApiServerErrors(loaded).empty())
          << manifest.name << ": what paceline validate says of the API server is not so";
      EXPECT_EQ(answer.is_accepted, is_valid || is_exception)
          << manifest.name << "\n  lib/job:\n"
          << Errors(loaded) << "  API server:\n    " << answer.text.substr(0, 2000);
      EXPECT_FALSE(is_exception && is_valid) << manifest.name << " is no exception any more";
      ++count;
    }
  }
  EXPECT_GE(count, 130u);
}

TEST(Agreement, TheApiServerNamesTheFieldThatTheLibraryNames) {
  PACELINE_CRD_WORLD(world);
  size_t count = 0;
  for (const Manifest& manifest : Manifests("bad")) {
    const job::Decoded loaded = job::LoadJob(manifest.text, {}, job::Capabilities::All());
    if (loaded.errors.size() != 1 || !loaded.errors[0].path.starts_with("spec.")) continue;
    const bool is_text = manifest.name == "bad/rate_nan.yaml";  // JSON has no such number at all.
    if (is_text || kLibraryAlone.contains(manifest.name)) continue;
    const std::string path = loaded.errors[0].path;
    const std::string field = path.substr(path.rfind('.') + 1);
    const std::string name = field.substr(0, field.find('['));
    const Answer answer = world.TryCreate(manifest.text, "application/yaml");
    EXPECT_NE(answer.text.find(name), std::string::npos)
        << manifest.name << "\n  lib/job: " << ToString(loaded.errors[0])
        << "\n  API server: " << answer.text;
    ++count;
  }
  EXPECT_GE(count, 60u);
}

TEST(Agreement, HoldsForJobsMadeUpFromTheSchemaToo) {
  PACELINE_CRD_WORLD(world);
  job::testing::JobFuzzer fuzzer(4);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 500; ++i) {
    const job::testing::FuzzedJob fuzzed = fuzzer.Next();
    const std::string text = fuzzed.object.dump();
    const job::Decoded loaded = job::LoadJob(text, {}, job::Capabilities::All());
    const Answer answer = world.TryCreate(text, "application/json");
    EXPECT_EQ(answer.is_accepted, job::ApiServerErrors(loaded).empty())
        << ::testing::PrintToString(fuzzed.edits) << "\n  lib/job:\n"
        << Errors(loaded) << "  API server:\n    " << answer.text.substr(0, 1000);
    ++(answer.is_accepted ? accepted : refused);
  }
  EXPECT_GE(accepted, 100);
  EXPECT_GE(refused, 100);
}

}  // namespace
}  // namespace paceline::crd_test

// The API server and lib/job judge the same manifests alike.
#include <map>
#include <random>
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
    {"bad/template_object_names.yaml", "pod templates are opaque"},
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
  for (const char* folder : {"good", "bad"}) {
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

// Parts of schemes by chance, blocks whose knobs bear on them too.
nlohmann::json ComposedSync(std::mt19937_64& chance) {
  using Json = nlohmann::json;
  const auto one_of = [&](std::initializer_list<Json> values) {
    return *(values.begin() + static_cast<std::ptrdiff_t>(chance() % values.size()));
  };
  Json sync;
  const auto maybe = [&](const char* name, uint64_t one_in, std::initializer_list<Json> values) {
    if (chance() % one_in == 0) sync[name] = one_of(values);
  };
  const std::span<const std::string_view> schemes = job::Words(job::Scheme{});
  sync["scheme"] = schemes[chance() % schemes.size()];
  maybe("quorum", 2, {"All", "DBW", 1, 2, 3, 4, 5});
  maybe("reach", 4, {0, 1, 2});
  maybe("late", 3, {"Drop", "Weigh"});
  maybe("staleness", 4, {0, 2});
  maybe("meanwhile", 2, {"Wait", "GoOn", "LocalSteps", "EagerPull"});
  maybe("modulation", 4, {Json::object(), {{"rule", "None"}}, {{"rule", "ProgressGap"}}});
  maybe("lateWorker", 5, {"Finish", "FinishThenPull", "Interrupt"});
  maybe("updateScale", 5, {"PerWorker", "Full"});
  maybe("outer", 6, {Json::object(), {{"momentum", 0}}, {{"momentum", 0}, {"nesterov", false}}});
  maybe("ssp", 4, {{{"updateScale", "Full"}}, {{"staleness", 0}}});
  maybe("asp", 4, {{{"updateScale", "Full"}}});
  maybe("psPlus", 3, {{{"updateScale", "Full"}}, {{"staleness", 3}}, Json::object()});
  maybe("backupWorkers", 4, {{{"count", 0}}, {{"count", 2}}});
  maybe("wbsp", 3, {{{"trigger", "Designated"}}, {{"latePush", "Drop"}}});
  maybe("dbw", 2,
        {{{"method", "Blind"}},
         {{"method", "NoiseScale"}},
         {{"method", "STAR"}},
         {{"lateWorker", "Interrupt"}},
         {{"method", "AdaSync"}, {"learningRateRule", "Proportional"}},
         {{"minWorkers", 5}},
         {{"learningRateRule", "Table"}}});
  maybe("batchSizing", 3, {{{"strategy", "NARX"}}});
  return sync;
}

TEST(Agreement, HoldsForSchemesComposedByChance) {
  PACELINE_CRD_WORLD(world);
  std::mt19937_64 chance(28);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 1500; ++i) {
    nlohmann::json job = nlohmann::json::parse(R"({
      "apiVersion": "paceline.dev/v1alpha1", "kind": "TrainingJob",
      "spec": {"model": {"torchScript": "cnn.pt"}, "data": {"train": "train.safetensors"},
               "training": {"globalBatchSize": 64, "learningRate": {"base": 0.05},
                            "stop": {"maxEpochs": 1}},
               "workers": {"replicas": 4}}})");
    job["metadata"]["name"] = "composed-" + std::to_string(i);
    job["spec"]["sync"] = ComposedSync(chance);
    if (chance() % 8 == 0) job["spec"]["training"]["deterministic"] = true;
    const std::string text = job.dump();
    const job::Decoded loaded = job::LoadJob(text, {}, job::Capabilities::All());
    const Answer answer = world.TryCreate(text, "application/json");
    ASSERT_EQ(answer.is_accepted, job::ApiServerErrors(loaded).empty())
        << job["spec"]["sync"] << "\n  lib/job:\n"
        << Errors(loaded) << "  API server:\n    " << answer.text.substr(0, 1000);
    ++(answer.is_accepted ? accepted : refused);
  }
  EXPECT_GE(accepted, 300);
  EXPECT_GE(refused, 300);
}

}  // namespace
}  // namespace paceline::crd_test

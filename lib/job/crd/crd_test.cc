// Compares deploy/crd/trainingjobs.yaml with what the fields say; PACELINE_REWRITE=1 rewrites it.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lib/base/testing/places.h"
#include "lib/job/crd/definition.h"
#include "lib/job/crd/rules.h"
#include "lib/job/crd/yaml_text.h"
#include "lib/job/manifest/encode.h"
#include "lib/job/manifest/yaml.h"

namespace paceline::job {
namespace {

using Json = nlohmann::ordered_json;

Json Schema() {
  return CustomResourceDefinition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
}

Json Spec() { return Schema()["properties"]["spec"]["properties"]; }

TEST(Crd, FileIsWhatTheFieldsSay) {
  const std::filesystem::path path = InSource("deploy/crd/trainingjobs.yaml");
  const std::string wanted = CustomResourceDefinitionFile();
  if (std::getenv("PACELINE_REWRITE") != nullptr) std::ofstream(path, std::ios::binary) << wanted;
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  EXPECT_EQ(text.str(), wanted) << "`make crd` writes it anew";
}

TEST(Crd, FileReadsBackAsTheSameObject) {
  const Parsed parsed = ParseYaml(CustomResourceDefinitionFile());
  ASSERT_TRUE(parsed.errors.empty()) << ToString(parsed.errors[0]);
  EXPECT_EQ(ToJson(parsed.root), nlohmann::json::parse(CustomResourceDefinition().dump()));
}

// kubectl apply without --server-side keeps the whole object in an annotation.
TEST(Crd, FitsTheAnnotationOfClientSideApply) {
  EXPECT_LT(CustomResourceDefinition().dump().size(), 262144u / 2);
}

TEST(Crd, TakesBoundsWordsAndDefaultsFromTheFields) {
  const Json batch = Spec()["training"]["properties"]["globalBatchSize"];
  EXPECT_EQ(batch["type"], "integer");
  EXPECT_EQ(batch["minimum"], 1);
  EXPECT_EQ(batch["maximum"], 1000000000);
  EXPECT_FALSE(batch.contains("default"));
  const Json percent =
      Spec()["workers"]["properties"]["stragglerPolicy"]["properties"]["slowdownPercent"];
  EXPECT_EQ(percent["minimum"], 100);
  EXPECT_EQ(percent["exclusiveMinimum"], true);
  EXPECT_EQ(percent["default"], 200);
  const Json scheme = Spec()["sync"]["properties"]["scheme"];
  EXPECT_EQ(scheme["enum"].size(), Words(Scheme{}).size());
  EXPECT_EQ(scheme["default"], "BSP");
  EXPECT_EQ(Spec()["workers"]["default"]["stragglerPolicy"]["action"], "Report");
  EXPECT_FALSE(Spec()["evaluator"].contains("default"));
  EXPECT_EQ(Spec()["training"]["properties"]["stop"]["properties"]["target"]["required"],
            Json::array({"value"}));
}

TEST(Crd, TypesTimesAsIntegersOrDurationsWithinTheirBounds) {
  const Json period = Spec()["checkpoint"]["properties"]["periodSeconds"];
  EXPECT_EQ(period["x-kubernetes-int-or-string"], true);
  EXPECT_FALSE(period.contains("type"));  // A structural schema has one of the two.
  EXPECT_TRUE(period["default"].is_number_integer());
  EXPECT_EQ(period["description"],
            "time between two checkpoints; seconds, or a duration like 1h30m");
  EXPECT_EQ(period["maxLength"], 32);
  EXPECT_EQ(period["x-kubernetes-validations"][0]["rule"],
            "type(self) != string || duration(self) > duration('0s') && duration(self) <= "
            "duration('1000000000s')");
  const Json deadline = Spec()["runPolicy"]["properties"]["activeDeadlineSeconds"];
  EXPECT_EQ(deadline["minimum"], 1);
  EXPECT_FALSE(deadline.contains("default"));
  EXPECT_EQ(deadline["x-kubernetes-validations"][0]["rule"],
            "type(self) != string || duration(self) >= duration('1s') && duration(self) <= "
            "duration('1000000000s') && int(duration(self)) % 1000000000 == 0");
  const std::string text = Schema().dump();
  size_t count = 0;
  for (size_t at = 0; (at = text.find("int-or-string", at)) != std::string::npos; ++at) ++count;
  EXPECT_EQ(count, 13u);  // Twelve of them, and sync.quorum, which is All, DBW or a number.
}

TEST(Crd, FillsInNoKnobsOfChoicesThatNobodyMade) {
  const Json sync = Spec()["sync"];
  for (const char* const scheme : {"ssp", "asp", "backupWorkers", "dbw", "wbsp", "psPlus"}) {
    EXPECT_FALSE(sync["properties"][scheme].contains("default")) << scheme;
    EXPECT_FALSE(sync["default"].contains(scheme)) << scheme;
  }
  EXPECT_EQ(sync["properties"]["dbw"]["properties"]["window"]["default"], 20);  // In one made.
  const Json optimizer = Spec()["training"]["properties"]["optimizer"];
  EXPECT_EQ(optimizer["default"], Json({{"type", "SGD"}}));
  const Json rate = Spec()["training"]["properties"]["learningRate"];
  for (const char* const schedule : {"polynomial", "wsd", "oneCycle", "cosineRestarts", "plateau"})
    EXPECT_FALSE(rate["properties"][schedule].contains("default")) << schedule;
}

// What rules.cc says of a block that is absent is true of its defaults.
TEST(Crd, RulesKnowWhatAbsentBlocksMean) {
  EXPECT_EQ(BackupWorkers{}.count, 1);
  EXPECT_LE(Dbw{}.min_workers, Workers{}.replicas);
  EXPECT_EQ(ToWord(Dbw{}.method), "Gain");
  EXPECT_NE(ToWord(Dbw{}.learning_rate_rule), "Table");
  EXPECT_TRUE(Dbw{}.learning_rate_factors.empty());
  EXPECT_FALSE(Sgd{}.nesterov);
}

TEST(Crd, FixesWhatTheNotesCallImmutable) {
  std::set<std::string> fixed;
  const auto walk = [&](const auto& self, const std::string& path, const Json& schema) -> void {
    if (schema.contains("x-kubernetes-validations")) {
      for (const Json& rule : schema["x-kubernetes-validations"])
        if (rule["rule"] == "self == oldSelf") fixed.insert(path);
    }
    if (!schema.contains("properties")) return;
    for (const auto& [name, below] : schema["properties"].items())
      self(self, path + "." + name, below);
  };
  walk(walk, "", Schema());
  EXPECT_THAT(
      fixed,
      ::testing::ElementsAre(
          ".spec.checkpoint.resume", ".spec.checkpoint.volumeClaimTemplate", ".spec.data",
          ".spec.model", ".spec.network.gradientType", ".spec.network.parameterType",
          ".spec.parameterServer.shards", ".spec.runPolicy.managedBy", ".spec.security.mtls",
          ".spec.training.deterministic", ".spec.training.ema", ".spec.training.globalBatchSize",
          ".spec.training.gradientClipNorm", ".spec.training.learningRate.cosineRestarts",
          ".spec.training.learningRate.factor", ".spec.training.learningRate.final",
          ".spec.training.learningRate.oneCycle", ".spec.training.learningRate.plateau",
          ".spec.training.learningRate.polynomial", ".spec.training.learningRate.schedule",
          ".spec.training.learningRate.stepEpochs", ".spec.training.learningRate.warmupSteps",
          ".spec.training.learningRate.wsd", ".spec.training.microBatchSize",
          ".spec.training.nonFinite", ".spec.training.optimizer", ".spec.training.parameterGroups",
          ".spec.training.precision", ".spec.training.seed", ".spec.training.stop.patience",
          ".spec.training.stop.target", ".spec.workers.command", ".spec.workers.workingDir"));
}

TEST(Crd, LeavesPodTemplatesAndVolumesToKubernetes) {
  const char* kOpen = "x-kubernetes-preserve-unknown-fields";
  for (const char* role : {"parameterServer", "workers", "evaluator"}) {
    const Json pod_template = Spec()[role]["properties"]["template"];
    EXPECT_EQ(pod_template["properties"]["spec"][kOpen], true) << role;
    EXPECT_EQ(pod_template["properties"]["metadata"][kOpen], true) << role;
    EXPECT_FALSE(pod_template.contains(kOpen)) << role;
  }
  const Json volume = Spec()["output"]["properties"]["volume"];
  EXPECT_EQ(volume[kOpen], true);
  EXPECT_EQ(volume["maxProperties"], 1);
}

TEST(Crd, PrintsNoColumnOfAListsElement) {
  const Json version = CustomResourceDefinition()["spec"]["versions"][0];
  std::vector<std::string> narrow;
  for (const Json& column : version["additionalPrinterColumns"]) {
    EXPECT_THAT(column["jsonPath"].get<std::string>(), ::testing::Not(::testing::HasSubstr("[")));
    if (!column.contains("priority")) narrow.push_back(column["name"]);
  }
  EXPECT_THAT(narrow, ::testing::ElementsAre("State", "Progress", "ETA", "Accuracy", "Workers",
                                             "Scheme", "Slowest", "Age", "Standstill"));
}

// What `kubectl explain` says of a field. Of metadata a definition may say nothing: it is
// Kubernetes' own.
TEST(Crd, DescribesEveryField) {
  constexpr std::ptrdiff_t kWordsMin = 3;
  int fields = 0;
  const auto walk = [&](const auto& self, const std::string& path, const Json& schema) -> void {
    if (schema.contains("items")) self(self, path + "[]", schema["items"]);
    if (!schema.contains("properties")) return;
    for (const auto& [name, below] : schema["properties"].items()) {
      const std::string field = path + "." + name;
      if (field == ".metadata") continue;
      ++fields;
      const std::string text = below.value("description", "");
      EXPECT_GE(std::count(text.begin(), text.end(), ' ') + 1, kWordsMin)
          << field << " is described as \"" << text << "\"";
      self(self, field, below);
    }
  };
  walk(walk, "", Schema());
  EXPECT_GT(fields, 250);
}

TEST(Crd, GivesEveryRuleAMessageThatNamesAField) {
  EXPECT_GE(Rules().size(), 45u);
  for (const Rule& rule : Rules()) {
    EXPECT_FALSE(rule.message.empty()) << rule.rule;
    EXPECT_EQ(rule.message.find('"'), std::string_view::npos) << rule.message;
    EXPECT_LT(rule.message.size(), 200u) << rule.message;
  }
}

TEST(YamlText, QuotesWhatWouldBeReadAsSomethingElse) {
  const Json json = {{"yes", "yes"},
                     {"n", 1.5},
                     {"list", {"a", "1", "null"}},
                     {"none", Json::array()},
                     {"empty", ""},
                     {"colon", "a: b"},
                     {"rule", "self == 'x' # no comment"}};
  const Parsed parsed = ParseYaml(ToYamlText(json));
  ASSERT_TRUE(parsed.errors.empty()) << ToYamlText(json);
  EXPECT_EQ(ToJson(parsed.root), nlohmann::json::parse(json.dump())) << ToYamlText(json);
}

}  // namespace
}  // namespace paceline::job

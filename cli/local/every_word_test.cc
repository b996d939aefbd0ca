// Every word that the schema offers is taken by a cluster and on one machine alike; where it means
// something else or nothing on one machine, that is said.
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/local/local_job.h"
#include "lib/job/crd/schema.h"
#include "lib/job/crd/verdict.h"
#include "lib/job/manifest/load.h"

namespace paceline::local {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kManifest[] = R"(
apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {name: digits}
spec:
  model: {torchScript: cnn.pt}
  data: {train: train.safetensors, eval: test.safetensors}
  training:
    globalBatchSize: 64
    learningRate: {base: 0.05}
    stop: {maxEpochs: 15}
  workers: {replicas: 4}
)";

struct Word {
  std::string path;  // As an override names it.
  std::string word;
};

void PrintTo(const Word& one, std::ostream* out) { *out << one.path << "=" << one.word; }

void CollectWords(const nlohmann::ordered_json& schema, const std::string& path,
                  std::vector<Word>& words) {
  for (const auto& word : schema.value("enum", nlohmann::ordered_json::array()))
    words.push_back({path, word.get<std::string>()});
  if (schema.contains("items")) CollectWords(schema["items"], path + "[0]", words);
  if (!schema.contains("properties")) return;
  for (const auto& [name, below] : schema["properties"].items())
    CollectWords(below, path.empty() ? name : path + "." + name, words);
}

std::vector<Word> AllWords() {
  std::vector<Word> words;
  CollectWords(job::OpenApiSchema()["properties"]["spec"], "spec", words);
  return words;
}

using Table = std::vector<std::pair<std::string, std::vector<std::string>>>;

// What a word needs beside it. Keys are beginnings of PATH=WORD.
const Table& Companions() {
  static const Table kCompanions = {
      {"spec.model.builtIn",
       {"spec.model.torchScript=null", "spec.model.inputShape=[1, 8, 8]", "spec.model.classes=10"}},
      {"spec.data.tokenType=", {"spec.data.train=train.bin", "spec.data.sequenceLength=8"}},
      {"spec.training.stop.target.better=", {"spec.training.stop.target={metric: f1, value: 0.9}"}},
      {"spec.evaluator.better=", {"spec.evaluator.metric=f1"}},
      {"spec.workers.groups[0].device=",
       {"spec.workers.replicas=1", "spec.workers.groups=[{name: big, replicas: 4}]"}},
      {"spec.sync.ssp.", {"spec.sync.scheme=SSP"}},
      {"spec.sync.asp.", {"spec.sync.scheme=ASP"}},
      {"spec.sync.dbw.", {"spec.sync.scheme=DBW"}},
      {"spec.sync.dbw.learningRateRule=Table",
       {"spec.sync.dbw.learningRateFactors=[0.25, 0.5, 0.75, 1]"}},
      {"spec.sync.wbsp.", {"spec.sync.scheme=WBSP"}},
      {"spec.sync.psPlus.", {"spec.sync.scheme=PSPlus"}},
      {"spec.checkpoint.",
       {"spec.checkpoint.volumeClaimTemplate.spec={accessModes: [ReadWriteOnce]}"}},
      {"spec.runPolicy.failurePolicy.rules[0].action=",
       {"spec.runPolicy.failurePolicy.rules=[{action: Count, onExitCodes: {operator: In, values: "
        "[7]}}]"}},
      {"spec.runPolicy.failurePolicy.rules[0].onExitCodes.operator=",
       {"spec.runPolicy.failurePolicy.rules=[{action: Count, onExitCodes: {operator: In, values: "
        "[7]}}]"}},
      {"spec.runPolicy.failurePolicy.rules[0].onPodConditions[0].status=",
       {"spec.runPolicy.failurePolicy.rules=[{action: Count, onPodConditions: [{type: Ready}]}]"}},
      {"spec.chaos.", {"spec.chaos.enabled=true"}},
      {"spec.chaos.delays[0].kind=Constant", {"spec.chaos.delays[0].seconds=1"}},
      {"spec.chaos.delays[0].kind=PerWorker", {"spec.chaos.delays[0].perWorker=[1]"}},
      {"spec.chaos.delays[0].kind=PerSample", {"spec.chaos.delays[0].secondsPerSample=1"}},
      {"spec.chaos.delays[0].kind=ShiftedExponential",
       {"spec.chaos.delays[0].scale=1", "spec.chaos.delays[0].alpha=0.5"}},
      {"spec.chaos.delays[0].kind=Ratio", {"spec.chaos.delays[0].ratio=0.5"}},
      {"spec.sync.scheme=KAsync", {"spec.sync.quorum=2"}},
      {"spec.sync.scheme=KBatchAsync", {"spec.sync.quorum=2"}},
      {"spec.sync.modulation.rule=", {"spec.sync.late=Weigh"}},
      {"spec.sync.outer.type=", {"spec.sync.scheme=WBSP"}},
      {"spec.chaos.delays[0].kind=StepChange",
       {"spec.chaos.delays[0].atStep=5", "spec.chaos.delays[0].factor=2",
        "spec.chaos.delays[0].fraction=0.5"}},
      {"spec.chaos.delays[0].kind=Trace", {"spec.chaos.delays[0].trace=delays.csv"}},
  };
  return kCompanions;
}

std::vector<std::string> Overrides(const Word& word) {
  // Words that YAML takes for truth values need quotes.
  const bool is_text = word.word != "True" && word.word != "False";
  const std::string assignment =
      fmt::format("{}={}{}{}", word.path, is_text ? "" : "\"", word.word, is_text ? "" : "\"");
  std::vector<std::string> overrides;
  for (const auto& [beginning, companions] : Companions()) {
    if (assignment.starts_with(beginning))
      overrides.insert(overrides.end(), companions.begin(), companions.end());
  }
  overrides.push_back(assignment);
  return overrides;
}

std::vector<std::string> Texts(const std::vector<job::FieldError>& errors) {
  std::vector<std::string> texts;
  for (const job::FieldError& error : errors) texts.push_back(ToString(error));
  return texts;
}

// What one machine says of a word that means nothing there, or something else.
struct Said {
  std::vector<std::string> ignored;
  std::string note;  // The beginning of the only one.
};

const std::map<std::string, Said>& SaidOnOneMachine() {
  const std::string retention = "spec.checkpoint.persistentVolumeClaimRetentionPolicy";
  const std::string conditions = "spec.runPolicy.failurePolicy.rules[0].onPodConditions";
  static const std::map<std::string, Said> kSaid = {
      {retention + ".whenDeleted=Retain", {.ignored = {retention}}},
      {retention + ".whenDeleted=Delete", {.ignored = {retention}}},
      {retention + ".whenScaled=Retain", {.ignored = {retention}}},
      {retention + ".whenScaled=Delete", {.ignored = {retention}}},
      {"spec.checkpoint.resume=FromClaim", {.ignored = {"spec.checkpoint.resume"}}},
      {"spec.runPolicy.cleanPodPolicy=All", {.ignored = {"spec.runPolicy.cleanPodPolicy"}}},
      {"spec.runPolicy.cleanPodPolicy=None", {.ignored = {"spec.runPolicy.cleanPodPolicy"}}},
      {conditions + "[0].status=Unknown",
       {.ignored = {"spec.runPolicy.failurePolicy.rules.onPodConditions"}}},
      {conditions + "[0].status=True",
       {.ignored = {"spec.runPolicy.failurePolicy.rules.onPodConditions"}}},
      {conditions + "[0].status=False",
       {.ignored = {"spec.runPolicy.failurePolicy.rules.onPodConditions"}}},
      {"spec.network.gradientType=BFloat16",
       {.note = "spec.network.gradientType: BFloat16 is of sockets"}},
      {"spec.network.parameterType=BFloat16",
       {.note = "spec.network.parameterType: BFloat16 is of sockets"}},
      {"spec.security.mtls=Disabled", {.ignored = {"spec.security.mtls"}}},
      {"spec.workers.stragglerPolicy.action=Replace",
       {.note = "spec.workers.stragglerPolicy.action: Replace means on one machine"}},
  };
  return kSaid;
}

class EveryWord : public testing::TestWithParam<Word> {};

TEST_P(EveryWord, IsTakenByBothShells) {
  const std::vector<std::string> overrides = Overrides(GetParam());
  const job::Decoded on_cluster = LoadJob(kManifest, overrides, job::Capabilities::All());
  EXPECT_THAT(Texts(ApiServerErrors(on_cluster)), IsEmpty());
  const job::Decoded loaded = LoadJob(kManifest, overrides, job::Capabilities());
  ASSERT_THAT(Texts(loaded.errors), IsEmpty());

  VolumeFolders volumes = VolumeFolders::Parse({}, "/volumes").value();
  const LocalJob local = AdaptJob(loaded.job, "/run", volumes);
  EXPECT_THAT(Texts(local.errors), IsEmpty());
  const auto said = SaidOnOneMachine().find(GetParam().path + "=" + GetParam().word);
  const Said expected = said == SaidOnOneMachine().end() ? Said{} : said->second;
  EXPECT_EQ(local.ignored, expected.ignored);
  if (expected.note.empty())
    EXPECT_THAT(local.notes, IsEmpty());
  else
    EXPECT_THAT(local.notes, ElementsAre(StartsWith(expected.note)));
}

// Else a table above speaks of what is no longer there.
TEST(EveryWordOfTheSchema, IsWhatTheTablesSpeakOf) {
  std::set<std::string> offered;
  for (const Word& word : AllWords()) offered.insert(word.path + "=" + word.word);
  for (const auto& [word, said] : SaidOnOneMachine()) EXPECT_TRUE(offered.contains(word)) << word;
  for (const auto& [beginning, companions] : Companions()) {
    const auto found = offered.lower_bound(beginning);
    EXPECT_TRUE(found != offered.end() && found->starts_with(beginning)) << beginning;
  }
}

INSTANTIATE_TEST_SUITE_P(OfTheSchema, EveryWord, testing::ValuesIn(AllWords()));

}  // namespace
}  // namespace paceline::local

#include "lib/job/checks/change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/job/manifest/load.h"

namespace paceline::job {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kManifest = R"(
apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {name: digits}
spec:
  model: {torchScript: cnn.pt}
  data: {train: train.safetensors}
  training: {globalBatchSize: 64, learningRate: {base: 0.05}, stop: {maxEpochs: 3}}
  workers: {replicas: 4, maxReplicas: 8}
  checkpoint: {volume: {nfs: {server: files, path: /a}}}
)";

TrainingJob Job(const std::vector<std::string>& overrides) {
  Decoded loaded = LoadJob(kManifest, overrides, Capabilities::All());
  EXPECT_THAT(loaded.errors, IsEmpty()) << ToString(loaded.errors.at(0));
  return std::move(loaded.job);
}

std::vector<std::string> Errors(const std::vector<std::string>& before,
                                const std::vector<std::string>& after) {
  std::vector<std::string> lines;
  for (const FieldError& error : ValidateChange(Job(before), Job(after)))
    lines.push_back(ToString(error));
  return lines;
}

TEST(ValidateChange, WhatIsFixedIsFixed) {
  for (const char* path : {"metadata.name=other", "spec.training.seed=7", "spec.model.loss=Model",
                           "spec.parameterServer.shards=2", "spec.security.mtls=Disabled",
                           "spec.data.onDrop=Discard", "spec.runPolicy.managedBy=a/b"}) {
    const auto errors = Errors({}, {path});
    ASSERT_EQ(errors.size(), 1u) << path;
    EXPECT_NE(errors[0].find("cannot change once the job exists"), std::string::npos) << errors[0];
  }
}

TEST(ValidateChange, GroupsMayComeAndGoButNotAllOfThem) {
  const std::string none = "spec.workers={replicas: 1}",
                    two = "spec.workers={groups: [{name: a}, {name: b}]}",
                    others = "spec.workers={groups: [{name: c, replicas: 2}]}";
  EXPECT_THAT(Errors({two}, {others}), IsEmpty());
  for (const auto& [before, after] : {std::pair(none, two), std::pair(two, none)}) {
    EXPECT_THAT(Errors({before}, {after}),
                ElementsAre("spec.workers.groups: cannot come to a job without groups, nor the "
                            "last one go: groups of a job that has some may come and go"));
  }
}

TEST(ValidateChange, AnotherWayToWriteATimeIsNone) {
  const std::string path = "spec.checkpoint.periodSeconds=";
  const TrainingJob number = Job({path + "3600"}), duration = Job({path + "1h"});
  EXPECT_TRUE(number == duration);
  EXPECT_THAT(ValidateChange(number, duration), IsEmpty());
}

TEST(ValidateChange, NamesTheFieldAndBothValues) {
  EXPECT_THAT(Errors({}, {"spec.training.seed=7"}),
              ElementsAre("spec.training.seed: cannot change once the job exists: from 0 to 7"));
  EXPECT_THAT(Errors({}, {"spec.data.eval=test.safetensors"}),
              ElementsAre("spec.data.eval: cannot change once the job exists: from null to "
                          "\"test.safetensors\""));
}

TEST(ValidateChange, TheCourseOfTrainingIsNotAndTheRestOfItIs) {
  EXPECT_THAT(Errors({}, {"spec.training.stop.maxEpochs=3", "spec.training.stop.maxSteps=70",
                          "spec.training.learningRate.base=0.001"}),
              IsEmpty());
  EXPECT_THAT(Errors({"spec.training.stop.maxSteps=70"}, {}), IsEmpty());
  for (const char* path :
       {"spec.training.globalBatchSize=128", "spec.training.microBatchSize=4",
        "spec.training.precision=BFloat16", "spec.data.prefetchBatches=0",
        "spec.training.gradientClipNorm=1", "spec.training.optimizer.sgd.momentum=0.5",
        "spec.training.learningRate.schedule=Cosine", "spec.training.learningRate.warmupSteps=3",
        "spec.training.learningRate.final=0.001", "spec.training.learningRate.stepEpochs=3",
        "spec.training.learningRate.factor=0.3", "spec.training.learningRate.wsd.decayShare=0.5",
        "spec.training.parameterGroups=[{match: [a]}]", "spec.training.ema.decay=0.9",
        "spec.training.learningRate.polynomial.power=2",
        "spec.training.learningRate.plateau.patience=2", "spec.training.nonFinite.limit=7",
        "spec.training.deterministic=true"}) {
    const auto errors = Errors({}, {path});
    ASSERT_EQ(errors.size(), 1u) << path;
    EXPECT_NE(errors[0].find("cannot change once the job exists"), std::string::npos) << errors[0];
    EXPECT_EQ(Errors({path}, {}).size(), 1u) << path;
  }
  const std::string eval = "spec.data.eval=test.safetensors";
  EXPECT_THAT(Errors({eval}, {eval, "spec.training.stop.target={value: 0.9}"}),
              ElementsAre("spec.training.stop.target: cannot change once the job exists: from null "
                          "to an object"));
  EXPECT_THAT(Errors({eval}, {eval, "spec.training.stop.patience=3"}),
              ElementsAre("spec.training.stop.patience: cannot change once the job exists: from "
                          "null to 3"));
  EXPECT_THAT(Errors({eval, "spec.training.stop.patience=3"}, {eval}).size(), 1u);
}

TEST(ValidateChange, TheRestIsNot) {
  EXPECT_THAT(
      Errors({}, {"spec.sync.scheme=SSP", "spec.workers.replicas=8", "spec.checkpoint.keep=9",
                  "spec.runPolicy.suspend=true", "metadata.labels.a=b"}),
      IsEmpty());
  const std::string eval = "spec.data.eval=test.safetensors";
  EXPECT_THAT(Errors({eval}, {eval, "spec.evaluator={metric: f1, better: Lower, minDelta: 0.1}"}),
              IsEmpty());
}

TEST(ValidateChange, VolumesChangeOnlyWhileTheJobIsSuspended) {
  const std::vector<std::string> output = {"spec.output.volume={hostPath: {path: /models}}"};
  EXPECT_THAT(Errors({}, output),
              ElementsAre("spec.output.volume: may change only while runPolicy.suspend is true"));
  const std::string eval = "spec.data.eval=test.safetensors", best = "spec.output.keep=Best";
  EXPECT_THAT(Errors({eval}, {eval, best}),
              ElementsAre("spec.output.keep: may change only while runPolicy.suspend is true"));
  for (const std::vector<std::string>& changed : std::vector<std::vector<std::string>>{
           {"spec.checkpoint=null"},
           {"spec.checkpoint.volume.nfs.path=/b"},
           {"spec.checkpoint.volume=null", "spec.checkpoint.volumeClaimTemplate={}"}}) {
    const char* const why =
        "spec.checkpoint: may come, go and get another volume only while runPolicy.suspend is true";
    EXPECT_THAT(Errors({}, changed), ElementsAre(why));
    EXPECT_THAT(Errors(changed, {}), ElementsAre(why));
    // To suspend it in the same breath is too late; to resume it is not.
    auto suspended = changed;
    suspended.emplace_back("spec.runPolicy.suspend=true");
    EXPECT_THAT(Errors({}, suspended), ElementsAre(why));
    EXPECT_THAT(Errors(suspended, {}), IsEmpty());
  }
}

TEST(ValidateChange, AClaimTemplateIsFixedEvenThen) {
  const std::string suspend = "spec.runPolicy.suspend=true";
  const std::string no_volume = "spec.checkpoint.volume=null";
  const std::string claim = "spec.checkpoint.volumeClaimTemplate.spec.storageClassName=";
  EXPECT_THAT(Errors({suspend, no_volume, claim + "a"}, {suspend, no_volume, claim + "b"}),
              ElementsAre("spec.checkpoint.volumeClaimTemplate.spec.storageClassName: cannot "
                          "change once the job exists: from \"a\" to \"b\""));
}

}  // namespace
}  // namespace paceline::job

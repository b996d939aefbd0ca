#include "operator/objects/job_file.h"

#include <string>

#include <gtest/gtest.h>

#include "lib/base/json_text.h"
#include "operator/objects/children.h"
#include "operator/objects/objects_testing.h"

namespace paceline::controller {
namespace {

std::string FileOf(const job::TrainingJob& job) {
  return BuildConfigMap(job)["data"]["job.json"].get<std::string>();
}

// As a version wrote it that did not have those two.
std::string OlderFile(const job::TrainingJob& job) {
  Json file = JsonFrom(FileOf(job));
  EXPECT_EQ(file["spec"]["network"].erase("transport"), 1u);
  EXPECT_EQ(file["spec"].erase("security"), 1u);
  return JsonText(file);
}

TEST(JobFile, OfTheSameVersionStaysAsItIs) {
  const std::string file = FileOf(Digits());
  EXPECT_EQ(JobFileFor(file, file), file);
  job::TrainingJob wider = Digits();
  wider.spec.workers.replicas = 9;
  EXPECT_EQ(JobFileFor(file, FileOf(wider)), FileOf(wider));
}

TEST(JobFile, OfAnOlderVersionGetsNoFieldThatItDoesNotKnow) {
  const std::string older = OlderFile(Digits());
  EXPECT_EQ(JobFileFor(older, FileOf(Digits())), older);
  job::TrainingJob wider = Digits();  // What it knows follows.
  wider.spec.workers.replicas = 9;
  EXPECT_EQ(JobFileFor(older, FileOf(wider)), OlderFile(wider));
}

TEST(JobFile, WhatIsNotByDefaultIsNotHidden) {
  job::TrainingJob open = Digits();
  open.spec.network.transport = job::Transport::kSockets;
  const Json file = JsonFrom(JobFileFor(OlderFile(Digits()), FileOf(open)));
  EXPECT_TRUE(file["spec"]["network"].contains("transport"));
  EXPECT_FALSE(file["spec"].contains("security"));
}

TEST(JobFile, WhatCannotBeReadIsWrittenAnew) {
  const std::string file = FileOf(Digits());
  for (const char* const before : {"", "{", "[]", "null"})
    EXPECT_EQ(JobFileFor(before, file), file);
}

}  // namespace
}  // namespace paceline::controller

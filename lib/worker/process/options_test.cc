#include "lib/worker/process/options.h"

#include <cstdlib>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/job/environment.h"

namespace paceline::worker {
namespace {

using ::testing::HasSubstr;

class OptionsTest : public ::testing::Test {
 protected:
  ~OptionsTest() override {
    for (const auto& [name, value] : set_) ::unsetenv(name.c_str());
  }
  void Set(const std::vector<std::string>& arguments) {
    for (const auto& [name, value] : job::AsEnvironment(arguments)) {
      ::setenv(name.c_str(), value.c_str(), 1);
      set_.emplace_back(name, value);
    }
  }
  job::Environment set_;
};

TEST_F(OptionsTest, OfTheEnvironmentAreThoseOfTheFlags) {
  Set({"--job",
       "/run/job.json",
       "--folder",
       "/jobs",
       "--push-log",
       "/pushes",
       "--termination-message",
       "/dev/termination-log",
       "--coordinator",
       "unix:/run/ps-0",
       "--role",
       "evaluator",
       "--index",
       "7",
       "--tls-folder",
       "/tls",
       "--attempt",
       "3",
       "--connect-timeout-seconds",
       "1.5",
       "--group",
       "big",
       "--device",
       "cuda-if-usable",
       "--log-format",
       "json"});
  WorkerOptions unset;
  CLI::App app;
  AddFlags(app, unset);
  const size_t help = 1;
  EXPECT_EQ(set_.size(), app.get_options().size() - help)
      << "each flag, of which there is a new one";
  const StatusOr<WorkerOptions> options = OptionsFromEnvironment();
  ASSERT_TRUE(options.ok()) << Message(options.status());
  EXPECT_EQ(options->job_file, "/run/job.json");
  EXPECT_EQ(options->folder, "/jobs");
  EXPECT_EQ(options->push_log, "/pushes");
  EXPECT_EQ(options->termination_message, "/dev/termination-log");
  EXPECT_EQ(options->coordinator, "unix:/run/ps-0");
  EXPECT_TRUE(options->is_evaluator());
  EXPECT_EQ(options->index, 7U);
  EXPECT_EQ(options->tls_folder, "/tls");
  EXPECT_EQ(options->attempt, 3U);
  EXPECT_EQ(options->connect_timeout, Seconds(1.5));
  EXPECT_EQ(options->group, "big");
  EXPECT_EQ(options->device, "cuda-if-usable");
  EXPECT_EQ(options->log_format, "json");
}

TEST_F(OptionsTest, WithoutWorkAProcessHasTenMinutesPatience) {
  Set({"--job", "/run/job.json", "--coordinator", "unix:/run/ps-0"});
  const StatusOr<WorkerOptions> options = OptionsFromEnvironment();
  ASSERT_TRUE(options.ok()) << Message(options.status());
  EXPECT_EQ(options->connect_timeout, Seconds(600));
}

TEST_F(OptionsTest, WithoutAJobThereAreNone) {
  EXPECT_EQ(OptionsFromEnvironment().status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(OptionsTest, WhatIsWrongIsNamed) {
  Set({"--job", "/run/job.json", "--coordinator", "unix:/run/ps-0", "--index", "seven"});
  const StatusOr<WorkerOptions> options = OptionsFromEnvironment();
  ASSERT_EQ(options.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(options.status()), HasSubstr("seven"));
}

}  // namespace
}  // namespace paceline::worker

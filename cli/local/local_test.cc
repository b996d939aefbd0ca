#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/local/child.h"
#include "cli/local/display/live_state.h"
#include "cli/local/display/progress_view.h"
#include "cli/local/display/summary.h"
#include "cli/local/janitor.h"
#include "cli/local/job_folder.h"
#include "cli/local/process_table.h"
#include "cli/local/signals.h"
#include "lib/base/testing/eventually.h"
#include "lib/process/tree.h"

namespace paceline::local {
namespace {

using paceline::testing::Eventually;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

std::string Temporary(const std::string& name) {
  return std::filesystem::temp_directory_path() /
         fmt::format("paceline-local-test-{}-{}", getpid(), name);
}

std::string ReadAll(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Exit WaitFor(Child& child, Signals& signals) {
  for (int i = 0; i < 600 && !child.Poll(); ++i) signals.Wait(Seconds(0.1));
  return child.Poll().value_or(Exit{-1, -1});
}

TEST(Child, TellsItsExitCodeAndLogs) {
  Signals signals;
  const std::string log = Temporary("exit.log");
  auto child = Child::Start({.arguments = {"/bin/sh", "-c", "echo out; echo $WORD >&2; exit 7"},
                             .environment = {{"WORD", "set"}},
                             .log_path = log});
  ASSERT_TRUE(child.ok()) << Message(child.status());
  EXPECT_EQ(WaitFor(*child, signals).code, 7);
  EXPECT_EQ(ReadAll(log), "out\nset\n");
  std::filesystem::remove(log);
}

TEST(Child, TellsTheSignalThatEndedIt) {
  Signals signals;
  auto child = Child::Start(
      {.arguments = {"/bin/sleep", "1000"}, .environment = {}, .log_path = "/dev/null"});
  ASSERT_TRUE(child.ok());
  EXPECT_FALSE(child->Poll());
  child->Signal(SIGTERM);
  EXPECT_EQ(WaitFor(*child, signals).signal, SIGTERM);
}

TEST(Child, IsKilledWhenItsOwnerGoes) {
  pid_t pid = 0;
  {
    auto child = Child::Start(
        {.arguments = {"/bin/sleep", "1000"}, .environment = {}, .log_path = "/dev/null"});
    ASSERT_TRUE(child.ok());
    pid = child->pid();
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_NE(kill(pid, 0), 0);
}

TEST(Child, ThatCannotStartIsAnErrorWithTheProgramsName) {
  const Status status =
      Child::Start({.arguments = {"/no/such/program"}, .environment = {}, .log_path = "/dev/null"})
          .status();
  EXPECT_EQ(Message(status), "cannot start /no/such/program: No such file or directory");
}

TEST(Child, StartsInItsFolderAndFindsItsProgramByName) {
  Signals signals;
  const std::string log = Temporary("folder.log");
  auto child = Child::Start({.arguments = {"sh", "-c", "pwd"},
                             .environment = {},
                             .log_path = log,
                             .folder = std::filesystem::temp_directory_path()});
  ASSERT_TRUE(child.ok()) << Message(child.status());
  EXPECT_EQ(WaitFor(*child, signals).code, 0);
  EXPECT_EQ(ReadAll(log), std::filesystem::temp_directory_path().string() + "\n");
  std::filesystem::remove(log);
}

TEST(Child, OfAFolderThatIsNotThereIsAnErrorWithItsName) {
  const Status status = Child::Start({.arguments = {"sh"},
                                      .environment = {},
                                      .log_path = "/dev/null",
                                      .folder = "/no/such/folder"})
                            .status();
  EXPECT_EQ(Message(status),
            "cannot start sh in folder /no/such/folder: No such file or directory");
}

// How `script` ends, in the place of a program of ours or not, after an earlier life's output.
std::string LastWordOf(const std::string& script, bool may_leave_none) {
  const std::string log = Temporary("process.log"), word = Temporary("process.word");
  std::ofstream(log) << "of an earlier life\n";
  Signals signals;
  ProcessTable table;
  table.Start({.name = "mine"},
              {.arguments = {"/bin/sh", "-c", script},
               .environment = {{"WORD", word}},
               .log_path = log,
               .may_leave_none = may_leave_none},
              word, Time());
  for (int i = 0; i < 600 && table.IsAnyRunning(); ++i) {
    signals.Wait(Seconds(0.1));
    table.Update(Time());
  }
  std::string said = table.Find("mine")->last_word;
  std::filesystem::remove(log);
  std::filesystem::remove(word);
  return said;
}

TEST(ProcessTable, AProgramThatIsNotOursSaysItsLastLine) {
  EXPECT_EQ(LastWordOf("echo first; echo ModuleNotFoundError: x; echo; exit 1", true),
            "ModuleNotFoundError: x");
  EXPECT_EQ(LastWordOf("echo line; echo word > $WORD; exit 1", true), "word");
  EXPECT_EQ(LastWordOf("echo line; exit 0", true), "") << "it has not failed";
  EXPECT_EQ(LastWordOf("exit 1", true), "") << "an earlier life's line is not this one's";
  EXPECT_EQ(LastWordOf("echo line; exit 1", false), "") << "ours leave one themselves";
}

size_t CountOf(const std::string& mark) { return process::SignalTree(mark, 0, getpid(), 0); }

// The program's own process ends, what it started does not; or only when it must.
TEST(ProcessTable, AProcessHasEndedOnceAllItStartedHas) {
  const std::string mark = "/local-test/" + std::to_string(getpid()) + "/w/0/";
  const auto start = [&](ProcessTable& table, const std::string& script) {
    table.Start({.name = "w"},
                {.arguments = {"/bin/sh", "-c", script},
                 .environment = {},
                 .log_path = "/dev/null",
                 .mark = mark},
                "/nowhere", Time());
  };
  Signals signals;
  {
    ProcessTable table;
    start(table, "setsid sleep 1000 & (trap '' TERM; sleep 1001; :) & exit 3");
    ASSERT_TRUE(Eventually([&] { return CountOf(mark) == 3; }));
    ASSERT_TRUE(Eventually([&] {
      table.Update(Time());
      return CountOf(mark) == 2;  // The deaf shell and its child.
    }));
    EXPECT_TRUE(table.IsAnyRunning()) << "a worker on its seat would be one too many";
    EXPECT_EQ(table.NextKill(), Time() + Seconds(5));
    ASSERT_TRUE(Eventually([&] {
      table.Update(Time() + Seconds(6));
      return !table.IsAnyRunning();
    }));
    EXPECT_EQ(CountOf(mark), 0u);
    EXPECT_EQ(table.Find("w")->exit_code, 3);
  }
  {
    ProcessTable table;
    start(table, "sleep 1000 | cat; :");
    ASSERT_TRUE(Eventually([&] { return CountOf(mark) == 3; }));
    table.Stop("w", Seconds(30), Time());
    ASSERT_TRUE(Eventually([&] {
      table.Update(Time());
      return table.Find("w") == nullptr;
    })) << "asked to go, all of it goes";
    EXPECT_EQ(CountOf(mark), 0u);
    start(table, "setsid sleep 1000 & sleep 1001; :");
    ASSERT_TRUE(Eventually([&] { return CountOf(mark) == 3; }));
  }
  EXPECT_EQ(CountOf(mark), 0u) << "the table is gone";
}

TEST(ProcessTable, NoZombiesOfOrphansStay) {
  process::AdoptOrphans();
  const std::string mark = "/local-test/" + std::to_string(getpid()) + "/z/0/";
  ProcessTable table;
  table.Start({.name = "w"},
              {.arguments = {"/bin/sh", "-c", "(setsid true &) ; (setsid true &) ; sleep 1000; :"},
               .environment = {},
               .log_path = "/dev/null",
               .mark = mark},
              "/nowhere", Time());
  const auto children = [] {
    std::ifstream file(fmt::format("/proc/self/task/{}/children", gettid()));
    return std::vector<int>(std::istream_iterator<int>(file), {});
  };
  const auto is_zombie = [](int pid) {
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string number, name, state;  // true and sh have no blank in their names.
    return bool(file >> number >> name >> state) && state == "Z";
  };
  ASSERT_TRUE(Eventually(
      [&] { return CountOf(mark) == 2 && std::ranges::count_if(children(), is_zombie) == 2; }));
  table.Update(Time());
  EXPECT_EQ(children().size(), 1u);
}

// A run whose own process is killed.
TEST(Janitor, EndsWhatIsMarkedAndRemovesTheFolder) {
  std::string folder = Temporary("janitor-XXXXXX");
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/token") << "secret";
  for (const bool is_killed : {false, true}) {
    const pid_t run = fork();
    if (run == 0) {
      auto janitor = Janitor::Start(folder);
      auto child =
          Child::Start({.arguments = {"/bin/sh", "-c", "setsid sleep 1000 & sleep 1001; :"},
                        .environment = {},
                        .log_path = "/dev/null",
                        .mark = folder + "/w/0/"});
      if (!Eventually([&] { return CountOf(folder + "/") == 3; })) _exit(1);
      if (is_killed) raise(SIGKILL);
      child = Internal("gone");
      janitor = Internal("dismissed");
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(run, &status, 0), run);
    if (is_killed) {
      EXPECT_TRUE(WIFSIGNALED(status));
      EXPECT_TRUE(Eventually([&] { return !std::filesystem::exists(folder); }));
    } else {
      EXPECT_EQ(status, 0);
      EXPECT_TRUE(std::filesystem::exists(folder + "/token")) << "its owner removes it";
    }
    EXPECT_EQ(CountOf(folder + "/"), 0u);
  }
}

TEST(Signals, CountInterruptions) {
  Signals signals;
  kill(getpid(), SIGINT);
  signals.Wait(Seconds(30));
  EXPECT_EQ(signals.interruptions(), 1);
}

TEST(JobFolder, KeepsTheRunAndRemovesThePrivatePart) {
  const std::string parent = Temporary("runs");
  std::string private_folder;
  std::string kept;
  {
    auto folder = JobFolder::Create(JobFolder::NewPath(parent, "digits"));
    ASSERT_TRUE(folder.ok()) << Message(folder.status());
    kept = folder->path();
    const std::string address = folder->Address(0);
    private_folder = std::filesystem::path(address.substr(5)).parent_path();
    EXPECT_LT(address.size(), 107u);
    EXPECT_EQ(std::filesystem::status(private_folder).permissions(),
              std::filesystem::perms::owner_all);
    EXPECT_TRUE(std::filesystem::is_directory(kept + "/logs"));
  }
  EXPECT_FALSE(std::filesystem::exists(private_folder));
  EXPECT_TRUE(std::filesystem::exists(kept));
  std::filesystem::remove_all(parent);
}

constexpr char kState[] =
    R"({"phase":"training","step":1234,"epoch":3,"epochProgress":3.5,"committedSamples":5000,
  "trainSamples":1437,"percent":35.0,"etaSeconds":65.2,"loss":0.25,"trainAccuracy":0.9,"seconds":2.5,
  "samplesPerSecond":2000.4,"stepsPerSecond":31.0,"waitingFor":3,"nonFinitePushes":0,"startupWaitsFor":"",
  "samplesBefore":0,"rollBacks":1,"lastRollBack":"shard s1 lost: session ended; back to version 20, checkpoint 000002-g1.0-v20",
  "checkpoint":{"version":20,"problem":"","note":""},
  "evaluation":{"version":1200,"loss":0.2,"accuracy":0.975,"samples":360},
  "workers":[{"index":0,"incarnation":1,"isMember":true,"steps":600,"samples":2500,"accepted":600,"dropped":0,
  "staleness":0,"batchSize":16,"loss":0.2,"computeShare":0.5,"waitShare":0.25,"communicationShare":0.25,"injectedShare":0.125}],
  "chaos":true,
  "epochs":[],"finished":{"success":true,"reason":"3 epochs done"}})";

TEST(LiveState, IsReadFromTheCoordinatorsAnswer) {
  const StatusOr<LiveState> state = ParseLiveState(kState);
  ASSERT_TRUE(state.ok()) << Message(state.status());
  EXPECT_EQ(state->step, 1234u);
  EXPECT_DOUBLE_EQ(*state->accuracy, 0.975);
  EXPECT_DOUBLE_EQ(state->workers[0].wait_share, 0.25);
  EXPECT_EQ(state->finished->reason, "3 epochs done");
  EXPECT_EQ(ParseLiveState("[]").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseLiveState("{\"phase\":1}").status().code(), StatusCode::kInvalidArgument);
}

TEST(ProgressLine, ShowsWhatIsKnown) {
  EXPECT_EQ(ProgressLine(*ParseLiveState(kState)),
            "step 1,234  epoch 3.5  loss 0.2500  accuracy 97.5 %  2,000 samples/s  ETA 1:05");
  EXPECT_EQ(ProgressLine({.phase = "startup", .startup_waits_for = "w2, w3"}),
            "starting: waiting for w2, w3");
  EXPECT_THAT(ProgressLine({.phase = "finishing"}), StartsWith("finishing  step 0"));
  EXPECT_THAT(ProgressLine({.phase = "finishing", .model_problem = "no space left"}),
              StartsWith("finishing: the model is not written: no space left  step 0"));
}

TEST(TerminalLine, FitsTheTerminal) {
  const LiveState state = *ParseLiveState(kState);
  EXPECT_EQ(
      TerminalLine(state, 200),
      "[========>               ]  35 %  step 1,234  epoch 3.5  loss 0.2500  accuracy 97.5 %  "
      "2,000 samples/s  ETA 1:05");
  EXPECT_EQ(
      TerminalLine(state, 100),
      " 35 %  step 1,234  epoch 3.5  loss 0.2500  accuracy 97.5 %  2,000 samples/s  ETA 1:05");
  EXPECT_EQ(TerminalLine(state, 20), " 35 %  step 1,234  e");
}

TEST(Texts, OfNumbersAndTimes) {
  EXPECT_EQ(Thousands(0), "0");
  EXPECT_EQ(Thousands(999), "999");
  EXPECT_EQ(Thousands(1234567), "1,234,567");
  EXPECT_EQ(ClockText(7.4), "0:07");
  EXPECT_EQ(ClockText(3723), "1:02:03");
}

TEST(Summary, TellsPeopleAndPrograms) {
  RunSummary summary{.job = "digits",
                     .is_success = true,
                     .reason = "3 epochs done",
                     .state = *ParseLiveState(kState),
                     .model_path = "/runs/model.safetensors",
                     .folder = "/runs"};
  const std::string text = SummaryText(summary);
  EXPECT_THAT(text, HasSubstr("digits succeeded: 3 epochs done\n"));
  EXPECT_THAT(text, HasSubstr("97.50 % on held-out data"));
  EXPECT_THAT(text, HasSubstr("digits-worker-0"));
  EXPECT_THAT(text, HasSubstr("chaos      on: 12.5 % of the workers' time was injected sleep\n"));
  EXPECT_THAT(text, HasSubstr("/runs/model.safetensors"));
  EXPECT_EQ(text.find("poisoned"), std::string::npos);
  summary.state->poisoned_samples = 3;
  summary.state->poisoned = {"17", "4"};
  summary.state->workers[0].expulsions = 2;
  EXPECT_THAT(SummaryText(summary), HasSubstr("  poisoned   3 samples left out: 17, 4, ...\n"
                                              "  expelled   2 processes of workers\n"));
  const std::string json = SummaryJson(summary);
  EXPECT_THAT(json, HasSubstr("\"succeeded\":true"));
  EXPECT_THAT(json, HasSubstr("\"accuracy\":0.975"));
  EXPECT_THAT(json, HasSubstr("\"samplesPerSecond\":2000.0"));
  EXPECT_EQ(json.find('\n'), json.size() - 1);
}

TEST(Summary, SaysThatTheModelIsNotWhole) {
  RunSummary summary{.job = "lora", .state = *ParseLiveState(kState), .model_path = "/m"};
  EXPECT_THAT(SummaryText(summary), Not(HasSubstr("without")));
  summary.state->left_out_of_model = 20;
  EXPECT_THAT(
      SummaryText(summary),
      HasSubstr("  model      /m\n             without 20 frozen parameters of the script's "
                "own: load those as it does\n"));
}

TEST(Summary, TellsWhatLossScalingCost) {
  RunSummary summary{.job = "digits", .state = *ParseLiveState(kState)};
  EXPECT_EQ(SummaryText(summary).find("overflows"), std::string::npos);
  EXPECT_THAT(SummaryJson(summary), HasSubstr("\"overflows\":0"));
  summary.state->workers = {{.index = 0, .overflows = 2, .loss_scale = 16384},
                            {.index = 1, .overflows = 1, .loss_scale = 32768}};
  EXPECT_THAT(
      SummaryText(summary),
      HasSubstr("  overflows  3 steps given up by loss scaling; scale now 16384 to 32768\n"));
  EXPECT_THAT(SummaryJson(summary), HasSubstr("\"overflows\":3"));
}

TEST(Summary, TellsWhatRollBacksCost) {
  const RunSummary summary{.job = "digits",
                           .recovery = job::RecoveryStatus{.roll_backs = 2,
                                                           .lost_steps = 1930,
                                                           .lost_seconds = 41.25,
                                                           .message = "shard s1 lost"},
                           .state = *ParseLiveState(kState)};
  EXPECT_THAT(SummaryText(summary), HasSubstr("roll backs 2, which cost 1,930 steps and 41.2 s of "
                                              "training; the last: shard s1 lost\n"));
  EXPECT_THAT(SummaryJson(summary),
              HasSubstr("\"rollBacks\":2,\"lostSteps\":1930,\"lostSeconds\":41.25"));
}

TEST(Summary, HasExactlyTheFieldsThatProgramsAreTold) {
  const auto keys = [](const nlohmann::json& object) {
    std::vector<std::string> names;
    for (const auto& [name, value] : object.items()) names.push_back(name);
    return names;
  };
  const auto json =
      nlohmann::json::parse(SummaryJson({.job = "digits", .state = *ParseLiveState(kState)}));
  EXPECT_THAT(keys(json),
              UnorderedElementsAre("succeeded", "accuracy", "loss", "metrics", "steps", "epochs",
                                   "seconds", "samplesPerSecond", "rollBacks", "lostSteps",
                                   "lostSeconds", "overflows", "poisonedSamples", "skippedSamples",
                                   "expulsions", "reason", "workers", "model"));
  EXPECT_THAT(keys(json["workers"][0]),
              UnorderedElementsAre("name", "group", "index", "device", "threads", "steps",
                                   "samples", "computeShare", "waitShare", "communicationShare"));
}

TEST(Summary, OfAJobThatNeverBeganHasNulls) {
  const std::string json = SummaryJson({.job = "digits", .reason = "no data", .folder = "/runs"});
  EXPECT_THAT(json, HasSubstr("\"accuracy\":null"));
  EXPECT_THAT(json, HasSubstr("\"model\":null"));
  EXPECT_THAT(json, HasSubstr("\"succeeded\":false"));
}

}  // namespace
}  // namespace paceline::local

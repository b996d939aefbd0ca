// Runs tests/golden/sync/*.txt: policies, told line by line, answer line by line.
//
// A block is input lines, "----", the decisions, an empty line. The first input is
//   policy <spec>
// with workers=N meaning that w0 to w(N-1) join at once, and the batch, unless it is given, one
// sample a worker. The others are events as in a trace, where `push w0` stands for the worker's
// next sequence and the version that it was released on; the decisions leave a sequence out that is
// the worker's newest. After each commit the policy is told StepCommitted with a rate of 0.1 and a
// squared norm of 1; the contract is checked. A second passes with each event.
//
// PACELINE_REWRITE=1 writes the decisions into the files instead of comparing.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <gmock/gmock.h>

#include "lib/base/testing/places.h"
#include "lib/sync/contract/checked_policy.h"
#include "lib/sync/schemes/policy_factory.h"
#include "lib/sync/trace/trace.h"

namespace paceline::sync {
namespace {

const std::filesystem::path kFolder = InSource("tests/golden/sync");

std::string ReadFile(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Of each commit, for policies that look.
constexpr double kLearningRate = 0.1, kSquaredNorm = 1;

bool StartsWith(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

class GoldenRun {
 public:
  // The whole file with the decisions as they are now.
  std::string Run(const std::string& file) {
    std::istringstream lines(file);
    std::string output;
    bool is_in_decisions = false;
    for (std::string line; std::getline(lines, line);) {
      if (is_in_decisions) {
        if (!line.empty()) continue;
        is_in_decisions = false;
        output += Answers() + "\n";
        continue;
      }
      output += line + "\n";
      if (line == "----") {
        is_in_decisions = true;
      } else if (!line.empty() && line[0] != '#') {
        Feed(line);
      }
    }
    return output + Answers();
  }

 private:
  std::string Answers() { return std::exchange(answers_, ""); }

  void Feed(const std::string& line) {
    if (StartsWith(line, "policy ")) return MakePolicyFrom(line.substr(7));
    if (policy_ == nullptr) return Fail("want a policy first: " + line);
    const StatusOr<Event> event = ParseEvent(Completed(line));
    if (!event.ok()) return Fail(Message(event.status()));
    Observe(*event);
  }

  void MakePolicyFrom(std::string text) {
    StatusOr<PolicySpec> spec = ParsePolicySpec(text);
    if (!spec.ok()) return Fail(Message(spec.status()));
    if (text.find("batch=") == std::string::npos) spec->global_batch_size = spec->workers_expected;
    policy_ = std::make_unique<CheckedPolicy>(
        *MakePolicy(*spec), *spec, [this](const std::string& violation) { Fail(violation); });
    for (uint32_t i = 0; i < spec->workers_expected; ++i) Observe(WorkerJoined{WorkerId(i)});
  }

  // `push w0 ...` and `abandon w0 ...` get the sequence and version that they leave out.
  std::string Completed(const std::string& line) {
    std::istringstream words(line);
    std::string kind, worker, rest;
    words >> kind >> worker;
    std::getline(words, rest);
    if (kind != "push" && kind != "abandon") return line;
    if (rest.find(" #") == std::string::npos) {
      rest = fmt::format(" #{}", ++newest_sequence_[worker]) + rest;
    }
    if (kind == "push" && rest.find(" based-on=") == std::string::npos) {
      rest += fmt::format(" based-on={}", released_[worker]);
    }
    return kind + " " + worker + rest;
  }

  void Observe(const Event& event) {
    std::vector<Decision> decisions;
    policy_->Observe(event, now_, decisions);
    now_ += Seconds(1);
    uint64_t commits = 0;
    for (const Decision& decision : decisions) {
      answers_ += Shortened(decision) + "\n";
      if (const auto* release = std::get_if<Release>(&decision)) {
        released_[ToString(release->worker)] = release->version;
      }
      commits += std::holds_alternative<Commit>(decision);
    }
    for (; commits > 0; --commits) {
      published_ = published_.Next();
      Observe(StepCommitted{published_, kLearningRate, kSquaredNorm});
    }
  }

  std::string Shortened(const Decision& decision) {
    std::string line = FormatDecision(decision);
    std::istringstream words(line);
    std::string kind, worker;
    words >> kind >> worker;
    const std::string sequence = fmt::format(" {} #{}", worker, newest_sequence_[worker]);
    if (const size_t at = line.find(sequence + " "); at != std::string::npos) {
      line.replace(at, sequence.size(), " " + worker);
    }
    return line;
  }

  void Fail(const std::string& message) {
    ADD_FAILURE() << message;
    answers_ += "! " + message + "\n";
  }

  std::unique_ptr<CheckedPolicy> policy_;
  std::map<std::string, uint64_t> newest_sequence_;
  std::map<std::string, Version> released_;
  Version published_;
  Time now_{};
  std::string answers_;
};

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".txt") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class SyncGolden : public ::testing::TestWithParam<std::string> {};

TEST_P(SyncGolden, DecidesAsWritten) {
  const std::filesystem::path path = kFolder / (GetParam() + ".txt");
  const std::string expected = ReadFile(path);
  const std::string actual = GoldenRun().Run(expected);
  if (std::getenv("PACELINE_REWRITE") != nullptr) {
    std::ofstream(path) << actual;
  } else {
    EXPECT_EQ(actual, expected) << path << ": PACELINE_REWRITE=1 writes the file anew";
  }
}

INSTANTIATE_TEST_SUITE_P(All, SyncGolden, ::testing::ValuesIn(Names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace paceline::sync

// Runs `paceline run` as a user would, and looks at it, from outside, while it runs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/types.h>

namespace paceline::integration {

// A folder of its own for one test, removed at the end unless the test failed.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  const std::string& path() const { return path_; }
  std::string Write(const std::string& name, const std::string& text) const;  // The file's path.

 private:
  std::string path_;
};

std::string ReadText(const std::string& path);

// The handwritten digits and a small built-in network, 4 workers, 1 shard, BSP, 2 epochs;
// overridden by --set.
std::string DigitsManifest();
std::string SampleManifest();  // deploy/samples/digits.yaml, as it lies there.

// `overrides`, and those by which workers sleep so long for each sample of a step, as if they
// computed on a slow device: a run's length hardly depends on the machine, and leaves it to others.
std::vector<std::string> Paced(double seconds_per_sample, std::vector<std::string> overrides);

// As arguments: --set before each.
std::vector<std::string> Sets(const std::vector<std::string>& overrides);

struct Ended {
  int code = -1;  // Of the command; 128 + number if a signal ended it.
  std::string out;
  std::string err;
  nlohmann::json summary;     // What -o json printed; null if it is no JSON.
  nlohmann::json last_state;  // The run's summary.json; null if there is none.
};

class LiveRun {
 public:
  // Starts `paceline run MANIFEST -o json --runs FOLDER/runs ARGUMENTS...`.
  LiveRun(const TestFolder& folder, const std::string& manifest_path,
          const std::vector<std::string>& arguments);
  // Starts that command, a `paceline run -o json --runs FOLDER/runs`; its output goes to FOLDER.
  LiveRun(std::string folder, const std::vector<std::string>& command);
  ~LiveRun();  // Kills what is left.

  // Asks the coordinator for its state until `is_reached` says yes: the state then. Null if the run
  // ends or `timeout_seconds` pass before.
  nlohmann::json WaitFor(const std::function<bool(const nlohmann::json&)>& is_reached,
                         double timeout_seconds = 60);
  // Until the command's stderr contains `text`.
  bool WaitForText(const std::string& text, double timeout_seconds = 60);

  // The newest process of this run with that name, such as "worker-2", "big-0" or "ps-1"; 0 if
  // there is none.
  pid_t PidOf(const std::string& process) const;
  std::vector<pid_t> AllPids() const;  // The command's own left out.
  bool WaitForNoProcess(double timeout_seconds = 30) const;
  void Signal(int number) const;                 // To the command.
  int PortOf(const std::string& process) const;  // Of its HTTP endpoint; 0 if it is not known.
  std::string GetAt(int port, const std::string& path) const;
  std::string Get(const std::string& path)
      const;                      // From the coordinator's endpoint; empty if it does not answer.
  std::string RunFolder() const;  // The one folder under runs; empty before there is one.
  std::string LogOf(const std::string& process) const;

  // Whether the sum of the state's steps moves on behind that state.
  bool MovesOn(const nlohmann::json& state, uint64_t steps);

  bool HasEnded();
  // Waits for the command; kills it after `timeout_seconds` and then says code -1.
  Ended Wait(double timeout_seconds = 120);

 private:
  std::optional<int> Port() const;

  std::string folder_;
  pid_t pid_ = 0;
  std::optional<int> code_;
};

// Starts, waits.
Ended RunToEnd(const TestFolder& folder, const std::string& manifest_path,
               const std::vector<std::string>& arguments, double timeout_seconds = 120);

// The sum over the workers of a state.
uint64_t SamplesOf(const nlohmann::json& state);

// Fails the test unless the lease ledger in `state` says that every sample of `epochs` epochs was
// committed exactly once.
void ExpectEverySampleOnce(const nlohmann::json& state, uint64_t epochs);

std::string ProgramPath(const std::string& name);  // Of one of our programs.

// Starts one of our programs, by name, with its output in these files.
pid_t SpawnProgram(const std::vector<std::string>& arguments, const std::string& out,
                   const std::string& err);

int RunCommand(const std::string& shell_line);  // Its exit code; its output is thrown away.

// Any of our programs by name: exit code and output.
Ended RunProgram(const std::vector<std::string>& arguments, double timeout_seconds = 30);

}  // namespace paceline::integration

// Defines StepTask and who does it: Paceline's own programs, or PyTorch's (step_peers.py).
//
// All of them train the same model from the same initial values on the same samples: PyTorch
// exports the model and makes the data, EpochOrder says which samples are whose, and in each step
// worker w has the w-th part of the step's samples, or, where Paceline's workers ask in another
// order, all workers together have the same ones.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/bench/links.h"
#include "tests/bench/usage_watch.h"

namespace paceline::bench {

// Where what a run needs is found.
struct StepPlaces {
  std::string python;    // As `tools/setup --python` names it.
  std::string peers;     // step_peers.py.
  std::string programs;  // The folder of paceline, paceline-ps and paceline-worker.
};

struct StepTask {
  std::vector<uint64_t> widths;  // Of the layers of a perceptron, inputs first, classes last.
  uint64_t batch = 32;           // Samples of a step, each worker.
  uint64_t workers = 2;
  uint64_t shards = 2;
  uint64_t threads = 1;        // Each worker.
  uint64_t steps = 50;         // One epoch.
  std::string device = "CPU";  // Of every worker, on both sides: CPU or CUDA, all on one GPU.
  std::string precision = "Float32";  // As training.precision has it.
  double rate = 0.01;
  double momentum = 0.9;

  uint64_t parameters() const;
};

// How workers reach shards: what `paceline run` gets beside the manifest.
struct Transport {
  const char* name;
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;
};

// What was measured leaves out the first fifth of the steps.
struct StepRun {
  double step_ms = 0;          // Median.
  double worker_cpu_ms = 0;    // A step, worker 0.
  double all_cpu_ms = 0;       // A step, workers and shards together.
  double minor_faults = 0;     // A step, worker 0.
  double compute_ms = 0;       // A step, as workers tell it; median. Of Paceline's.
  double commit_ms = 0;        // From the last push to the version; median. Of Paceline's.
  std::vector<double> losses;  // Of each step, mean over its samples.
};

// The largest relative difference of two runs' losses, and that of the last step.
struct LossDifference {
  double largest = 0, last = 0;
};
LossDifference Compare(const StepRun& a, const StepRun& b);

// A folder with the task's model and samples, removed at the end. The process ends with a line
// where something cannot be made or run.
class StepFolder {
 public:
  StepFolder(StepTask task, StepPlaces places);
  ~StepFolder();
  StepFolder(const StepFolder&) = delete;

  const StepTask& task() const { return task_; }
  StepRun RunPaceline(const Transport& transport) const;
  // The same over TCP, each process by itself and in its place; with overrides as of --set.
  StepRun RunPaceline(const LinkPlaces& places, const std::vector<std::string>& overrides) const;
  // DistributedDataParallel with gloo, a process a worker.
  StepRun RunDdp() const { return RunPeers("ddp", nullptr); }
  StepRun RunDdp(const LinkPlaces& places) const { return RunPeers("ddp", &places); }
  StepRun RunLoop() const;  // PyTorch's own loop. The task has one worker.

 private:
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  StepRun RunPeers(const std::string& kind, const LinkPlaces* places) const;
  StepRun Measured(const UsageWatch& watch, const std::string& trace) const;

  StepTask task_;
  StepPlaces places_;
  std::string path_;
};

}  // namespace paceline::bench

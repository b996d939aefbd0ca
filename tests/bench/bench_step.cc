// Measures whole steps of training, beside PyTorch doing the same.
//
//   bench_step [--json FILE] [--rounds N] [--steps N]
//              [--part step|threads|precision|alone|script|links] [--transport NAME] [--gbit N]
//              [--device CPU|CUDA] [--batch N] [--shards N] [--threads N] [--small]
//              [--python PROGRAM] [--peers FILE] [--programs FOLDER]
//
// (JSON=FILE in the environment names the file too.) Part `step`: two workers and two shards of
// `paceline run` beside DistributedDataParallel with gloo. Part `threads`: one worker with one and
// two threads beside PyTorch's own loop. Part `precision`: the former of them in Float32, BFloat16
// and Float16. Part `alone`, only where it is named: one worker with the model of `step` beside
// that loop. Part `script`, only where it is named: scripts in the place of paceline-worker, with
// the digits' model and that of `step`. Part `links`, only where it is named, as root: two workers
// behind links of 1 and 2.5 Gbit/s, or of --gbit. Each round runs all contenders one after the
// other, so that a disturbance of the machine falls on all alike. --batch: samples of each worker.
// --shards and --threads: of `step` (2, 1) and `alone` (1, 1). --small takes tiny models: it only
// shows that the bench works. The last three say where things lie; without them they are looked for
// in the source and the build folder. Exit code 1 if losses differ, but in reduced precision, where
// that is a figure; 77 if there is no Python with PyTorch, or no link can be made.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "lib/base/testing/places.h"
#include "tests/bench/report.h"
#include "tests/bench/step_links.h"
#include "tests/bench/step_precision.h"
#include "tests/bench/step_rows.h"
#include "tests/bench/step_runs.h"
#include "tests/bench/step_script.h"

namespace paceline::bench {
namespace {

constexpr const char* kRule =
    "Milliseconds a step, float32, SGD with momentum, the same initial values and samples on both "
    "sides; the first fifth of the\nsteps is left out. CPU: user and system time of worker 0, and "
    "of all workers and shards. Faults: minor page faults of worker\n0. Malloc keeps freed memory "
    "on both sides: M_MMAP_THRESHOLD and M_TRIM_THRESHOLD at 1 GB by mallopt, in our programs\n"
    "(lib/rpc/bulk/allocator.cc) and in PyTorch's (step_peers.py). DDP has fused SGD and gradients "
    "that are views of its buckets.\nTwo threads of a process wait without spinning, on both sides "
    "(OMP_WAIT_POLICY=passive). Loss: relative difference to PyTorch's, of the last step and "
    "the largest of all steps.";

constexpr double kLossDifferenceMax = 1e-5;
constexpr int kExitSkipped = 77;

// How workers reach shards; the first part of a row's name.
const std::vector<Transport>& Transports() {
  static const std::vector<Transport> kTransports = {
      {.name = "shared-memory", .arguments = {}, .environment = {}},
      {.name = "sockets",
       .arguments = {"--set", "spec.network.transport=Sockets"},
       .environment = {}},
  };
  return kTransports;
}

struct Options {
  std::string json_path = JsonPathFromEnvironment();
  int rounds = 9;
  uint64_t steps = 50;
  std::optional<std::string> part;
  std::optional<std::string> transport;
  std::string device = "CPU";
  std::optional<uint64_t> batch;
  std::optional<uint64_t> shards;
  std::optional<uint64_t> threads;
  std::optional<double> gigabits;
  bool is_small = false;
  StepPlaces places = {
      .python = "", .peers = InSource("tests/bench/step_peers.py"), .programs = InBuild("bin")};
};

// One table. False if losses differ by more than they may.
bool RunPart(const std::string& part, const std::vector<StepTask>& tasks,
             const std::vector<Transport>& transports, const Options& options,
             nlohmann::ordered_json& json) {
  bool agrees = true;
  for (const StepTask& task : tasks) {
    const StepFolder folder(task, options.places);
    const bool is_ddp = task.workers > 1;
    std::vector<StepRow> rows(1 + transports.size());
    rows[0].name = is_ddp ? "DDP, gloo" : "PyTorch's own loop";
    for (size_t i = 0; i < transports.size(); ++i)
      rows[1 + i].name = fmt::format("Paceline, {}", transports[i].name);
    for (int round = 0; round < options.rounds; ++round) {
      const StepRun peer = is_ddp ? folder.RunDdp() : folder.RunLoop();
      rows[0].Add(peer, peer);
      for (size_t i = 0; i < transports.size(); ++i)
        rows[1 + i].Add(folder.RunPaceline(transports[i]), peer);
    }
    std::cout << fmt::format(
        "\n{} parameters, {} workers, {} shards, batch {} a worker, device {}, threads {}, {} "
        "steps, rounds {}\n",
        task.parameters(), task.workers, task.shards, task.batch, task.device, task.threads,
        task.steps, options.rounds);
    PrintHead();
    for (const StepRow& row : rows) {
      Print(row);
      json.push_back(Json(part, row, task));
      agrees = agrees && row.loss.last <= kLossDifferenceMax;
    }
  }
  return agrees;
}

std::vector<StepTask> StepTasks(const Options& options) {
  StepTask task{.widths = {3072, 4096, 4096, 10}, .steps = options.steps, .device = options.device};
  if (options.is_small) task.widths = {64, 128, 128, 10};
  if (options.batch) task.batch = *options.batch;
  if (options.shards) task.shards = *options.shards;
  if (options.threads) task.threads = *options.threads;
  return {task};
}

std::vector<StepTask> ThreadsTasks(const Options& options) {
  StepTask task{.widths = {64, 2048, 10},
                .batch = 1024,
                .workers = 1,
                .shards = 1,
                .steps = options.steps,
                .device = options.device};
  if (options.is_small) task.batch = 64;
  if (options.batch) task.batch = *options.batch;
  StepTask two_threads = task;
  two_threads.threads = 2;
  return {task, two_threads};
}

std::vector<StepTask> AloneTasks(const Options& options) {
  std::vector<StepTask> tasks = StepTasks(options);
  for (StepTask& task : tasks) {
    task.workers = 1;
    task.shards = options.shards.value_or(1);
  }
  return tasks;
}

// The digits' perceptron, with two workers and four, and the model of `step`.
std::vector<StepTask> ScriptTasks(const Options& options) {
  std::vector<StepTask> tasks;
  for (const uint64_t workers : {2, 4}) {
    tasks.push_back({.widths = {64, 64, 10},
                     .batch = options.batch.value_or(16),
                     .workers = workers,
                     .steps = options.steps});
  }
  if (!options.is_small) tasks.push_back(StepTasks(options).front());
  return tasks;
}

bool IsPart(const std::string& name) {
  return name == "step" || name == "threads" || name == "precision" || name == "alone" ||
         name == "script" || name == "links";
}

std::optional<Options> Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--small") {
      options.is_small = true;
      --i;
      continue;
    }
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    const int number = std::atoi(value.c_str());
    if (flag == "--json" && !value.empty()) {
      options.json_path = value;
    } else if (flag == "--rounds" && number > 0) {
      options.rounds = number;
    } else if (flag == "--steps" && number >= 5) {
      options.steps = static_cast<uint64_t>(number);
    } else if (flag == "--part" && IsPart(value)) {
      options.part = value;
    } else if (flag == "--gbit" && std::atof(value.c_str()) > 0) {
      options.gigabits = std::atof(value.c_str());
    } else if (flag == "--transport" && !value.empty()) {
      options.transport = value;
    } else if (flag == "--device" && (value == "CPU" || value == "CUDA")) {
      options.device = value;
    } else if (flag == "--batch" && number > 0) {
      options.batch = static_cast<uint64_t>(number);
    } else if (flag == "--shards" && number > 0) {
      options.shards = static_cast<uint64_t>(number);
    } else if (flag == "--threads" && number > 0) {
      options.threads = static_cast<uint64_t>(number);
    } else if (flag == "--python" && !value.empty()) {
      options.places.python = value;
    } else if (flag == "--peers" && !value.empty()) {
      options.places.peers = value;
    } else if (flag == "--programs" && !value.empty()) {
      options.places.programs = value;
    } else {
      return std::nullopt;
    }
  }
  return options;
}

// Empty, and why on stderr, if there is none.
std::string FindPython() {
  FILE* const setup = ::popen(InSource("tools/setup --python").c_str(), "r");
  std::array<char, 4096> line{};
  const bool is_read = setup != nullptr && std::fgets(line.data(), line.size(), setup) != nullptr;
  if (setup == nullptr || ::pclose(setup) != 0 || !is_read) return "";
  const std::string text(line.data());
  return text.substr(0, text.find('\n'));
}

// An exit code.
int RunLinksAlone(const Options& options) {
  LinksOptions links{
      .task = StepTasks(options).front(), .places = options.places, .rounds = options.rounds};
  if (options.gigabits) links.gigabits = {*options.gigabits};
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  const StatusOr<bool> agrees = RunLinks(links, kLossDifferenceMax, json);
  if (!agrees.ok()) {
    std::cerr << fmt::format("links cannot be made here: {}\n", Message(agrees.status()));
    return kExitSkipped;
  }
  const int written = WriteRows(json, options.json_path);
  if (!*agrees) std::cerr << fmt::format("losses differ by more than {:.0e}\n", kLossDifferenceMax);
  return *agrees ? written : 1;
}

int Run(int argc, char** argv) {
  std::optional<Options> options = Parse(argc, argv);
  std::vector<Transport> transports;
  std::string names;
  for (const Transport& transport : Transports()) {
    names += (names.empty() ? "" : "|") + std::string(transport.name);
    if (options && options->transport.value_or(transport.name) == transport.name)
      transports.push_back(transport);
  }
  if (!options || transports.empty()) {
    std::cerr << fmt::format(
        "usage: bench_step [--json FILE] [--rounds N] [--steps N, at least 5] [--part "
        "step|threads|precision|alone|script|links] [--transport {}] [--gbit N] [--device "
        "CPU|CUDA] [--batch N] [--shards N] [--threads N] "
        "[--small] [--python "
        "PROGRAM] [--peers FILE] [--programs FOLDER]\n",
        names);
    return 2;
  }
  if (options->places.python.empty()) options->places.python = FindPython();
  if (options->places.python.empty()) return kExitSkipped;
  if (options->part == "links") return RunLinksAlone(*options);
  std::cout << kRule << std::endl;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  bool agrees = true;
  if (options->part.value_or("step") == "step")
    agrees = RunPart("step", StepTasks(*options), transports, *options, json);
  // What is on one machine anyway and has one worker shows nothing of a transport.
  if (options->part.value_or("threads") == "threads") {
    agrees =
        RunPart("threads", ThreadsTasks(*options), {transports.front()}, *options, json) && agrees;
  }
  if (options->part.value_or("precision") == "precision") {
    agrees = RunPrecision(ThreadsTasks(*options).front(), options->places, transports.front(),
                          options->rounds, kLossDifferenceMax, json) &&
             agrees;
  }
  if (options->part == "alone")
    agrees = RunPart("alone", AloneTasks(*options), {transports.front()}, *options, json) && agrees;
  if (options->part == "script") {
    agrees = RunScripts(ScriptTasks(*options), options->places,
                        {.source = InSource(), .build = InBuild()}, options->rounds,
                        kLossDifferenceMax, json);
  }
  const int written = WriteRows(json, options->json_path);
  if (!agrees) std::cerr << fmt::format("losses differ by more than {:.0e}\n", kLossDifferenceMax);
  return agrees ? written : 1;
}

}  // namespace
}  // namespace paceline::bench

int main(int argc, char** argv) { return paceline::bench::Run(argc, argv); }

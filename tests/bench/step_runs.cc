#include "tests/bench/step_runs.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "lib/base/epoch_order.h"
#include "lib/base/testing/eventually.h"
#include "lib/job/manifest/encode.h"
#include "lib/job/manifest/load.h"
#include "lib/sync/trace/trace.h"
#include "tests/bench/child_process.h"
#include "tests/bench/command.h"
#include "tests/bench/report.h"
#include "tests/bench/usage_watch.h"

namespace paceline::bench {
namespace {

constexpr uint64_t kSeed = 1;
constexpr double kSecondsMax = 900;
constexpr std::chrono::milliseconds kLookPeriod(20);
constexpr uint64_t kFirstPort =
    7601;  // In namespaces of the bench's own, where nobody else listens.

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteAll(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.flush();
  if (!file) Fail(("cannot write " + path).c_str());
}

// Until it has ended; `look` meanwhile.
template <class Look>
void Await(Command& command, const std::string& output, const Look& look) {
  const auto has_ended = [&] {
    if (command.Ended()) return true;
    look();
    return false;
  };
  if (!testing::Eventually(has_ended, kSecondsMax, kLookPeriod))
    Fail((output + " does not come to its end").c_str());
  if (*command.Ended() == 0) return;
  std::cerr << ReadAll(output + ".err");
  Fail(fmt::format("{} ended with code {}", output, *command.Ended()).c_str());
}

size_t WarmUp(size_t steps) { return steps / 5; }

double MedianStepMs(const std::vector<double>& ends) {
  std::vector<double> steps;
  for (size_t i = WarmUp(ends.size()) + 1; i < ends.size(); ++i)
    steps.push_back(1e3 * (ends[i] - ends[i - 1]));
  return Median(steps);
}

struct Trace {
  std::vector<double> commits;  // Steady seconds.
  std::vector<double> pushes;   // The last one before each of them.
  std::vector<double> computes;
  std::vector<double> losses;
};

Trace ReadTrace(const std::string& path) {
  Trace trace;
  std::vector<double> samples;
  double pushed_at = 0;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t space = line.find(' ');
    if (line[0] != '@' || space == std::string::npos) continue;
    const double at = std::strtod(line.c_str() + 1, nullptr);
    const StatusOr<sync::Event> event = sync::ParseEvent(line.substr(space + 1));
    if (!event.ok()) Fail(("a line of the trace is no event: " + line).c_str());
    if (const auto* const push = std::get_if<sync::PushArrived>(&*event)) {
      const size_t step = push->based_on.value();
      trace.losses.resize(std::max(trace.losses.size(), step + 1));
      samples.resize(trace.losses.size());
      trace.losses[step] += push->gradient.loss * push->samples;
      samples[step] += push->samples;
      trace.computes.push_back(ToSeconds(push->timing.compute));
      pushed_at = at;
    } else if (std::holds_alternative<sync::StepCommitted>(*event)) {
      trace.commits.push_back(at);
      trace.pushes.push_back(pushed_at);
    }
  }
  for (size_t i = 0; i < samples.size(); ++i) trace.losses[i] /= samples[i];
  return trace;
}

using Environment = std::vector<std::pair<std::string, std::string>>;

// Threads of one process that wait for one another spin where nothing else is said: whatever else
// wants a core for a moment then costs milliseconds at each barrier, on either side.
Environment ForThreads(const StepTask& task) {
  Environment environment = {{"OMP_NUM_THREADS", fmt::format("{}", task.threads)}};
  if (task.threads > 1) environment.emplace_back("OMP_WAIT_POLICY", "passive");
  return environment;
}

constexpr const char* kManifest = R"(apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {{name: step}}
spec:
  model: {{torchScript: model.pt, loss: CrossEntropy}}
  data: {{train: train.safetensors}}
  training:
    globalBatchSize: {}
    optimizer: {{type: SGD, sgd: {{momentum: {}}}}}
    learningRate: {{base: {}}}
    stop: {{maxSteps: {}}}
    seed: {}
    precision: {}
  sync: {{scheme: BSP}}
  parameterServer: {{shards: {}}}
  workers: {{replicas: {}, threads: {}, device: {}}}
)";

}  // namespace

uint64_t StepTask::parameters() const {
  uint64_t sum = 0;
  for (size_t i = 1; i < widths.size(); ++i) sum += (widths[i - 1] + 1) * widths[i];
  return sum;
}

LossDifference Compare(const StepRun& a, const StepRun& b) {
  if (a.losses.size() != b.losses.size() || a.losses.empty()) Fail("runs of different lengths");
  LossDifference difference;
  for (size_t i = 0; i < a.losses.size(); ++i) {
    difference.last = std::abs(a.losses[i] - b.losses[i]) / std::abs(b.losses[i]);
    // Also where one of them is no number.
    if (!(difference.last <= difference.largest)) difference.largest = difference.last;
  }
  return difference;
}

StepFolder::StepFolder(StepTask task, StepPlaces places)
    : task_(std::move(task)), places_(std::move(places)) {
  path_ = (std::filesystem::temp_directory_path() / "bench-step-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr) Fail("cannot make a folder for the bench");
  const uint64_t samples = task_.steps * task_.batch * task_.workers;
  EpochOrder order(samples, kSeed);
  const auto first = order.Epoch(0);
  WriteAll(File("order.u32"), {reinterpret_cast<const char*>(first.data()), first.size_bytes()});
  WriteAll(File("task.json"), nlohmann::json({{"seed", kSeed},
                                              {"samples", samples},
                                              {"widths", task_.widths},
                                              {"batch", task_.batch},
                                              {"threads", task_.threads},
                                              {"device", task_.device},
                                              {"precision", task_.precision},
                                              {"steps", task_.steps},
                                              {"rate", task_.rate},
                                              {"momentum", task_.momentum}})
                                  .dump());
  WriteAll(File("job.yaml"), fmt::format(kManifest, task_.batch * task_.workers, task_.momentum,
                                         task_.rate, task_.steps, kSeed, task_.precision,
                                         task_.shards, task_.workers, task_.threads, task_.device));
  Command exported({places_.python, places_.peers, "export", path_}, {}, File("export"));
  Await(exported, File("export"), [] {});
}

StepFolder::~StepFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

StepRun StepFolder::RunPaceline(const Transport& transport) const {
  const std::string runs = File("runs");
  std::filesystem::remove_all(runs);
  std::vector<std::string> arguments = {places_.programs + "/paceline", "run", File("job.yaml"),
                                        "--runs", runs};
  arguments.insert(arguments.end(), transport.arguments.begin(), transport.arguments.end());
  Environment environment = ForThreads(task_);
  environment.insert(environment.end(), transport.environment.begin(), transport.environment.end());
  Command command(arguments, environment, File("paceline"));
  UsageWatch watch(command.pid());
  Await(command, File("paceline"), [&watch] { watch.Look(); });
  std::string trace;
  for (const auto& run : std::filesystem::directory_iterator(runs))
    trace = (run.path() / "policy.trace").string();
  return Measured(watch, trace);
}

StepRun StepFolder::Measured(const UsageWatch& watch, const std::string& path) const {
  const Trace trace = ReadTrace(path);
  if (trace.commits.size() != task_.steps) Fail("the run did not make all steps");
  const size_t warm_up = WarmUp(task_.steps);
  const auto steps = static_cast<double>(task_.steps - 1 - warm_up);
  const auto used = [&](const std::vector<std::string>& words) {
    return watch.Between(trace.commits[warm_up], trace.commits.back(), words);
  };
  const Usage worker = used({"paceline-worker", " --index 0 "});
  std::vector<double> computes(trace.computes.begin() + warm_up * task_.workers,
                               trace.computes.end());
  std::vector<double> commits;
  for (size_t i = warm_up; i < trace.commits.size(); ++i)
    commits.push_back(trace.commits[i] - trace.pushes[i]);
  return {.step_ms = MedianStepMs(trace.commits),
          .worker_cpu_ms = 1e3 * worker.cpu_seconds / steps,
          .all_cpu_ms = 1e3 * used({"paceline-"}).cpu_seconds / steps,
          .minor_faults = worker.minor_faults / steps,
          .compute_ms = 1e3 * Median(computes),
          .commit_ms = 1e3 * Median(commits),
          .losses = trace.losses};
}

StepRun StepFolder::RunPaceline(const LinkPlaces& places,
                                const std::vector<std::string>& overrides) const {
  const job::Decoded job =
      job::LoadJob(ReadAll(File("job.yaml")), overrides, job::Capabilities::All());
  for (const job::FieldError& error : job.errors) Fail(job::ToString(error).c_str());
  WriteAll(File("job.json"), job::ToJson(job.job).dump());
  const Environment environment = ForThreads(task_);
  const auto address = [&](uint64_t rank) {
    return fmt::format("{}:{}", places.shards_host, kFirstPort + rank);
  };
  std::vector<std::unique_ptr<Command>> commands;
  const auto start = [&](std::vector<std::string> where, const std::string& name,
                         const std::vector<std::string>& arguments) {
    where.insert(where.end(), arguments.begin(), arguments.end());
    where.insert(where.end(), {"--job", File("job.json")});
    commands.push_back(std::make_unique<Command>(where, environment, File(name)));
  };
  const std::string trace = File("policy.trace");
  std::filesystem::remove(trace);
  start(places.shards, "ps0",
        {places_.programs + "/paceline-ps", "--rank", "0", "--listen", address(0), "--advertise",
         address(0), "--output", File("model.safetensors"), "--trace", trace});
  for (uint64_t rank = 1; rank < task_.shards; ++rank) {
    start(places.shards, fmt::format("ps{}", rank),
          {places_.programs + "/paceline-ps", "--rank", fmt::format("{}", rank), "--listen",
           address(rank), "--advertise", address(rank), "--coordinator", address(0)});
  }
  for (uint64_t index = 0; index < task_.workers; ++index) {
    start(places.workers[index], fmt::format("worker{}", index),
          {places_.programs + "/paceline-worker", "--index", fmt::format("{}", index),
           "--coordinator", address(0), "--folder", path_});
  }
  UsageWatch watch(::getpid());
  Await(*commands.front(), File("ps0"), [&watch] { watch.Look(); });
  return Measured(watch, trace);
}

StepRun StepFolder::RunPeers(const std::string& kind, const LinkPlaces* places) const {
  std::filesystem::remove(File("rendezvous"));
  std::vector<std::unique_ptr<Command>> ranks;
  for (uint64_t rank = 0; rank < task_.workers; ++rank) {
    Environment environment = ForThreads(task_);
    environment.emplace_back("RANK", fmt::format("{}", rank));
    environment.emplace_back("WORLD_SIZE", fmt::format("{}", task_.workers));
    std::vector<std::string> words;
    if (places != nullptr) {
      words = places->workers[rank];
      environment.emplace_back("GLOO_SOCKET_IFNAME", places->workers_interface);
    }
    words.insert(words.end(), {places_.python, places_.peers, kind, path_});
    ranks.push_back(
        std::make_unique<Command>(words, environment, File(fmt::format("{}{}", kind, rank))));
  }
  StepRun run;
  const size_t warm_up = WarmUp(task_.steps);
  const auto steps = static_cast<double>(task_.steps - 1 - warm_up);
  for (uint64_t rank = task_.workers; rank-- > 0;) {
    const std::string output = File(fmt::format("{}{}", kind, rank));
    Await(*ranks[rank], output, [] {});
    const auto rows = nlohmann::json::parse(ReadAll(output + ".out"));
    const auto cpu = rows["cpu"].get<std::vector<double>>();
    const auto faults = rows["faults"].get<std::vector<double>>();
    run.step_ms = MedianStepMs(rows["seconds"]);
    run.worker_cpu_ms = 1e3 * (cpu.back() - cpu[warm_up]) / steps;
    run.all_cpu_ms += run.worker_cpu_ms;
    run.minor_faults = (faults.back() - faults[warm_up]) / steps;
    run.losses = rows["losses"].get<std::vector<double>>();
  }
  return run;
}

StepRun StepFolder::RunLoop() const { return RunPeers("loop", nullptr); }

}  // namespace paceline::bench

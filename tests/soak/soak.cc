// make soak: random faults for running jobs, two at a time, every scheme in turn, and what came of
// it.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <mutex>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tests/integration/live_run.h"
#include "tests/soak/disk.h"
#include "tests/soak/job_under_fire.h"
#include "tests/soak/report.h"
#include "tests/soak/watcher.h"

namespace paceline::soak {
namespace {

namespace fs = std::filesystem;

constexpr double kPatienceSeconds = 60;
constexpr double kFireSeconds = 75;
constexpr double kEndSeconds = 30;  // From the last episode to the end, mostly.
constexpr int kCalmRuns = 2;        // Of each scheme.

struct Options {
  double minutes = 10;
  uint64_t seed = 0;
  uint64_t first_round = 0;
  uint64_t rounds = 0;  // 0: as many as there is time for.
  double patience_seconds = kPatienceSeconds;
};

struct Spread {
  double least = 0, most = 0;
  std::string problem;
};

class Soak {
 public:
  explicit Soak(const Options& options) : options_(options), began_(NowSeconds()) {
    std::string path = fs::temp_directory_path() / "paceline-soak-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("cannot make a folder " + path);
    folder_ = path;
    result_.seed = options.seed;
    result_.minutes = options.minutes;
  }

  SoakResult Run() {
    if (const Status own = TakeOwnMounts(); !own.ok()) {
      result_.left_out.push_back("faults of disks: " + Message(own));
    } else {
      has_disks_ = true;
    }
    for (uint64_t round = options_.first_round; IsTimeFor(round); ++round) RunRound(round);
    if (IsGood(result_)) {
      std::error_code ignored;
      fs::remove_all(folder_, ignored);
    }
    return result_;
  }

 private:
  double Left() const { return began_ + options_.minutes * 60 - NowSeconds(); }

  bool IsTimeFor(uint64_t round) const {
    if (options_.rounds > 0) return round < options_.first_round + options_.rounds;
    // The first one is there in every case; half of the fire of another is worth it.
    return round == options_.first_round || Left() >= kFireSeconds / 2 + kEndSeconds;
  }

  // Where a scheme comes for the first time it runs without faults first.
  void RunCalmOnes(const std::vector<JobPlan>& plans) {
    std::map<std::string, std::vector<std::future<double>>> running;
    for (const JobPlan& plan : plans) {
      const std::string& name = plan.scheme.name;
      if (calm_.contains(name) || running.contains(name)) continue;
      for (int run = 0; run < kCalmRuns; ++run) {
        const std::string folder = fmt::format("{}/calm-{}-{}", folder_, name, run);
        running[name].push_back(std::async(std::launch::async, RunCalm, plan.scheme, folder));
      }
    }
    for (auto& [name, runs] : running) {
      Spread spread{.least = 1, .most = 0, .problem = ""};
      for (std::future<double>& run : runs) {
        const double accuracy = run.get();
        if (accuracy < 0) spread.problem = "a run of " + name + " without faults failed";
        spread.least = std::min(spread.least, accuracy);
        spread.most = std::max(spread.most, accuracy);
      }
      Say(fmt::format("{} without faults: accuracy {:.4f} to {:.4f}", name, spread.least,
                      spread.most));
      calm_[name] = spread;
    }
  }

  void RunRound(uint64_t round) {
    const std::vector<JobPlan> plans = {PlanOf(options_.seed, 2 * round),
                                        PlanOf(options_.seed, 2 * round + 1)};
    RunCalmOnes(plans);
    JobOptions job{.seed = options_.seed,
                   .folder = folder_,
                   .programs = fs::path(integration::ProgramPath("paceline")).parent_path(),
                   .has_disks = has_disks_,
                   .fire_seconds = kFireSeconds,
                   .patience_seconds = options_.patience_seconds,
                   .say = [this](const std::string& line) { Say(line); }};
    if (options_.rounds == 0)
      job.fire_seconds = std::clamp(Left() - kEndSeconds, kFireSeconds / 4, kFireSeconds);
    for (const JobPlan& plan : plans) Prepare(job, plan);
    std::vector<std::future<JobResult>> running;
    for (const JobPlan& plan : plans)
      running.push_back(std::async(std::launch::async, RunUnderFire, job, plan));
    for (std::future<JobResult>& one : running) {
      JobResult result = one.get();
      const Spread& spread = calm_.at(result.plan.scheme.name);
      result.calm_least = spread.least;
      result.calm_most = spread.most;
      if (!spread.problem.empty()) result.wrong.push_back(spread.problem);
      result_.jobs.push_back(std::move(result));
    }
  }

  void Say(const std::string& line) {
    std::lock_guard lock(mutex_);
    fmt::print(stderr, "{:>7.1f}  {}\n", NowSeconds() - began_, line);
  }

  const Options options_;
  const double began_;
  std::string folder_;
  bool has_disks_ = false;
  SoakResult result_;
  std::map<std::string, Spread> calm_;
  std::mutex mutex_;  // Of what is said.
};

int Report(const SoakResult& result) {
  fmt::print("{}", Table(result));
  const char* const path = std::getenv("JSON");
  if (path != nullptr && *path != '\0') {
    std::ofstream file(path);
    file << Json(result).dump(2) << '\n';
    if (!file.flush()) {
      fmt::print(stderr, "soak: cannot write {}\n", path);
      return 1;
    }
  }
  return IsGood(result) ? 0 : 1;
}

}  // namespace
}  // namespace paceline::soak

int main(int argc, char** argv) {
  paceline::soak::Options options;
  options.seed = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  CLI::App app("Does random faults to running jobs and says what came of it.", "soak");
  app.add_option("--minutes", options.minutes, "How long (default 10)")
      ->check(CLI::Range(0.5, 100000.0));
  app.add_option("--seed", options.seed, "Of all chance; without it, the time");
  app.add_option("--round", options.first_round, "Begin with that round");
  app.add_option("--rounds", options.rounds, "Play so many, whatever the time");
  app.add_option("--patience-seconds", options.patience_seconds,
                 "Without a step for so long, and without a fault, a job hangs (default 60)")
      ->check(CLI::Range(1.0, 3600.0));
  CLI11_PARSE(app, argc, argv);
  fmt::print(stderr, "soak: seed {}\n", options.seed);
  return paceline::soak::Report(paceline::soak::Soak(options).Run());
}

#include "tests/soak/job_under_fire.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <deque>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "lib/base/testing/eventually.h"
#include "lib/job/manifest/training_job.h"
#include "tests/integration/live_run.h"
#include "tests/soak/disk.h"
#include "tests/soak/injector.h"
#include "tests/soak/keep.h"
#include "tests/soak/links.h"
#include "tests/soak/programs.h"
#include "tests/soak/recount.h"
#include "tests/soak/watcher.h"

namespace paceline::soak {
namespace {

namespace fs = std::filesystem;
using integration::LiveRun;
using Json = nlohmann::json;

constexpr uint64_t kWorkers = 3;
constexpr uint64_t kShards = 2;
constexpr uint64_t kEpochsLeast = 15;
// Some half a minute, and twice that. What begins anew at every lost shard has less to do again.
constexpr uint64_t kEpochsWithCheckpoints = 30;
constexpr double kSecondsPerSample = 0.004;
constexpr uint64_t kStepsAgain = 3;  // Then training is said to go on.
constexpr size_t kDiskBytes = 24 << 20;
constexpr double kTargetPatience = 6;      // For a process that is not there now.
constexpr double kEndPatience = 300;       // For a job that makes steps and does not end.
constexpr double kOrderPatience = 60;      // For a coordinator to take its new goal over.
constexpr double kDeadlineSeconds = 1800;  // For what outlives its soak.
constexpr auto kTick = std::chrono::milliseconds(20);

// Null where it is not known.
double AccuracyOf(const nlohmann::json& summary, double otherwise) {
  const auto found = summary.find("accuracy");
  return found != summary.end() && found->is_number() ? found->get<double>() : otherwise;
}

// Steps of some 130 ms that mostly sleep; a model of which each shard has a part.
std::vector<std::string> Overrides(const Scheme& scheme, uint64_t epochs,
                                   double seconds_per_sample) {
  std::vector<std::string> all = integration::Paced(
      seconds_per_sample,
      {"spec.model.hidden=300", "spec.training.globalBatchSize=96",
       fmt::format("spec.training.stop.maxEpochs={}", epochs),
       fmt::format("spec.workers.replicas={}", kWorkers), "spec.workers.minReplicas=1",
       fmt::format("spec.parameterServer.shards={}", kShards), "spec.runPolicy.backoffLimit=1000",
       fmt::format("spec.runPolicy.activeDeadlineSeconds={}", kDeadlineSeconds)});
  all.insert(all.end(), scheme.overrides.begin(), scheme.overrides.end());
  return all;
}

void Append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

std::string Write(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  return path;
}

std::string FolderOf(const JobOptions& options, const JobPlan& plan) {
  return fmt::format("{}/job-{}", options.folder, plan.number);
}

// Of what the command printed, progress left out.
std::string LastWords(const std::string& err) {
  std::deque<std::string> lines;
  std::istringstream text(err);
  for (std::string line; std::getline(text, line);) {
    if (line.find(" samples/s ") == std::string::npos) lines.push_back(line);
    if (lines.size() > 6) lines.pop_front();
  }
  std::string words;
  for (const std::string& line : lines) words += "\n    " + line;
  return words;
}

class JobUnderFire {
 public:
  JobUnderFire(const JobOptions& options, const JobPlan& plan)
      : options_(options), folder_(FolderOf(options, plan)), faults_(options.seed, plan.number) {
    result_.plan = plan;
    epochs_ = plan.has_checkpoints ? kEpochsWithCheckpoints : kEpochsLeast;
  }

  JobResult Run() {
    const double began = NowSeconds();
    Start();
    if (AwaitSteps("it never began to train")) Fire(began + options_.fire_seconds);
    if (is_going()) End();
    NoteStandStill();
    result_.longest_stand_still_seconds = watcher_->longest_seconds();
    injector_.reset();
    if (result_.ending == Ending::kHung) KeepProcesses(*run_, folder_);
    Finish();
    result_.seconds = NowSeconds() - began;
    Keep();
    return std::move(result_);
  }

 private:
  bool is_going() const { return result_.ending == Ending::kSucceeded; }
  template <class... Values>
  void Say(fmt::format_string<Values...> words, Values&&... values) const {
    options_.say(fmt::format("job {} ({}): {}", result_.plan.number, result_.plan.scheme.name,
                             fmt::format(words, std::forward<Values>(values)...)));
  }

  void Start();
  void Fire(double until);
  void Play(const Episode& episode);
  bool BeginDue(std::deque<Fault>& waiting, double began);
  // Until training has gone on, or the job is over or hangs; false then.
  bool AwaitSteps(const std::string& otherwise);
  bool IsOver(const std::string& hung);
  // Asks `is_done` every tick until it says yes; false if the job is over or hangs before.
  bool AwaitUnlessOver(const std::string& hung, const std::function<bool()>& is_done);
  void End();
  void NoteStandStill();
  void Finish();
  void JudgeSamples(const integration::Ended& ended, const Json& seen);
  void Keep();

  const JobOptions options_;
  const std::string folder_;
  JobResult result_;
  Faults faults_;
  std::optional<Disk> runs_, volume_;
  std::unique_ptr<Links> links_;
  std::unique_ptr<LiveRun> run_;
  std::unique_ptr<Watcher> watcher_;
  std::unique_ptr<Injector> injector_;
  size_t unfinished_ = 0;  // Faults from here on are the newest episode's.
  uint64_t epochs_ = 0;    // That it is to have.
};

void JobUnderFire::Start() {
  if (options_.has_disks) {
    for (auto& [disk, name] : {std::pair(&runs_, "/runs"), {&volume_, "/volume"}}) {
      StatusOr<Disk> mounted = Disk::Mount(folder_ + name, kDiskBytes);
      if (mounted.ok()) disk->emplace(*std::move(mounted));
    }
  }
  links_ = std::make_unique<Links>(folder_ + "/links", std::vector<std::string>{"ps-0", "ps-1"},
                                   ProcessName);
  std::vector<std::string> overrides = Overrides(result_.plan.scheme, epochs_, kSecondsPerSample);
  overrides.push_back(fmt::format("spec.output.volume.hostPath.path={}/volume", folder_));
  if (result_.plan.has_checkpoints) {
    overrides.push_back(
        fmt::format("spec.checkpoint={{periodSeconds: 2, keep: 3, volume: {{hostPath: {{path: "
                    "{}/volume/checkpoints, type: DirectoryOrCreate}}}}}}",
                    folder_));
  }
  if (!result_.plan.has_checkpoints) overrides.push_back("spec.checkpoint={enabled: false}");
  std::vector<std::string> command = {folder_ + "/programs/paceline",
                                      "run",
                                      Write(folder_ + "/job.yaml", integration::DigitsManifest()),
                                      "-o",
                                      "json",
                                      "--runs",
                                      folder_ + "/runs"};
  Append(command, integration::Sets(overrides));
  run_ = std::make_unique<LiveRun>(folder_, command);
  watcher_ = std::make_unique<Watcher>(run_.get(), options_.patience_seconds);
  injector_ = std::make_unique<Injector>(Victims{.run = run_.get(),
                                                 .links = links_.get(),
                                                 .runs = runs_ ? &*runs_ : nullptr,
                                                 .volume = volume_ ? &*volume_ : nullptr,
                                                 .workers = kWorkers,
                                                 .shards = kShards});
}

bool JobUnderFire::IsOver(const std::string& hung) {
  if (run_->HasEnded()) return true;
  if (!watcher_->IsHung()) return false;
  result_.ending = Ending::kHung;
  result_.why = fmt::format("{}: no step for {:.0f} s", hung, watcher_->standing_seconds());
  return true;
}

bool JobUnderFire::AwaitSteps(const std::string& otherwise) {
  uint64_t steps = 0;
  return AwaitUnlessOver(otherwise, [&] {
    steps += watcher_->TakeSteps();
    return steps >= kStepsAgain;
  });
}

bool JobUnderFire::AwaitUnlessOver(const std::string& hung, const std::function<bool()>& is_done) {
  // A job that neither ends nor hangs has a deadline of its own.
  constexpr double kForEver = std::numeric_limits<double>::infinity();
  bool was_done = false;
  testing::Eventually(
      [&] {
        was_done = is_done();
        return was_done || IsOver(hung);
      },
      kForEver, kTick);
  return was_done;
}

void JobUnderFire::Fire(double until) {
  const auto is_near_its_end = [this] {
    const Json state = watcher_->state();
    return state.is_object() &&
           state.value("epochProgress", 0.0) >= static_cast<double>(epochs_ - 2);
  };
  while (NowSeconds() < until && !is_near_its_end()) {
    Play(faults_.Next());
    if (!AwaitSteps("training did not go on after the faults")) return;
  }
}

// Those whose time has come. What has no target for too long is left out.
bool JobUnderFire::BeginDue(std::deque<Fault>& waiting, double began) {
  bool has_begun = false;
  for (auto fault = waiting.begin(); fault != waiting.end();) {
    const double late = NowSeconds() - began - fault->after_seconds;
    const bool is_possible = fault->what.role != Role::kDisk || volume_;
    const auto target =
        late >= 0 && is_possible ? injector_->Begin(*fault, NowSeconds()) : std::nullopt;
    if (target) {
      Say("{} {} of {} for {:.1f} s", ToString(fault->what.role), ToString(fault->what.kind),
          *target, fault->seconds);
      result_.faults.push_back({fault->what, *target, fault->seconds, 0});
      if (fault->what.kind != Kind::kKill) watcher_->FaultBegan();
      if (fault->what.kind == Kind::kKill) watcher_->Excuse();
      has_begun = true;
    }
    const bool is_missed = !target && (late > kTargetPatience || !is_possible);
    const bool is_over = target.has_value() || is_missed;
    result_.missed += is_missed ? 1 : 0;
    fault = is_over ? waiting.erase(fault) : std::next(fault);
  }
  return has_begun;
}

void JobUnderFire::Play(const Episode& episode) {
  const double began = NowSeconds() + episode.calm_seconds;
  const size_t first = result_.faults.size();
  std::deque<Fault> waiting(episode.faults.begin(), episode.faults.end());
  NoteStandStill();
  unfinished_ = first;
  (void)AwaitUnlessOver("training stood still under fire", [&] {
    BeginDue(waiting, began);
    watcher_->FaultsEnded(injector_->EndDue(NowSeconds()));
    return waiting.empty() && injector_->at_work() == 0;
  });
  (void)watcher_->TakeSteps();
}

// Around the newest episode.
void JobUnderFire::NoteStandStill() {
  const double longest = watcher_->TakeLongest();
  for (size_t i = unfinished_; i < result_.faults.size(); ++i)
    result_.faults[i].stand_still_seconds = longest;
}

void JobUnderFire::End() {
  if (result_.plan.ends_under_fire) Play(faults_.Next());
  if (testing::Eventually([this] { return IsOver("it did not come to its end"); }, kEndPatience,
                          kTick))
    return;
  result_.ending = Ending::kLost;
  result_.why = fmt::format("it did not end within {:g} s of its last fault", kEndPatience);
}

void JobUnderFire::Finish() {
  const Json seen = watcher_->state();
  watcher_.reset();
  if (!run_->HasEnded()) run_->Signal(SIGKILL);
  const integration::Ended ended = run_->Wait(30);
  run_->WaitForNoProcess(10);
  links_.reset();
  if (result_.ending == Ending::kHung) return;
  if (ended.code != 0) {
    result_.ending = Ending::kLost;
    result_.why += fmt::format("{}code {}: {}", result_.why.empty() ? "" : "; ", ended.code,
                               LastWords(ended.err));
  }
  JudgeSamples(ended, seen);
  if (!is_going()) return;
  result_.accuracy = AccuracyOf(ended.summary, 0.0);
  if (!fs::exists(ended.summary.value("model", ""))) {
    result_.ending = Ending::kLost;
    result_.why = "there is no model: " + ended.out;
  }
}

// `seen`: the job's state as it was last asked for, where a full disk has taken the last one.
void JobUnderFire::JudgeSamples(const integration::Ended& ended, const Json& seen) {
  std::vector<std::string> pushes;
  for (uint64_t worker = 0; worker < kWorkers; ++worker) {
    pushes.push_back(
        integration::ReadText(fmt::format("{}/evidence/worker-{}.pushes", folder_, worker)));
  }
  const Recount recount = CountAgain(integration::ReadText(folder_ + "/evidence/commits"), pushes);
  result_.roll_backs = recount.roll_backs;
  result_.steps_lost = recount.steps_lost;
  result_.samples = recount.samples;
  result_.wrong = recount.problems;
  if (!is_going()) return;
  result_.epochs = epochs_;
  const bool is_taken = !ended.last_state.is_object();
  const Json& last_state = is_taken ? seen : ended.last_state;
  if (!last_state.is_object() ||
      (is_taken && ended.err.find("summary.json could not be written") == std::string::npos)) {
    result_.ending = Ending::kLost;
    result_.why = "the job's last state is gone, and nothing says so";
    return;
  }
  const uint64_t samples = last_state.value("trainSamples", uint64_t{0});
  std::map<uint64_t, uint64_t> discarded;
  uint64_t reported = 0;
  for (const Json& epoch : last_state.value("epochs", Json::array())) {
    discarded[epoch["epoch"]] = epoch["discarded"];
    reported += epoch["committed"].get<uint64_t>();
  }
  result_.wrong = Judge(recount, epochs_, samples, discarded);
  if (!is_taken && reported != recount.samples) {
    result_.wrong.push_back(
        fmt::format("the ledger says {} samples, the workers' logs {}", reported, recount.samples));
  }
}

void JobUnderFire::Keep() {
  const std::vector<std::string> complaints = Complaints(result_);
  const bool is_well = is_going() && result_.wrong.empty();
  if (!is_well) {
    result_.folder = folder_ + "/kept";
    KeepFiles({folder_ + "/runs", folder_ + "/volume"}, result_.folder);
    Say("NOT WELL: {}", complaints.empty() ? "" : complaints.front());
  } else {
    Say("well: {} faults, {} roll-backs, {} samples", result_.faults.size(), result_.roll_backs,
        result_.samples);
  }
  runs_.reset();
  volume_.reset();
  std::error_code ignored;
  if (is_well) fs::remove_all(folder_, ignored);
}

}  // namespace

void Prepare(const JobOptions& options, const JobPlan& plan) {
  const std::string folder = FolderOf(options, plan);
  for (const char* part : {"", "/programs", "/links", "/evidence", "/runs", "/volume"})
    fs::create_directory(folder + part);
  MakePrograms({.real = options.programs,
                .folder = folder + "/programs",
                .links = folder + "/links",
                .evidence = folder + "/evidence"});
}

JobResult RunUnderFire(const JobOptions& options, const JobPlan& plan) {
  return JobUnderFire(options, plan).Run();
}

double RunCalm(const Scheme& scheme, const std::string& folder) {
  fs::create_directory(folder);
  std::vector<std::string> command = {integration::ProgramPath("paceline"),
                                      "run",
                                      Write(folder + "/job.yaml", integration::DigitsManifest()),
                                      "-o",
                                      "json",
                                      "--runs",
                                      folder + "/runs"};
  Append(command, integration::Sets(Overrides(scheme, kEpochsLeast, 0.001)));
  const integration::Ended ended = LiveRun(folder, command).Wait(180);
  if (ended.code != 0 || !ended.summary.is_object()) return -1;
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  return AccuracyOf(ended.summary, -1.0);
}

}  // namespace paceline::soak

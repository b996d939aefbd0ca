#include "simulator/advising.h"

#include <ctime>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "lib/job/manifest/load.h"
#include "lib/learn/from_job/training_options.h"
#include "lib/process/exit.h"
#include "simulator/advice/advice.h"
#include "simulator/advice/advice_text.h"
#include "simulator/learning/model_objective.h"
#include "simulator/progress.h"
#include "simulator/recorded_run.h"

namespace paceline::simulator {
namespace {

struct OpenedJob {
  ModelSetting setting;
  std::unique_ptr<ModelObjective> objective;
};

// The run's job with its model and data, wherever these lie now.
StatusOr<OpenedJob> OpenJob(const RecordedRun& run, const AdvisingFlags& flags) {
  if (flags.is_quick) return FailedPrecondition("--quick leaves it out");
  if (run.job_json.empty()) return FailedPrecondition("a trace alone does not say the job");
  const job::Decoded decoded = job::LoadJob(run.job_json, {}, job::Capabilities());
  if (!decoded.errors.empty())
    return InvalidArgument("its job cannot run: {}", job::ToString(decoded.errors.front()));
  OpenedJob opened;
  PACELINE_ASSIGN_OR_RETURN(opened.setting, ModelSettingOf(decoded.job));
  const std::string folder = flags.folder.empty() ? run.manifest_folder : flags.folder;
  StatusOr<std::unique_ptr<ModelObjective>> objective =
      ModelObjective::Open(learn::TrainingOptionsFrom(decoded.job, folder),
                           opened.setting.is_judged_by_error ? JudgedBy::kError : JudgedBy::kLoss);
  if (!objective.ok() && folder.empty()) {
    return NotFound("{}; the run does not say where its manifest lay: --folder DIR does",
                    Message(objective.status()));
  }
  PACELINE_RETURN_IF_ERROR(objective.status());
  opened.objective = *std::move(objective);
  return opened;
}

// Of computing, so that what is told does not hang on what else the machine does.
double SecondsComputed() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

StatusOr<Report> Advised(const AdvisingFlags& flags) {
  PACELINE_ASSIGN_OR_RETURN(const RecordedRun run, ReadRecordedRun(flags.recording));
  const StatusOr<OpenedJob> opened = OpenJob(run, flags);
  std::optional<Progress> progress;
  AdviseOptions options{
      .source = run.source, .is_on_one_machine = run.is_on_one_machine, .seeds = flags.seeds};
  options.on_arm = [&progress](const std::string& arm, size_t done, size_t all) {
    if (done == 0) progress.emplace();
    progress->Show(arm, done, all);
  };
  options.model_seconds = flags.model_seconds;
  options.now = SecondsComputed;
  if (opened.ok()) {
    options.model =
        OwnModel{opened->setting, opened->objective.get(), opened->objective->train_samples()};
  } else {
    options.why_no_model = Message(opened.status());
  }
  StatusOr<Report> report = Advise(run.trace, run.job_json, options);
  PACELINE_RETURN_IF_ERROR(Annotate(report.status(), run.source));
  return report;
}

}  // namespace

int AdviseOf(const AdvisingFlags& flags) {
  const StatusOr<Report> report = Advised(flags);
  if (!report.ok()) {
    fmt::print(stderr, "paceline: {}\n", Message(report.status()));
    return process::ExitCodeFor(report.status());
  }
  fmt::print("{}", flags.output == "json" ? AdviceJson(*report) : AdviceText(*report));
  return process::kExitDone;
}

}  // namespace paceline::simulator

#include <CLI/CLI.hpp>

#include "lib/learn/from_job/training_options.h"
#include "lib/process/crash_report.h"
#include "lib/process/exit.h"
#include "lib/process/guard/thread_guard.h"
#include "lib/process/system_limits.h"
#include "lib/process/termination.h"
#include "lib/rpc/bulk/allocator.h"
#include "lib/telemetry/log.h"
#include "lib/worker/process/life.h"
#include "worker/device.h"
#include "worker/torch_trainer.h"

namespace paceline::worker {
namespace {

// Where batches were prepared ahead.
void SayData(const learn::DataCounts& counts) {
  if (counts.expected == 0 && counts.in_vain == 0) return;
  telemetry::Log(telemetry::LogLevel::kInfo, "batches",
                 {{"expected", counts.expected},
                  {"ready_when_needed", counts.ready},
                  {"gathered_when_needed", counts.gathered},
                  {"prepared_in_vain", counts.in_vain}});
}

Status Run(const WorkerOptions& options) {
  PACELINE_ASSIGN_OR_RETURN(const std::unique_ptr<Life> life, Life::Create(options));
  learn::TrainingOptions training = learn::TrainingOptionsFrom(life->job(), options.folder);
  const StatusOr<std::string> device = ChooseDevice(options.device);
  if (!device.ok()) return process::CannotWorkHere(device.status());
  training.device = *device;
  if (options.is_evaluator()) training.init_path.clear();  // It fills nothing.
  training.threads = life->ChooseThreads();
  PACELINE_ASSIGN_OR_RETURN(const std::unique_ptr<TorchTrainer> trainer,
                            TorchTrainer::Create(training));
  const process::TerminationSignals signals([&life] { life->Drain(); });
  const StatusOr<std::string> run = life->Run(trainer.get(), training.device, training.threads);
  SayData(trainer->data_counts());
  if (!run.ok()) return run.status();
  telemetry::Log(telemetry::LogLevel::kInfo, "leaving", {{"reason", *run}});
  return OkStatus();
}

}  // namespace
}  // namespace paceline::worker

int main(int argc, char** argv) {
  paceline::process::ReportCrashes(argv[0]);
  paceline::rpc::TuneAllocator();
  paceline::worker::WorkerOptions options;
  CLI::App app("Computes gradients of a training job; as evaluator, evaluates published versions.",
               "paceline-worker");
  paceline::worker::AddFlags(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? paceline::process::kExitDone : paceline::process::kExitCannotWork;
  }
  paceline::telemetry::ConfigureLog(
      {.program = "paceline-worker",
       .format = *paceline::telemetry::ParseLogFormat(options.log_format)});
  paceline::process::SayWhichLimit(options.termination_message);
  paceline::process::EndWhereNoThreadStarts();
  paceline::process::BlockTerminationSignals();
  paceline::process::EndProcess(paceline::worker::Run(options), "paceline-worker",
                                options.termination_message);
}

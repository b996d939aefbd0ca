#include "lib/worker/process/options.h"

#include <cstdlib>
#include <vector>

#include "lib/job/environment.h"

namespace paceline::worker {
void AddFlags(CLI::App& app, WorkerOptions& options) {
  app.add_option("--job", options.job_file, "Resolved TrainingJob, JSON")->required();
  app.add_option("--folder", options.folder, "Where the job's relative paths start");
  app.add_option("--coordinator", options.coordinator, "Address of the coordinator")->required();
  app.add_option_function<double>(
         "--connect-timeout-seconds",
         [&options](double seconds) { options.connect_timeout = Seconds(seconds); },
         "How long to wait for the coordinator (default 600)")
      ->check(CLI::Range(0.001, 86400.0));
  app.add_option("--tls-folder", options.tls_folder,
                 "Folder of tls.crt, tls.key and ca.crt; without it, connections are plain");
  app.add_option("--role", options.role, "worker or evaluator")
      ->check(CLI::IsMember({"worker", "evaluator"}));
  app.add_option("--group", options.group, "The worker's group, in a job that has groups");
  app.add_option("--index", options.index, "The worker's index in its group, or in its job");
  app.add_option("--push-log", options.push_log,
                 "Folder that gets worker-INDEX.pushes, what was in each push (for experiments)");
  app.add_option("--device", options.device,
                 "cpu; cuda: a GPU, or the process ends and says why there is none; "
                 "cuda-if-usable: the CPU "
                 "then")
      ->check(CLI::IsMember({"cpu", "cuda", "cuda-if-usable"}));
  app.add_option("--attempt", options.attempt,
                 "How often a process of this index was started before, as who starts it counts");
  app.add_option("--termination-message", options.termination_message,
                 "File that gets why the process failed");
  app.add_option("--log-format", options.log_format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
}

StatusOr<WorkerOptions> OptionsFromEnvironment() {
  if (std::getenv("PACELINE_JOB") == nullptr)
    return FailedPrecondition("no job has started this process: PACELINE_JOB is not set");
  WorkerOptions options;
  CLI::App app;
  AddFlags(app, options);
  for (CLI::Option* const option : app.get_options()) {
    if (!option->get_lnames().empty())
      option->envname(job::VariableOf(option->get_lnames().front()));
  }
  try {
    app.parse(std::vector<std::string>());
  } catch (const CLI::ParseError& error) {
    return InvalidArgument("the environment of this worker (PACELINE_...): {}", error.what());
  }
  return options;
}

}  // namespace paceline::worker

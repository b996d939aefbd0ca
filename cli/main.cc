#include <cstdio>
#include <exception>
#include <string_view>

#include <CLI/CLI.hpp>

#include "cli/commands/run.h"
#include "cli/commands/validate.h"
#include "lib/process/exit.h"

namespace {

constexpr const char* kAbout =
    "Trains PyTorch models data-parallel at the pace of the healthy workers, not of the slowest "
    "one.";

constexpr const char* kFooter =
    "Exit codes: 0 done, 1 the job failed, 2 the command line or the manifest is wrong, 130 "
    "interrupted.\n"
    "`paceline COMMAND --help` shows what a command takes.";

constexpr const char* kRunFooter =
    "Progress goes to stderr and the summary to stdout, so that -o json can be piped.\n"
    "Exit codes: 0 done, 1 the job failed, 2 the command line or the manifest is wrong, 130 "
    "interrupted.\n"
    "Examples:\n"
    "  paceline run deploy/samples/digits.yaml\n"
    "  paceline run job.yaml --set spec.sync.scheme=SSP --set spec.sync.ssp.staleness=3\n"
    "  paceline run job.yaml --volume digits-out=/data/out -o json > summary.json";

constexpr const char* kValidateFooter =
    "Exit codes: 0 valid, 2 the command line or the manifest is wrong.\n"
    "Example:\n"
    "  paceline validate job.yaml --set spec.workers.replicas=8";

void AddManifest(CLI::App* command, std::string* manifest) {
  command->add_option("MANIFEST", *manifest, "A TrainingJob, YAML or JSON; - reads standard input")
      ->required()
      ->type_name("");
}

void AddOverrides(CLI::App* command, std::vector<std::string>* overrides) {
  command->add_option("--set", *overrides, "Replaces a field of the manifest; may be repeated")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
}

int Main(int argc, char** argv) {
  CLI::App app(kAbout, "paceline");
  app.footer(kFooter);
  app.require_subcommand(1);
  app.set_version_flag("--version", PACELINE_VERSION);

  paceline::commands::RunOptions run;
  CLI::App* run_command = app.add_subcommand("run", "Train a job on this machine");
  AddManifest(run_command, &run.manifest);
  AddOverrides(run_command, &run.overrides);
  run_command->add_option("-o,--output", run.output, "What stdout ends with; text by default")
      ->check(CLI::IsMember({"text", "json"}).description(""))
      ->type_name("text|json");
  run_command
      ->add_option("--runs", run.runs_folder,
                   "Where this run gets a folder of its own; paceline-runs by default")
      ->type_name("DIR");
  run_command
      ->add_option("--volume", run.volumes,
                   "Folder for a claim of the job, paceline-volumes/CLAIM by default; may be "
                   "repeated")
      ->type_name("CLAIM=DIR")
      ->allow_extra_args(false);
  run_command
      ->add_option("--http-port", run.http_port,
                   "Serves the coordinator's metrics and state; a free one by default")
      ->check(CLI::Range(0, 65535).description(""))
      ->type_name("PORT");
  CLI::Option* const resume = run_command->add_flag_callback(
      "--resume", [&run] { run.resume = "always"; },
      "Goes on from the checkpoints of an earlier run, even one that ended well; there must be "
      "some");
  run_command
      ->add_flag_callback(
          "--fresh", [&run] { run.resume = "never"; },
          "Begins anew in spite of an earlier run's checkpoints, which are removed")
      ->excludes(resume);
  run_command->footer(kRunFooter);

  paceline::commands::ValidateOptions validate;
  CLI::App* validate_command =
      app.add_subcommand("validate", "Check a manifest and name everything that is wrong");
  AddManifest(validate_command, &validate.manifest);
  AddOverrides(validate_command, &validate.overrides);
  validate_command->footer(kValidateFooter);

  // The library would only say that a subcommand is missing.
  if (const std::string_view word = argc > 1 ? argv[1] : "";
      !word.empty() && word[0] != '-' && word != "run" && word != "validate") {
    std::fprintf(stderr, "paceline: no such command: %s; want run or validate\n", argv[1]);
    return paceline::process::kExitCannotWork;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? paceline::process::kExitDone : paceline::process::kExitCannotWork;
  }
  if (run_command->parsed()) return paceline::commands::Run(run);
  return paceline::commands::Validate(validate);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "paceline: %s\n", error.what());
    return paceline::process::kExitFailed;
  }
}

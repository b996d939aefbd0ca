#include <CLI/CLI.hpp>

#include "cli/commands/run.h"
#include "cli/commands/validate.h"
#include "lib/process/exit.h"

namespace {

constexpr const char* kAbout =
    "Trains PyTorch models data-parallel at the pace of the healthy workers, not of the slowest "
    "one.";

constexpr const char* kFooter =
    "Exit codes: 0 done; 1 the job failed; 2 the command line or the manifest is wrong; 130 "
    "interrupted.\n"
    "Examples:\n"
    "  paceline run deploy/samples/digits.yaml\n"
    "  paceline run job.yaml --set spec.sync.scheme=SSP --set spec.sync.ssp.staleness=3\n"
    "  paceline validate job.yaml";

void AddOverrides(CLI::App* command, std::vector<std::string>* overrides) {
  command
      ->add_option("--set", *overrides,
                   "Field of the manifest to replace, PATH=VALUE; may be repeated")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(kAbout, "paceline");
  app.footer(kFooter);
  app.require_subcommand(1);
  app.set_version_flag("--version", PACELINE_VERSION);

  paceline::commands::RunOptions run;
  CLI::App* run_command = app.add_subcommand("run", "Train a job on this machine");
  run_command
      ->add_option("MANIFEST", run.manifest, "A TrainingJob, YAML or JSON; - reads standard input")
      ->required();
  AddOverrides(run_command, &run.overrides);
  run_command->add_option("-o,--output", run.output, "What the run ends with: text or json")
      ->check(CLI::IsMember({"text", "json"}));
  run_command->add_option("--runs", run.runs_folder, "Folder that gets a folder for this run")
      ->capture_default_str();
  run_command
      ->add_option("--http-port", run.http_port,
                   "Port of the coordinator's metrics and state; 0 takes a free one")
      ->check(CLI::Range(0, 65535));
  run_command->footer(kFooter);

  paceline::commands::ValidateOptions validate;
  CLI::App* validate_command =
      app.add_subcommand("validate", "Check a manifest and name everything that is wrong");
  validate_command
      ->add_option("MANIFEST", validate.manifest,
                   "A TrainingJob, YAML or JSON; - reads standard input")
      ->required();
  AddOverrides(validate_command, &validate.overrides);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? paceline::process::kExitDone : paceline::process::kExitCannotWork;
  }
  if (run_command->parsed()) return paceline::commands::Run(run);
  return paceline::commands::Validate(validate);
}

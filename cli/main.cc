#include <cstdio>
#include <exception>
#include <string_view>

#include <CLI/CLI.hpp>

#include "cli/commands/compare.h"
#include "cli/commands/ctl.h"
#include "cli/commands/fetch/fetch.h"
#include "cli/commands/run.h"
#include "cli/commands/simulate.h"
#include "cli/commands/top.h"
#include "cli/commands/validate.h"
#include "lib/compare/arm.h"
#include "lib/process/crash_report.h"
#include "lib/process/exit.h"
#include "lib/process/system_limits.h"

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

constexpr const char* kCompareFooter =
    "Progress goes to stderr and what was measured to stdout. A difference is a win only if the "
    "ranges do not overlap,\n"
    "and only runs whose processes together used less than 1.5 cores count: docs/experiments.md.\n"
    "Exit codes: 0 all runs done, 1 one failed, 2 the command line, the manifest or an arm is "
    "wrong, 130 interrupted.\n"
    "Examples:\n"
    "  paceline compare deploy/samples/digits-h2.yaml --schemes bsp,ssp:3,asp --seeds 3\n"
    "  paceline compare job.yaml --schemes bsp,dbw,lbbsp --seeds 3 --plot compare.svg -o csv";

constexpr const char* kSimulateFooter =
    "Progress goes to a terminal's stderr and what was found to stdout.\n"
    "Exit codes: 0 simulated, 1 something went wrong, 2 the command line or the scenario is "
    "wrong.\n"
    "Examples:\n"
    "  paceline simulate simulator/scenarios/mixed.yaml\n"
    "  paceline simulate scenario.yaml -o csv > lives.csv";

constexpr const char* kCalibrateFooter =
    "Prints a scenario for paceline simulate: workers, links and commits as fast as they were in "
    "the "
    "run.\n"
    "Exit codes: 0 printed, 1 something went wrong, 2 the command line is wrong, or the run says "
    "too "
    "little.\n"
    "Example:\n"
    "  paceline calibrate paceline-runs/digits-20260101-120000-4242 > cluster.yaml";

constexpr const char* kAdviseFooter =
    "Calibrates the run's cluster and simulates the recorded scheme and others on it, the best of "
    "them on the job's own model\n"
    "where that can be: what would have been faster, by how much, what to write into the manifest, "
    "and what is not known.\n"
    "Progress goes to a terminal's stderr.\n"
    "Exit codes: 0 said, 1 something went wrong, 2 the command line is wrong, or the run says too "
    "little.\n"
    "Examples:\n"
    "  paceline advise paceline-runs/digits-20260101-120000-4242\n"
    "  paceline advise paceline-runs/digits-20260101-120000-4242 --model-seconds 600\n"
    "  paceline advise policy.trace --seeds 10 -o json";

constexpr const char* kReplayFooter =
    "Without --with: whether today's policy decides on the recorded events as was recorded; the "
    "first difference is shown.\n"
    "With it: the first decision that would have been another, and estimates of what came after. "
    "Events follow from\n"
    "decisions, so behind it they are those of another life: paceline advise tells of times.\n"
    "Exit codes: 0 alike, or said, 1 decided otherwise, 2 the command line, a field or the trace "
    "is wrong.\n"
    "Examples:\n"
    "  paceline replay paceline-runs/digits-20260101-120000-4242\n"
    "  paceline replay paceline-runs/digits-20260101-120000-4242 --with sync.dbw.window=50";

constexpr const char* kValidateFooter =
    "Exit codes: 0 valid, 2 the command line or the manifest is wrong.\n"
    "Example:\n"
    "  paceline validate job.yaml --set spec.workers.replicas=8";

constexpr const char* kTopFooter =
    "With JOB: a TrainingJob of the cluster that kubectl would use. Without: a run of this "
    "machine.\n"
    "Exit codes: 0 the job is over, 1 its coordinator or the cluster does not answer, 2 the "
    "command "
    "line is wrong, there is no such job, or permission is missing.\n"
    "Examples:\n"
    "  paceline top digits -n research\n"
    "  paceline top digits --context staging --once\n"
    "  paceline top\n"
    "  paceline top --run paceline-runs/digits-20260101-120000-4711 --once";

constexpr const char* kFetchFooter =
    "With JOB: a TrainingJob of the cluster that kubectl would use, without an output volume. "
    "Without: a run of this machine.\n"
    "It says by which way the model comes; whichever that is, its digest and what opens it come "
    "from "
    "the API server.\n"
    "What was cut off goes on where it was. Once the whole is there and its SHA-256 is right, the "
    "job's last pod goes.\n"
    "Exit codes: 0 the model is there, 1 it is not, 2 no such job, permission is missing, or "
    "another "
    "file is in its place.\n"
    "Examples:\n"
    "  paceline fetch digits -n research\n"
    "  paceline fetch digits --to models/digits.safetensors\n"
    "  paceline fetch digits --via port-forward\n"
    "  paceline fetch --run paceline-runs/digits-20260101-120000-4711";

constexpr const char* kCtlSetFooter =
    "With JOB: patches a TrainingJob of the cluster that kubectl would use. Without: changes a run "
    "of this machine.\n"
    "Exit codes: 0 taken over, 1 the coordinator or the cluster does not answer, 2 refused, no "
    "such "
    "job, or permission is missing.\n"
    "Examples:\n"
    "  paceline ctl set digits -n research sync.scheme=SSP sync.ssp.staleness=3\n"
    "  paceline ctl set workers.maxReplicas=6 workers.replicas=6";

// Of a run of this machine alone.
std::vector<CLI::Option*> AddRun(CLI::App* command, std::string* run, std::string* runs_folder) {
  return {command->add_option("--run", *run, "The run's folder; the newest by default")
              ->type_name("DIR"),
          command->add_option("--runs", *runs_folder, "Where runs are; paceline-runs by default")
              ->type_name("DIR")};
}

void Exclude(const std::vector<CLI::Option*>& these, const std::vector<CLI::Option*>& those) {
  for (CLI::Option* const one : these) {
    for (CLI::Option* const other : those) one->excludes(other);
  }
}

// As kubectl names them; of a cluster's job alone. Returns them, for what excludes them.
std::vector<CLI::Option*> AddCluster(CLI::App* command,
                                     paceline::commands::ClusterOptions* cluster) {
  return {command
              ->add_option("-n,--namespace", cluster->name_space,
                           "The job's namespace; the context's by default")
              ->type_name("NAMESPACE"),
          command
              ->add_option("--context", cluster->context,
                           "Which context of the kubeconfig; the current one by default")
              ->type_name("NAME"),
          command
              ->add_option("--kubeconfig", cluster->kubeconfig,
                           "Which kubeconfig; KUBECONFIG, ~/.kube/config or, in a pod, its service "
                           "account by default")
              ->type_name("FILE")};
}

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

// How the coordinator of a cluster's job is reached, added to what is of a cluster.
void AddWays(CLI::App* command, paceline::commands::FetchOptions* fetch,
             std::vector<CLI::Option*>* of_cluster) {
  using paceline::commands::Via;
  CLI::Option* const via =
      command
          ->add_option_function<std::string>(
              "--via",
              [fetch](const std::string& word) {
                fetch->via = word == "proxy"          ? Via::kProxy
                             : word == "port-forward" ? Via::kPortForward
                                                      : Via::kAuto;
              },
              "How: through the API server's proxy, by kubectl port-forward, or, by default, by "
              "the "
              "first of these that works")
          ->check(CLI::IsMember({"auto", "proxy", "port-forward"}).description(""))
          ->type_name("auto|proxy|port-forward");
  CLI::Option* const url =
      command
          ->add_option(
              "--url", fetch->url.url,
              "Address that stands for port 7602 of the job's coordinator, instead; https, "
              "or http of this machine")
          ->type_name("URL")
          ->excludes(via);
  CLI::Option* const authority =
      command
          ->add_option("--certificate-authority", fetch->url.certificate_authority,
                       "Who vouches for that address; the system's authorities by default")
          ->type_name("FILE")
          ->needs(url);
  CLI::Option* const plain_text = command->add_flag_callback(
      "--plain-text", [fetch] { fetch->url.plain_text = paceline::commands::PlainText::kAnywhere; },
      "Shows the job's token to an http address of another machine too");
  plain_text->needs(url);
  of_cluster->insert(of_cluster->end(), {via, url, authority, plain_text});
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
  run_command
      ->add_option_function<double>(
          "--health-seconds",
          [&run](double seconds) { run.health_patience = paceline::Seconds(seconds); },
          "How long the coordinator may not answer /healthz well before it is killed and started "
          "again; 30 by default")
      ->check(CLI::Range(1.0, 86400.0).description(""))
      ->type_name("SECONDS");
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

  paceline::commands::CompareOptions compare;
  CLI::App* compare_command =
      app.add_subcommand("compare", "Train a job with several schemes and say which was faster");
  AddManifest(compare_command, &compare.manifest);
  AddOverrides(compare_command, &compare.overrides);
  compare_command
      ->add_option("--schemes", compare.schemes,
                   "What to compare, the first one being what others are held against: " +
                       paceline::compare::ArmWords())
      ->required()
      ->type_name("ARM,...");
  compare_command
      ->add_option("--seeds", compare.seeds,
                   "Runs of each, with the manifest's seeds and the next ones; 3 or more give "
                   "ranges")
      ->check(CLI::Range(1, 100).description(""))
      ->type_name("COUNT");
  compare_command->add_option("-o,--output", compare.output, "What goes to stdout; text by default")
      ->check(CLI::IsMember({"text", "json", "csv"}).description(""))
      ->type_name("text|json|csv");
  compare_command
      ->add_option("--plot", compare.plot, "Draws loss, k and batch sizes over time, as SVG")
      ->type_name("FILE");
  compare_command
      ->add_option("--runs", compare.runs_folder,
                   "Where each run gets a folder of its own; paceline-runs by default")
      ->type_name("DIR");
  compare_command->footer(kCompareFooter);

  paceline::commands::SimulateOptions simulate;
  CLI::App* simulate_command = app.add_subcommand(
      "simulate", "Compare schemes on a cluster that is described, under a virtual clock");
  simulate_command
      ->add_option("SCENARIO", simulate.scenario, "A Scenario, YAML or JSON (docs/simulation.md)")
      ->required()
      ->type_name("");
  simulate_command
      ->add_option("-o,--output", simulate.output, "What goes to stdout; text by default")
      ->check(CLI::IsMember({"text", "json", "csv"}).description(""))
      ->type_name("text|json|csv");
  simulate_command
      ->add_option("--traces", simulate.traces,
                   "A folder that is there, for each life's policy trace, ARM-SEED.trace")
      ->type_name("DIR");
  simulate_command
      ->add_option("--timelines", simulate.timelines,
                   "A folder that is there, for what each life's workers did when, ARM-SEED.json, "
                   "which ui.perfetto.dev shows")
      ->type_name("DIR");
  simulate_command
      ->add_option("--plot", simulate.plot, "Draws loss and pushes of a version over time, as SVG")
      ->type_name("FILE");
  simulate_command->footer(kSimulateFooter);

  std::string recorded_run;
  CLI::App* calibrate_command =
      app.add_subcommand("calibrate", "Describe the cluster of a run, for paceline simulate");
  calibrate_command->add_option("RUN", recorded_run, "A run's folder, or its policy.trace")
      ->required()
      ->type_name("");
  calibrate_command->footer(kCalibrateFooter);

  paceline::commands::AdviseOptions advise;
  CLI::App* advise_command =
      app.add_subcommand("advise", "Say which scheme would have been faster for a run");
  advise_command->add_option("RUN", advise.recording, "A run's folder, or its policy.trace")
      ->required()
      ->type_name("");
  advise_command
      ->add_option("--seeds", advise.seeds,
                   "Simulated lives of each scheme and rate, 9 by default; more give wider ranges")
      ->check(CLI::Range(2, 100).description(""))
      ->type_name("COUNT");
  advise_command->add_flag("--quick", advise.is_quick,
                           "One second: without trials on the job's own model");
  advise_command
      ->add_option("--model-seconds", advise.model_seconds,
                   "Of computing, for trials on the job's own model, 120 by default; fewer seeds "
                   "live in less")
      ->check(CLI::Range(1.0, 86400.0).description(""))
      ->type_name("SECONDS");
  advise_command
      ->add_option("--folder", advise.folder,
                   "Where the job's relative paths start; by default where its manifest lay")
      ->type_name("DIR");
  advise_command->add_option("-o,--output", advise.output, "What goes to stdout; text by default")
      ->check(CLI::IsMember({"text", "json"}).description(""))
      ->type_name("text|json");
  advise_command->footer(kAdviseFooter);

  paceline::commands::ReplayOptions replay;
  CLI::App* replay_command =
      app.add_subcommand("replay", "Decide once more on the events of a run, and compare");
  replay_command->add_option("RUN", replay.recording, "A run's folder, or its policy.trace")
      ->required()
      ->type_name("");
  replay_command
      ->add_option("--with", replay.with,
                   "A field of the job's spec that is another then; may be repeated")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  replay_command->footer(kReplayFooter);

  paceline::commands::ValidateOptions validate;
  CLI::App* validate_command =
      app.add_subcommand("validate", "Check a manifest and name everything that is wrong");
  AddManifest(validate_command, &validate.manifest);
  AddOverrides(validate_command, &validate.overrides);
  validate_command->footer(kValidateFooter);

  paceline::commands::TopOptions top;
  CLI::App* top_command = app.add_subcommand("top", "Watch a running job");
  CLI::Option* const top_job =
      top_command->add_option("JOB", top.job, "A job of a cluster")->type_name("");
  std::vector<CLI::Option*> of_cluster = AddCluster(top_command, &top.cluster);
  for (CLI::Option* const option : of_cluster) option->needs(top_job);
  of_cluster.push_back(top_job);
  std::vector<CLI::Option*> of_run = AddRun(top_command, &top.run, &top.runs_folder);
  of_run.push_back(
      top_command->add_option("--url", top.url, "Address of a coordinator, instead of a run")
          ->type_name("URL"));
  of_run.push_back(top_command
                       ->add_option("--tls-folder", top.tls_folder,
                                    "Operator's tls.crt, tls.key and ca.crt, for an https address")
                       ->type_name("DIR"));
  Exclude(of_cluster, of_run);
  top_command->add_flag("--once", top.is_once, "Print one look and end");
  top_command->footer(kTopFooter);

  paceline::commands::FetchOptions fetch;
  CLI::App* fetch_command = app.add_subcommand("fetch", "Get the model of a job that is over");
  CLI::Option* const fetch_job =
      fetch_command->add_option("JOB", fetch.job, "A job of a cluster")->type_name("");
  std::vector<CLI::Option*> fetch_cluster = AddCluster(fetch_command, &fetch.cluster);
  AddWays(fetch_command, &fetch, &fetch_cluster);
  for (CLI::Option* const option : fetch_cluster) option->needs(fetch_job);
  fetch_cluster.push_back(fetch_job);
  Exclude(fetch_cluster, AddRun(fetch_command, &fetch.run, &fetch.runs_folder));
  fetch_command
      ->add_option("--to", fetch.to,
                   "Where to; JOB.safetensors here by default; of a run, its folder's own file")
      ->type_name("FILE|DIR");
  fetch_command->footer(kFetchFooter);

  paceline::commands::CtlSetOptions ctl_set;
  CLI::App* ctl_command = app.add_subcommand("ctl", "Change a running job");
  ctl_command->require_subcommand(1);
  CLI::App* ctl_set_command = ctl_command->add_subcommand("set", "Replace fields of a running job");
  ctl_set_command
      ->add_option("[JOB] PATH=VALUE...", ctl_set.arguments,
                   "A job of a cluster, then what to set, such as sync.scheme=SSP; several times")
      ->required()
      ->type_name("");
  Exclude(AddCluster(ctl_set_command, &ctl_set.cluster),
          AddRun(ctl_set_command, &ctl_set.run, &ctl_set.runs_folder));
  ctl_set_command->footer(kCtlSetFooter);

  // The library would only say that a subcommand is missing.
  if (const std::string_view word = argc > 1 ? argv[1] : "";
      !word.empty() && word[0] != '-' && word != "run" && word != "compare" && word != "validate" &&
      word != "simulate" && word != "calibrate" && word != "advise" && word != "replay" &&
      word != "top" && word != "fetch" && word != "ctl") {
    std::fprintf(
        stderr,
        "paceline: no such command: %s; want run, compare, simulate, calibrate, advise, replay, "
        "validate, top, fetch or ctl\n",
        argv[1]);
    return paceline::process::kExitCannotWork;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? paceline::process::kExitDone : paceline::process::kExitCannotWork;
  }
  if (run_command->parsed()) return paceline::commands::Run(run);
  if (simulate_command->parsed()) return paceline::commands::Simulate(simulate);
  if (calibrate_command->parsed()) return paceline::commands::Calibrate(recorded_run);
  if (advise_command->parsed()) return paceline::commands::Advise(advise);
  if (replay_command->parsed()) return paceline::commands::Replay(replay);
  if (compare_command->parsed()) return paceline::commands::Compare(compare);
  if (top_command->parsed()) return paceline::commands::Top(top);
  if (fetch_command->parsed()) return paceline::commands::Fetch(fetch);
  if (ctl_set_command->parsed()) return paceline::commands::CtlSet(ctl_set);
  return paceline::commands::Validate(validate);
}

}  // namespace

int main(int argc, char** argv) {
  paceline::process::ReportCrashes(argv[0]);
  try {
    return Main(argc, argv);
  } catch (const std::exception& error) {
    const std::string limit = paceline::process::WhichLimit();
    std::fprintf(stderr, "paceline: %s\n", limit.empty() ? error.what() : limit.c_str());
    return paceline::process::kExitFailed;
  }
}

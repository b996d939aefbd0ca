#include "tests/bench/step_script.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include <fmt/format.h>

#include "tests/bench/step_rows.h"

namespace paceline::bench {
namespace {

const Transport kWorker = {.name = "paceline-worker", .arguments = {}, .environment = {}};
const std::array<Transport, 2> kScripts = {
    Transport{.name = "a script", .arguments = {}, .environment = {{"PACELINE_HOST_COPIES", "0"}}},
    Transport{.name = "a script, copies",
              .arguments = {},
              .environment = {{"PACELINE_HOST_COPIES", "1"}}}};

// Their folder. The process ends with a line where there is none.
std::string ProgramsOf(const ScriptPlaces& places) {
  const std::string command = fmt::format(
      "'{}/tests/python/host/in_place_of_worker' '{}' /usr/bin/printenv "
      "PACELINE_PROGRAMS",
      places.source, places.build);
  FILE* const output = ::popen(command.c_str(), "r");
  std::array<char, 4096> line{};
  const bool is_read = output != nullptr && std::fgets(line.data(), line.size(), output) != nullptr;
  if (output == nullptr || ::pclose(output) != 0 || !is_read) {
    std::cerr << "no script can take the place of paceline-worker here: " << line.data() << '\n';
    std::exit(1);
  }
  const std::string text(line.data());
  return text.substr(0, text.find('\n'));
}

}  // namespace

bool RunScripts(const std::vector<StepTask>& tasks, const StepPlaces& places,
                const ScriptPlaces& scripts, int rounds, double loss_difference_max,
                nlohmann::ordered_json& json) {
  StepPlaces with_scripts = places;
  with_scripts.programs = ProgramsOf(scripts);
  bool agrees = true;
  for (const StepTask& task : tasks) {
    const StepFolder worker_folder(task, places);
    const StepFolder script_folder(task, with_scripts);
    std::vector<StepRow> rows = {{.name = kWorker.name}};
    for (const Transport& script : kScripts) rows.push_back({.name = script.name});
    for (int round = 0; round < rounds; ++round) {
      const StepRun worker = worker_folder.RunPaceline(kWorker);
      rows[0].Add(worker, worker);
      for (size_t i = 0; i < kScripts.size(); ++i)
        rows[1 + i].Add(script_folder.RunPaceline(kScripts[i]), worker);
    }
    std::cout << fmt::format(
        "\nScripts beside paceline-worker, whose speed is 1: {} parameters, {} workers, {} shards, "
        "batch {} a worker, {} steps, rounds {}\n",
        task.parameters(), task.workers, task.shards, task.batch, task.steps, rounds);
    PrintHead();
    for (const StepRow& row : rows) {
      Print(row);
      json.push_back(Json("script", row, task));
      agrees = agrees && row.loss.last <= loss_difference_max;
    }
  }
  return agrees;
}

}  // namespace paceline::bench

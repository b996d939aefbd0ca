// Prints all that there is of the lives of a scenario: what each policy met and decided, and the
// figures. Of scenarios whose objective is a formula: no LibTorch is needed.
//
//   lives SCENARIO
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "simulator/report/report.h"
#include "simulator/scenario/scenario.h"

int main(int argc, char** argv) {
  using namespace paceline::simulator;
  std::ifstream file(argc == 2 ? argv[1] : "");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const LoadedScenario loaded = LoadScenario(text);
  for (const auto& error : loaded.errors) std::cerr << ToString(error) << '\n';
  if (!loaded.errors.empty() || loaded.scenario.model) {
    std::cerr << "usage: lives SCENARIO, without a model\n";
    return 2;
  }
  std::vector<Row> rows;
  for (const Arm& arm : loaded.scenario.arms) {
    for (uint64_t i = 0; i < loaded.scenario.seeds; ++i) {
      const uint64_t seed = loaded.scenario.first_seed + i;
      ClusterOptions options = OptionsOf(loaded.scenario, arm, seed);
      options.trace = [](std::string_view line) { std::cout << line << '\n'; };
      const paceline::StatusOr<Life> life = Simulate(options);
      if (!life.ok()) {
        std::cerr << arm.name << ": " << paceline::Message(life.status()) << '\n';
        return 1;
      }
      rows.push_back(RowOf(arm.name, seed, options.workers.size(), *life));
    }
  }
  std::cout << RowsJson(rows);
}

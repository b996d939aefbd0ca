// Defines Scenario: what a file of `paceline simulate` says, and LoadScenario, which reads it.
// Every field, its default and its bounds: docs/simulation.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/job/manifest/field_error.h"
#include "simulator/driver/cluster.h"

namespace paceline::simulator {

// A way to train, of those that are compared.
struct Arm {
  std::string name;
  sync::PolicySpec policy;
  double learning_rate = 0.1;
};

struct FileField {
  std::string path;  // As it is written: relative to the scenario's file. Empty: none is named.
  int line = 0;
};

// Whose gradients are real.
struct LearntModel {
  FileField model;  // A TorchScript file.
  FileField train;
  FileField eval;    // Whose loss counts; empty: the training set's.
  std::string loss;  // A name of a TrainingJob's spec.model.loss; empty: the model's own method.
};

struct Scenario {
  std::string name;
  uint32_t seeds = 1;  // Lives of each arm, of seeds first_seed, first_seed + 1, ...
  uint64_t first_seed = 1;
  ClusterOptions cluster;  // Of every arm; its policy, rate and seed are the arm's and the life's.
  std::optional<LearntModel> model;  // In the place of the quadratic: whoever simulates opens it.
  std::vector<FileField> traces;     // Of cluster.injected.delays, in their order: likewise.
  std::vector<Arm> arms;             // At least one, of different names.
};

struct LoadedScenario {
  Scenario scenario;
  std::vector<job::FieldError>
      errors;  // All there are, in the order of the text; none: it is fit to be simulated.
};

LoadedScenario LoadScenario(std::string_view text);

// What is simulated of that arm and seed.
ClusterOptions OptionsOf(const Scenario& scenario, const Arm& arm, uint64_t seed);

}  // namespace paceline::simulator

// Defines ReadRecordings, for tests: what PyTorch computed step by step, as
// tests/golden/optim/record.py wrote it down.
#pragma once

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "lib/base/testing/places.h"
#include "lib/store/layout.h"

namespace paceline::store::testing {

struct RecordedStep {
  double rate = 0;
  std::vector<float> gradient;
  std::vector<float> parameters;
  std::vector<float> average;  // Empty where none was recorded.
};

struct Recording {
  std::string name;
  std::map<std::string, double> options;
  std::vector<TensorSpec> tensors;  // Empty: of one.
  std::vector<float> initial;
  std::vector<RecordedStep> steps;
};

inline std::vector<float> ReadValues(std::istream& line) {
  std::vector<float> values;
  for (std::string word; line >> word;) values.push_back(std::strtof(word.c_str(), nullptr));
  return values;
}

// Of tests/golden/optim.
inline std::vector<Recording> ReadRecordings(const std::string& name) {
  std::ifstream file(InSource("tests/golden/optim/" + name));
  std::vector<Recording> all;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string keyword, word;
    line >> keyword;
    if (keyword == "case") line >> all.emplace_back().name;
    if (all.empty()) continue;
    Recording& now = all.back();
    if (keyword == "option") {
      line >> word;
      line >> now.options[word];
    }
    if (keyword == "tensor") {
      TensorSpec& tensor = now.tensors.emplace_back();
      line >> tensor.name >> tensor.shape.emplace_back();
    }
    if (keyword == "step") line >> now.steps.emplace_back().rate;
    if (keyword == "gradient") now.steps.back().gradient = ReadValues(line);
    if (keyword == "average") now.steps.back().average = ReadValues(line);
    if (keyword == "parameters")
      (now.steps.empty() ? now.initial : now.steps.back().parameters) = ReadValues(line);
  }
  return all;
}

}  // namespace paceline::store::testing

// Defines what is trained, and on which samples.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/job/manifest/enums.h"

namespace paceline::job {

// Exactly one of `torch_script` and `built_in` is there in a valid job; neither, and nothing else
// set, where workers run a command of their own, which has its model and its data.
struct Model {
  std::optional<std::string> torch_script;  // A file.
  std::optional<BuiltInModel> built_in;
  std::vector<int64_t> input_shape;  // Built-in models: of one sample, without the batch.
  std::optional<int64_t> classes;    // Built-in models: length of the output.
  std::optional<int64_t> hidden;     // Mlp: units of the hidden layer. Cnn: channels.
  Loss loss = Loss::kCrossEntropy;
  std::optional<std::string> init;  // A .safetensors file of starting values.
  friend bool operator==(const Model&, const Model&) = default;
};

// Files, each a file, a folder of such files, whose name ends in /, or a pattern of names. One
// .safetensors file holds inputs and targets, one .bin file tokens that are both; of IDX and .npy
// there are two files.
struct Data {
  std::optional<std::string> train;  // Absent where workers run a command of their own.
  std::optional<std::string> train_targets;
  std::optional<std::string> eval;
  std::optional<std::string> eval_targets;
  std::vector<std::string> inputs;         // Tensors that forward takes; empty: `inputs`.
  std::optional<int64_t> sequence_length;  // Token files: tokens of one sample.
  TokenType token_type = TokenType::kUInt16;
  OnDrop on_drop = OnDrop::kReturn;
  int64_t prefetch_batches = 2;  // Prepared while the one before is computed; 0: none.
  friend bool operator==(const Data&, const Data&) = default;
};

}  // namespace paceline::job

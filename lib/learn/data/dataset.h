// Defines Dataset: labelled samples of one file (or a pair), gathered into batches by index.
//
//   file                       inputs                                targets
//   *.safetensors              tensor `inputs`                       tensor `targets`
//   *-images-idx3-ubyte        MNIST's images as float32 0..1,       the file with `labels-idx1` in
//   the place of
//                              shape [1, height, width]              `images-idx3`, as int64
//   *.npy                      the array                             the file with `targets` in the
//   place of `inputs`
//   *.bin                      windows of tokens, int64              the same windows one token
//   later
//
// Rows are float32 or int64; targets of uint8 or int32 and inputs of int32 are widened to int64.
// Other tensors of a safetensors file are ignored.
//
// Example:
//   PACELINE_ASSIGN_OR_RETURN(const Dataset data, Dataset::Open({.path = "train.safetensors"}));
//   data.inputs().Gather(samples, batch);
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/status.h"
#include "lib/learn/data/columns.h"

namespace paceline::learn {

struct DatasetOptions {
  std::string path;
  std::string targets_path;      // Empty: by the rule of the table above. IDX and npy only.
  uint64_t window_tokens = 128;  // Token files: tokens of one sample.
  uint64_t token_bytes = 2;      // Token files: 2 (uint16) or 4 (int32), little-endian.
};

// An immutable value; copies share the memory. Thread-safe.
class Dataset {
 public:
  // InvalidArgument, naming file and tensor, shape and type, if the file is not what its name says,
  // has no sample, more than 2^32 - 1, or not as many targets as inputs. NotFound, PermissionDenied
  // for the file itself.
  static StatusOr<Dataset> Open(const DatasetOptions& options);

  uint64_t samples() const { return inputs_.rows; }
  const Column& inputs() const { return inputs_; }
  const Column& targets() const { return targets_; }

 private:
  Dataset(Column inputs, Column targets);

  Column inputs_;
  Column targets_;
};

}  // namespace paceline::learn

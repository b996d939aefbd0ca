// Defines Dataset: labelled samples of one file, of a pair, or of several of either, gathered into
// batches by index.
//
//   file                       inputs                                targets
//   *.safetensors              tensor `inputs`, or those named       tensor `targets`
//   *-images-idx3-ubyte        MNIST's images as float32 0..1,       the file with `labels-idx1` in
//   the place of
//                              shape [1, height, width]              `images-idx3`, as int64
//   *.npy                      the array                             the file with `targets` in the
//   place of `inputs`
//   *.bin                      windows of tokens, int64              the same windows one token
//   later
//
// Rows are float32 or int64; targets of uint8 or int32 and inputs of int32 are widened to int64.
// Other tensors of a safetensors file are ignored. Several files (data_files.h) are one set, one
// file's rows after the other's; no window of tokens crosses files. Files are mapped: the set may
// be larger than memory.
//
// Example:
//   PACELINE_ASSIGN_OR_RETURN(const Dataset data, Dataset::Open({.path = "train.safetensors"}));
//   data.inputs().front().Gather(samples, batch);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/learn/data/columns.h"

namespace paceline::learn {

struct DatasetOptions {
  std::string path;          // A file, a folder or a pattern.
  std::string targets_path;  // Empty: by the rule of the table above. IDX and npy only.
  std::vector<std::string> inputs = {"inputs"};  // Tensors of safetensors files, in order.
  uint64_t window_tokens = 128;                  // Token files: tokens of one sample.
  uint64_t token_bytes = 2;  // Token files: 2 (uint16) or 4 (int32), little-endian.
};

// An immutable value; copies share the memory. Thread-safe.
class Dataset {
 public:
  // InvalidArgument, naming file and tensor, shape and type, if a file is not what its name says,
  // has not as many targets as inputs or other rows than the first one, or if there is no sample,
  // or more than 2^32 - 1. NotFound, PermissionDenied for files themselves.
  static StatusOr<Dataset> Open(const DatasetOptions& options);

  uint64_t samples() const { return targets_.rows; }
  const std::vector<Column>& inputs() const { return inputs_; }  // One at least.
  const Column& targets() const { return targets_; }
  uint64_t row_bytes() const;  // Of all columns, as gathered.

 private:
  Dataset(std::vector<Column> inputs, Column targets);

  std::vector<Column> inputs_;
  Column targets_;
};

}  // namespace paceline::learn

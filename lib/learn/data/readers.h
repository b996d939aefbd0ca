// Declares the readers of the file formats that Dataset knows; each gives one file's inputs and
// targets as columns of one piece. Files are mapped, not read.
//
// All refuse, with InvalidArgument naming the file, what their format does not allow or the file is
// too short for.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/learn/data/columns.h"
#include "lib/learn/data/dataset.h"

namespace paceline::learn {

enum class Side { kInputs, kTargets };

struct Columns {
  std::vector<Column> inputs;
  Column targets;
};

StatusOr<Columns> ReadSafetensors(const std::string& path, std::span<const std::string> inputs);
StatusOr<Columns> ReadIdx(const std::string& inputs_path, const std::string& targets_path);
StatusOr<Columns> ReadNpy(const std::string& inputs_path, const std::string& targets_path);
StatusOr<Columns> ReadTokens(const std::string& path, const DatasetOptions& options);

}  // namespace paceline::learn

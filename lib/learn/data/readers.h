// Declares the readers of the file formats that Dataset knows; each gives inputs and targets as
// columns.
//
// All refuse, with InvalidArgument naming the file, what their format does not allow or the file is
// too short for.
#pragma once

#include <string>

#include "lib/base/status.h"
#include "lib/learn/data/columns.h"
#include "lib/learn/data/dataset.h"

namespace paceline::learn {

enum class Side { kInputs, kTargets };

struct Columns {
  Column inputs;
  Column targets;
};

StatusOr<Columns> ReadSafetensors(const std::string& path);
StatusOr<Columns> ReadIdx(const std::string& inputs_path, const std::string& targets_path);
StatusOr<Columns> ReadNpy(const std::string& inputs_path, const std::string& targets_path);
StatusOr<Columns> ReadTokens(const DatasetOptions& options);

// `path` with the last `from` of its file name replaced. InvalidArgument, asking for the path of
// the targets, if the name has none.
StatusOr<std::string> SiblingPath(const std::string& path, const std::string& from,
                                  const std::string& to);

}  // namespace paceline::learn

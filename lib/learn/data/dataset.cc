#include "lib/learn/data/dataset.h"

#include <limits>
#include <utility>

#include "lib/learn/data/readers.h"

namespace paceline::learn {
namespace {

std::string FileName(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

StatusOr<std::string> TargetsPath(const DatasetOptions& options, const std::string& from,
                                  const std::string& to) {
  if (!options.targets_path.empty()) return options.targets_path;
  return SiblingPath(options.path, from, to);
}

StatusOr<Columns> Read(const DatasetOptions& options) {
  const std::string& path = options.path;
  const std::string name = FileName(path);
  if (name.ends_with(".safetensors")) return ReadSafetensors(path);
  if (name.ends_with(".npy")) {
    PACELINE_ASSIGN_OR_RETURN(const std::string targets, TargetsPath(options, "inputs", "targets"));
    return ReadNpy(path, targets);
  }
  if (name.ends_with(".bin")) return ReadTokens(options);
  if (name.find("idx") != std::string::npos) {
    PACELINE_ASSIGN_OR_RETURN(const std::string targets,
                              TargetsPath(options, "images-idx3", "labels-idx1"));
    return ReadIdx(path, targets);
  }
  return InvalidArgument(
      "data file {} has no known ending: want .safetensors, -idx3-ubyte, .npy or .bin", path);
}

}  // namespace

StatusOr<std::string> SiblingPath(const std::string& path, const std::string& from,
                                  const std::string& to) {
  const size_t name = path.find_last_of('/') + 1;
  const size_t at = path.rfind(from);
  if (at == std::string::npos || at < name) {
    return InvalidArgument(
        "cannot tell the targets of {}: its name has no \"{}\" to replace by \"{}\"", path, from,
        to);
  }
  return path.substr(0, at) + to + path.substr(at + from.size());
}

StatusOr<Dataset> Dataset::Open(const DatasetOptions& options) {
  PACELINE_ASSIGN_OR_RETURN(Columns columns, Read(options));
  const Column& inputs = columns.inputs;
  const Column& targets = columns.targets;
  if (inputs.rows != targets.rows) {
    return InvalidArgument("samples differ: {} has shape {}, {} has shape {}", inputs.name,
                           ShapeText(inputs.rows, inputs.shape), targets.name,
                           ShapeText(targets.rows, targets.shape));
  }
  if (inputs.rows == 0) return InvalidArgument("{} has no sample", inputs.name);
  if (inputs.rows > std::numeric_limits<uint32_t>::max()) {
    return InvalidArgument("{} has too many samples: got {}, at most {}", inputs.name, inputs.rows,
                           std::numeric_limits<uint32_t>::max());
  }
  if (inputs.row_elements() == 0 || targets.row_elements() == 0) {
    const Column& empty = inputs.row_elements() == 0 ? inputs : targets;
    return InvalidArgument("{} has empty rows: shape {}", empty.name,
                           ShapeText(empty.rows, empty.shape));
  }
  return Dataset(std::move(columns.inputs), std::move(columns.targets));
}

Dataset::Dataset(Column inputs, Column targets)
    : inputs_(std::move(inputs)), targets_(std::move(targets)) {}

}  // namespace paceline::learn

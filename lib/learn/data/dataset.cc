#include "lib/learn/data/dataset.h"

#include <limits>
#include <utility>

#include "lib/learn/data/data_files.h"
#include "lib/learn/data/readers.h"

namespace paceline::learn {
namespace {

StatusOr<Columns> ReadFile(const DatasetOptions& options, FileKind kind, const std::string& path,
                           const std::string& targets_path) {
  switch (kind) {
    case FileKind::kSafetensors:
      return ReadSafetensors(path, options.inputs);
    case FileKind::kIdx:
      return ReadIdx(path, targets_path);
    case FileKind::kNpy:
      return ReadNpy(path, targets_path);
    case FileKind::kTokens:
      return ReadTokens(path, options);
  }
  return Internal("no such kind of file");
}

Status CheckFile(const Columns& columns) {
  const Column& targets = columns.targets;
  for (const Column& inputs : columns.inputs) {
    if (inputs.rows == targets.rows) continue;
    return InvalidArgument("samples differ: {} has shape {}, {} has shape {}", inputs.name,
                           ShapeText(inputs.rows, inputs.shape), targets.name,
                           ShapeText(targets.rows, targets.shape));
  }
  return OkStatus();
}

// All files' columns, by place: those of the first input, and so on, those of the targets last.
using Places = std::vector<std::vector<Column>>;

StatusOr<Places> ReadFiles(const DatasetOptions& options) {
  PACELINE_ASSIGN_OR_RETURN(DataFiles files, FindDataFiles(options.path));
  std::vector<std::string> targets(files.paths.size());
  if (files.kind == FileKind::kIdx || files.kind == FileKind::kNpy) {
    PACELINE_ASSIGN_OR_RETURN(targets, FindTargetFiles(options.targets_path, files));
  }
  Places places;
  for (size_t i = 0; i < files.paths.size(); ++i) {
    PACELINE_ASSIGN_OR_RETURN(Columns columns,
                              ReadFile(options, files.kind, files.paths[i], targets[i]));
    PACELINE_RETURN_IF_ERROR(CheckFile(columns));
    places.resize(columns.inputs.size() + 1);
    for (size_t k = 0; k < columns.inputs.size(); ++k)
      places[k].push_back(std::move(columns.inputs[k]));
    places.back().push_back(std::move(columns.targets));
  }
  return places;
}

// Of several files, what they are called together: "shards/ (3 files): tensor inputs".
std::string NameOf(const DatasetOptions& options, const std::vector<Column>& columns) {
  const std::string& first = columns.front().name;
  if (columns.size() == 1) return first;
  const size_t tensor = first.find(": tensor ");
  return fmt::format("{} ({} files){}", options.path, columns.size(),
                     tensor == first.npos ? "" : first.substr(tensor));
}

}  // namespace

StatusOr<Dataset> Dataset::Open(const DatasetOptions& options) {
  PACELINE_ASSIGN_OR_RETURN(Places places, ReadFiles(options));
  std::vector<Column> columns;
  for (std::vector<Column>& of_files : places) {
    std::string name = NameOf(options, of_files);
    PACELINE_ASSIGN_OR_RETURN(columns.emplace_back(), Join(std::move(name), std::move(of_files)));
  }
  const Column& first = columns.front();
  if (first.rows == 0) return InvalidArgument("{} has no sample", first.name);
  if (first.rows > std::numeric_limits<uint32_t>::max()) {
    return InvalidArgument("{} has too many samples: got {}, at most {}", first.name, first.rows,
                           std::numeric_limits<uint32_t>::max());
  }
  for (const Column& column : columns) {
    if (column.row_elements() > 0) continue;
    return InvalidArgument("{} has empty rows: shape {}", column.name,
                           ShapeText(column.rows, column.shape));
  }
  Column targets = std::move(columns.back());
  columns.pop_back();
  return Dataset(std::move(columns), std::move(targets));
}

Dataset::Dataset(std::vector<Column> inputs, Column targets)
    : inputs_(std::move(inputs)), targets_(std::move(targets)) {}

uint64_t Dataset::row_bytes() const {
  uint64_t bytes = targets_.row_bytes();
  for (const Column& column : inputs_) bytes += column.row_bytes();
  return bytes;
}

}  // namespace paceline::learn

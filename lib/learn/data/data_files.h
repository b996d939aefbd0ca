// Defines DataFiles: the files that the name of a data set stands for.
#pragma once

#include <string>
#include <vector>

#include "lib/base/status.h"

namespace paceline::learn {

enum class FileKind { kSafetensors, kIdx, kNpy, kTokens };

struct DataFiles {
  FileKind kind = FileKind::kSafetensors;
  std::vector<std::string>
      paths;  // One at least; of several in the order of their names, by bytes.
};

// `name` is a file; or a folder, of which all files of a known kind are taken, without those whose
// name begins with a dot; or, if there is no such file, a name with * and ? in its last part, which
// stand for any characters and for one. InvalidArgument, naming what is there, if that is no file
// of a known kind, or files of several. NotFound, PermissionDenied or Internal for the folder.
StatusOr<DataFiles> FindDataFiles(const std::string& name);

// The targets of files that hold inputs alone: what `name` stands for, one for each of
// `inputs.paths`, in order. Without a name, each one's sibling by the rule of its kind (dataset.h),
// which is then taken out of `inputs` if it was found there.
StatusOr<std::vector<std::string>> FindTargetFiles(const std::string& name, DataFiles& inputs);

}  // namespace paceline::learn

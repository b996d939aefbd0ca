// Defines LocalJob: a TrainingJob as it is run on one machine.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/local/volumes.h"
#include "lib/base/status.h"
#include "lib/job/manifest/field_error.h"
#include "lib/job/manifest/training_job.h"
#include "lib/job/process_name.h"

namespace paceline::local {

// What a template adds to the processes of its role.
struct ProcessExtras {
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> arguments;
  std::string device = "cpu";  // As paceline-worker's --device takes it.
};

struct LocalJob {
  job::TrainingJob job;                         // Its files' paths are those of this machine.
  std::map<std::string, ProcessExtras> extras;  // By group, as job::ProcessId has it.
  std::optional<std::string> output_folder;     // Absolute. Absent: the run's own folder.
  bool may_make_output_folder = true;
  std::optional<std::string> checkpoint_folder;  // Absolute, one for all shards.
  bool may_make_checkpoint_folder = true;
  bool has_default_checkpoints = false;  // Nobody asked for them: they are in the run's folder.
  std::vector<std::string> ignored;      // Paths of fields that mean nothing on one machine.
  std::vector<std::string> notes;  // What to know of it: cautions, what means something else here.
  std::vector<job::FieldError> errors;  // What cannot be done on one machine.
};

// `job` is valid, with its defaults. emptyDirs become folders of `run_folder`/volumes, checkpoints
// that nobody asked for are in `run_folder`/checkpoints. Touches no file.
LocalJob AdaptJob(const job::TrainingJob& job, const std::string& run_folder,
                  VolumeFolders& volumes);

// Makes the folders of output and checkpoints where they are missing. InvalidArgument, with the
// system's words, if there is none then or nothing can be written into it.
Status PrepareFolders(const LocalJob& job);

}  // namespace paceline::local

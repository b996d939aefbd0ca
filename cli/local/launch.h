// Declares LaunchCommand: the command line and environment of one process of a local run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/local/child.h"
#include "cli/local/job_folder.h"
#include "cli/local/local_job.h"
#include "lib/job/plan/plan.h"

namespace paceline::local {

struct LaunchOptions {
  std::string programs_folder;                  // Where paceline-ps and paceline-worker lie.
  std::string manifest_folder;                  // Where the job's relative paths start.
  std::string model_path;                       // Where the final model goes.
  std::string checkpoint_folder = "";           // Empty: no checkpoints.
  bool has_default_checkpoints = false;         // Nobody asked for them.
  std::string resume = "auto";                  // Or "always", "never".
  int http_port = 0;                            // The coordinator's; 0 takes a free one.
  std::map<std::string, ProcessExtras> extras;  // By group, as job::ProcessId has it.
  std::vector<std::string> command = {};        // Of workers and evaluator; empty: paceline-worker.
  std::string command_folder = "";              // Where that starts.
  int64_t seed = 0;                             // As training.seed: of scripts.
  std::vector<int> locks = {};  // Of folders that parameter servers write to; they hold them, too.
};

// What a template says comes last and wins; of what only scripts are told (job::ForScripts), this
// process's own environment wins too.
Command LaunchCommand(const LaunchOptions& options, const JobFolder& folder,
                      const job::Start& start);

}  // namespace paceline::local

// Defines WorkerOptions: what a worker process is told by whoever starts it.
//
// Each flag can be a variable of the environment instead, PACELINE_ and its name in capitals
// (--tls-folder: PACELINE_TLS_FOLDER; lib/job/environment.h). A program that is not ours, and has a
// command line of its own, is told so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "lib/base/status.h"
#include "lib/base/time.h"

namespace paceline::worker {

struct WorkerOptions {
  std::string job_file;
  std::string folder = ".";  // Of the manifest; relative paths in the job start here.
  std::string coordinator;   // Its address.
  Duration connect_timeout = std::chrono::seconds(600);  // Until there is work.
  std::string tls_folder;  // tls.crt, tls.key and ca.crt of the role; empty: plain text.
  std::string role = "worker";
  std::string group;  // Empty: the job has no groups of workers.
  uint32_t index = 0;
  std::string device = "cpu";
  std::string push_log;  // Folder of a worker's own account of its pushes; empty: none.
  std::optional<uint64_t> attempt;
  std::string termination_message;
  std::string log_format = "text";

  bool is_evaluator() const { return role == "evaluator"; }
};

// `options` outlives `app`.
void AddFlags(CLI::App& app, WorkerOptions& options);

// Of a process that has no flags of ours. FailedPrecondition: it was not started as a worker, there
// is no PACELINE_JOB. InvalidArgument, naming the variable.
StatusOr<WorkerOptions> OptionsFromEnvironment();

}  // namespace paceline::worker

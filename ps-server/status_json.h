// Writes a job's progress as JSON: what GET /v1/job answers and what the summary file holds.
// docs/wire.md lists the fields.
#pragma once

#include <optional>
#include <string>

#include "lib/coordination/effect.h"
#include "lib/job/manifest/enums.h"
#include "lib/store/sha256.h"
#include "ps-server/coordinator/progress.h"

namespace paceline::ps {

// What is shown of the job besides its progress.
struct JobView {
  job::Toggle mtls = job::Toggle::kEnabled;  // What the manifest asks for...
  bool has_tls = false;                      // ...and what is: sockets of one machine need none.
  std::string scheme;                        // That is wanted now...
  std::string composition;                   // ...and with its parts (lib/job).
  bool is_chaos_enabled = false;             // Delays are injected: an experiment.
  std::optional<store::FileDigest> model;    // Of the final model's file, once it is written.
  bool is_model_fetched = false;
  size_t left_out_of_model = 0;  // Frozen parameters, which workers have by themselves.
};

// One object, compact. `finished` is given once the job is over.
std::string ProgressJson(const Progress& progress, const JobView& view,
                         const std::optional<coordination::Finished>& finished);

// The same without workers and epochs: small enough for a termination message (4096 bytes).
std::string FinalStateJson(const Progress& progress, const JobView& view,
                           const coordination::Finished& finished);

}  // namespace paceline::ps

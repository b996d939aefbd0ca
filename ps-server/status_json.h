// Writes a job's progress as JSON: what GET /v1/job answers and what the summary file holds.
// docs/wire.md lists the fields.
#pragma once

#include <optional>
#include <string>

#include "lib/coordination/effect.h"
#include "lib/job/enums.h"
#include "ps-server/driver/progress.h"

namespace paceline::ps {

// Whether connections are encrypted and both ends proved.
struct Security {
  job::Toggle mtls = job::Toggle::kEnabled;  // What the manifest asks for...
  bool is_in_use = false;                    // ...and what is: sockets of one machine need none.
};

// One object, compact. `finished` is given once the job is over.
std::string ProgressJson(const Progress& progress, const Security& security,
                         const std::optional<coordination::Finished>& finished);

// The same without workers and epochs: small enough for a termination message (4096 bytes).
std::string FinalStateJson(const Progress& progress, const Security& security,
                           const coordination::Finished& finished);

}  // namespace paceline::ps

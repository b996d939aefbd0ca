// Defines Candidate: a scheme with its settings that a recorded job might have had.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/sync/schemes/policy_spec.h"

namespace paceline::simulator {

struct Candidate {
  std::string name;                // As paceline compare has it: "ssp:3".
  std::vector<std::string> lines;  // Of spec.sync, as manifests have them: "scheme: SSP".
  sync::PolicySpec policy;
  // Pushes count that were computed on older versions, or on a copy that went its own way.
  bool mixes_versions = false;
};

struct LeftOut {
  std::string name;
  std::string reason;
};

struct Candidates {
  std::vector<Candidate> all;
  std::vector<LeftOut> left_out;  // What the checks of manifests refuse for this job.
};

// Each scheme with the settings that are sensible for so many workers, put into `manifest`, which
// is a job that could run, in the place of its spec.sync. Of one worker only BSP is left.
Candidates CandidatesFor(const std::string& manifest, uint32_t workers);

// The lines as a value: "{scheme: SSP, ssp: {staleness: 3}}".
std::string InOneLine(const std::vector<std::string>& lines);

bool MixesVersions(const sync::PolicySpec& policy);
// What workers are told in the middle of a step, to give it up.
bool Interrupts(const sync::PolicySpec& policy);

}  // namespace paceline::simulator

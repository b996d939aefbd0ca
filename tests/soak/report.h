// Defines what a soak came to: its table for people, its JSON for programs, its verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/soak/plan.h"

namespace paceline::soak {

// A fault that was done.
struct Done {
  RoleAndKind what{};
  std::string target;
  double seconds = 0;
  double stand_still_seconds = 0;  // The longest between two steps around it, of its episode.
};

enum class Ending {
  kSucceeded,
  kLost,  // It failed, or ended otherwise than well.
  kHung,  // No step for too long, while no fault was at work.
};

struct JobResult {
  JobPlan plan;
  Ending ending = Ending::kSucceeded;
  std::string why;  // Of an ending that is no success.
  std::vector<Done> faults;
  uint64_t missed = 0;  // Faults whose target was not there, or suffered from the same already.
  double seconds = 0;
  double longest_stand_still_seconds = 0;
  uint64_t roll_backs = 0;
  uint64_t steps_lost = 0;
  uint64_t epochs = 0;
  uint64_t samples = 0;
  std::vector<std::string> wrong;  // With its count of samples. Empty: every one once an epoch.
  double accuracy = 0;
  double calm_least = 0, calm_most = 0;  // Accuracies of the same scheme without faults.
  std::string folder;                    // What was kept of it; empty if it was all well.
};

struct SoakResult {
  uint64_t seed = 0;
  double minutes = 0;
  std::vector<JobResult> jobs;
  std::vector<std::string> left_out;  // What could not be done on this machine, and why.
};

// The least accuracy that is within the spread of the runs without faults: their lowest, less what
// lies between them or kAccuracyGrain, whichever is more.
// 10 of the 360 samples that judge. A last step of a few samples is taken at the full learning
// rate: one of three samples cost 8 of them.
inline constexpr double kAccuracyGrain = 0.03;
double LeastAccuracy(const JobResult& job);

// Why the job is no good; empty: it is.
std::vector<std::string> Complaints(const JobResult& job);
bool IsGood(const SoakResult& result);

// The command that plays this job's round again.
std::string ReplayCommand(const SoakResult& result, const JobResult& job);

std::string Table(const SoakResult& result);
nlohmann::ordered_json Json(const SoakResult& result);

}  // namespace paceline::soak

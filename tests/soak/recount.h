// Defines Recount: which samples a job has trained on, told from its workers' own accounts of what
// was in their pushes and from the record of which pushes made up each version. The coordinator's
// ledger is not asked.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::soak {

struct EpochCount {
  uint64_t counted =
      0;  // Positions that are in a version of the history that stayed, once or more.
  uint64_t doubled = 0;  // Of these, in more than one push.
};

struct Recount {
  std::map<uint64_t, EpochCount> epochs;
  uint64_t samples = 0;   // Over all epochs, each as often as it counted.
  uint64_t versions = 0;  // Of the history that stayed.
  uint64_t roll_backs = 0;
  uint64_t steps_lost = 0;            // Published versions that a roll-back made void.
  std::vector<std::string> problems;  // What the accounts themselves do not agree on.
};

// `commits`: the text of --commit-log over all lives of the coordinator. `pushes`: of --push-log,
// one of each worker. What is in a version that a roll-back made void does not count; a generation
// that goes on from a checkpoint has that checkpoint's history.
Recount CountAgain(std::string_view commits, const std::vector<std::string>& pushes);

// What is wrong with it if these are the epochs that are complete, of so many samples each, and
// `discarded` of them were reported as left out. Empty: nothing.
std::vector<std::string> Judge(const Recount& recount, uint64_t epochs, uint64_t train_samples,
                               const std::map<uint64_t, uint64_t>& discarded);

}  // namespace paceline::soak

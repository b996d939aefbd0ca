// Defines how the coordinator's state is reported: to the status page, and in full to walks.
#pragma once

#include <string>

#include "lib/coordination/phases/state.h"

namespace paceline::coordination {

Status Report(const JobState& job);

// All that decides what comes next, without times: equal texts, equal futures but for the clock.
std::string DescribeJob(const JobState& job);

}  // namespace paceline::coordination

// Says in words what happens to processes: one wording for conditions, events and logs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lib/job/plan/draft.h"

namespace paceline::job {

// "digits-worker-3 on node-2"; without a machine, the name alone.
std::string Named(const SeenProcess& process);

// Of an exited one: "digits-worker-3 on node-2 was killed by signal 9".
std::string DescribeExit(const SeenProcess& process);

// Of one that is wanted and does not run: "digits-worker-3 cannot be scheduled: 0/3 nodes ...".
// `process` is null if there is none of that name.
std::string DescribeAbsence(const std::string& name, const SeenProcess* process);

using Absent = std::pair<std::string, const SeenProcess*>;

// The same of several: who is absent for the same reason is in one sentence. "digits-worker-0,
// digits-worker-1 cannot be scheduled: 0/3 nodes ...; digits-worker-2 is stopping".
std::string DescribeAbsences(const std::vector<Absent>& absent);

// What becomes of training when a parameter server is started again.
std::string DescribeRecovery(const Draft& draft);

// The first five and how many more there are.
std::string Joined(std::vector<std::string> words);

// "45s", "3m20s", "1h05m", "2d3h".
std::string DescribeDuration(double seconds);

}  // namespace paceline::job

// Defines ChooseThreads: with how many threads a worker computes on the CPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace paceline::worker {

struct Threads {
  int count = 1;        // At least 1.
  std::string why;      // Where the count comes from, in words.
  std::string ignored;  // What was set and is no number of threads, in words; empty: nothing.
};

// What the manifest asks for, else the environment's OMP_NUM_THREADS (of a list, "4,2", the first
// one: the outermost level, OpenMP 5.2 section 21.2.2), else what the quota of the control group
// covers in full: a thread beyond it would be stopped for a part of each period, and the others
// would wait for it. One without any of these: nobody said that the machine's cores are this
// process's.
Threads ChooseThreads(std::optional<int64_t> asked, const char* omp_num_threads,
                      std::optional<double> cores_max);

}  // namespace paceline::worker

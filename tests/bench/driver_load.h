// Defines MeasureDriver: what the ps-server's driver costs a core where facts come in at a steady
// rate, from the facts to the effects, which go to sessions that do nothing.
#pragma once

#include <cstdint>
#include <string>

namespace paceline::bench {

struct DriverLoad {
  std::string scheme;  // As heads a trace, without batch= and workers=.
  uint32_t workers = 1;
  double facts_per_second = 10'000;
  double seconds = 2;  // Measured, after a quarter of that to warm up.
  // As the server runs it: with metrics, the trace in a file, stragglers and progress watched.
  // Otherwise coordination and the checked policy alone, without a driver.
  bool is_whole = true;
};

struct DriverCost {
  double core = 0;     // Processor seconds of the process a second, making up the facts included.
  double fact_us = 0;  // Likewise, of a fact.
  double facts_per_second = 0;  // That came in: fewer than asked for where the core is full.
};

// One shard, which answers commits at once. Each worker says that it lives once a second, shards'
// answers come as they fall due, all other facts are pushes.
DriverCost MeasureDriver(const DriverLoad& load);

}  // namespace paceline::bench

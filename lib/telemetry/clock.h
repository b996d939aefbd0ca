// Defines SteadyNow, UtcText and UnixSeconds: the only readers of a clock besides each main.cc.
#pragma once

#include <string>

#include "lib/base/time.h"

namespace paceline::telemetry {

// The host's steady clock as the time that cores are told. Values of two hosts, or of two boots of
// one host, are never compared. Thread-safe.
Time SteadyNow();

// The wall clock for people to read, as "2024-05-01T12:34:56.789Z". Never compute with it.
// Thread-safe.
std::string UtcText();

// The wall clock in seconds since 1970, for metrics that tell when something was. Thread-safe.
double UnixSeconds();

}  // namespace paceline::telemetry

// Defines Still: a recording as it would have been, had processes on one machine not hindered each
// other.
#pragma once

#include "simulator/calibration/recording.h"

namespace paceline::simulator {

// What each push computed beside what was injected becomes the least that a worker of its kind was
// seen to take for as many samples: others make a step longer, never shorter, so that the quickest
// is the nearest to what it takes by itself. A worker is of a slower kind than another only where
// its quickest sample took longer than half of the other's, as on a slower device: what is slow in
// all of its steps stays its own, what comes and goes does not. The first kFirstPushes of a worker
// that has others say nothing.
//
// Pushes begin when they did; links, commits and absences are as they were.
Recording Still(Recording recording);

}  // namespace paceline::simulator

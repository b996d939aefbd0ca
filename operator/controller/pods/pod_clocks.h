// Defines PodClocks: what is written in pods of times becomes times of the operator's own clock.
//
// Pods are dated by others: by the API server when they are made and deleted, by their node when
// they begin and end, by a controller when their node is lost. Those clocks may be minutes off, and
// seconds decide here: whether a process waits for too long, is due to be started again, or hangs
// on a dead machine. What is written counts where it agrees with when it was first seen, which is
// within seconds; otherwise it is from then on that time is counted (docs/adr/0039).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/time.h"
#include "operator/controller/pods/own_pod.h"

namespace paceline::controller {

// Of one job; used by one thread at a time. Can be lost: what began or ended before the first look
// is believed then, as far as it is not in the future.
class PodClocks {
 public:
  // Of all of the job's pods, at each look at it.
  void Correct(std::vector<OwnPod>& pods, int64_t node_lost_seconds, Time now);
  // Of a process whose pod is gone, and whose `ended_at` is by our own clock.
  void CorrectGone(job::SeenProcess& process) const;

 private:
  // By our clock; nothing: not so far.
  struct Seen {
    int64_t attempt = 0;
    int64_t look = 0;  // The latest one that it was there at.
    std::optional<Time> made, started, ended, asked_to_go, lost;
  };
  Seen& Of(const job::SeenProcess& process);
  void CorrectLife(Seen& seen, job::SeenProcess& process, Time now) const;

  std::map<std::string, Seen> by_name_;  // Of the process.
  int64_t looks_ = 0;
};

}  // namespace paceline::controller

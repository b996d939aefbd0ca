// Defines LeaderElector: of several processes that share a Lease, at most one leads.
//
// Example:
//   LeaderElector elector(*client, {.lease = {"system", "example"}, .identity = hostname + uuid,
//                                   .started_leading = [&] { controller.Start(); },
//                                   .lost = [&](const Status& why) { std::exit(1); }});
//   elector.Start();
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/kube/client/client.h"
#include "lib/kube/core/object_key.h"

namespace paceline::kube {

struct LeaderElectionOptions {
  ObjectKey lease;                        // coordination.k8s.io/v1; made if it does not exist.
  std::string identity;                   // Different in every process.
  Duration lease_duration = Seconds(15);  // Others wait that long after the last renewal they saw.
  Duration renew_deadline =
      Seconds(10);  // The leader gives up if it could not renew for that long.
  Duration retry_period = Seconds(2);
  // All on the loop's thread; they must not block.
  std::function<void()> started_leading;
  std::function<void(const Status& why)> lost;  // Whoever was leading must stop at once.
  std::function<void(const std::string& identity)> new_leader;
  std::function<void(const Status&)> failed;  // An attempt failed and is retried; for logs.
};

// Skew-safe: never compares clocks of two hosts. A foreign lease has run out when it was not seen
// to change for lease_duration of our own steady clock. Thread-safe.
class LeaderElector {
 public:
  // `client` outlives it. InvalidArgument-like mistakes (no identity, renew_deadline >=
  // lease_duration) are checked with PACELINE_CHECK.
  LeaderElector(Client& client, LeaderElectionOptions options);
  ~LeaderElector();  // As Stop.
  LeaderElector(const LeaderElector&) = delete;
  LeaderElector& operator=(const LeaderElector&) = delete;

  void Start();
  // Gives the lease back, so that the next leader need not wait; blocks for it, a few seconds at
  // most. `lost` is not called. Stop the work of the leader before. Not on the loop's thread.
  void Stop();

  bool IsLeading() const;
  std::string leader() const;  // As last seen; empty: nobody, or not known yet.

 private:
  class Contender;
  std::shared_ptr<Contender> contender_;
};

}  // namespace paceline::kube

// Defines DriverMetrics: what the coordinator counts and measures, under the names of
// docs/metrics.md.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lib/base/time.h"
#include "lib/coordination/coordinator.h"
#include "lib/coordination/effect.h"
#include "lib/protocol/worker_messages.h"
#include "lib/sync/contract/decision.h"
#include "lib/sync/contract/event.h"
#include "lib/telemetry/metrics.h"
#include "ps-server/coordinator/figure_metrics.h"
#include "ps-server/coordinator/worker_metrics.h"

namespace paceline::ps {

// One owner at a time; the registry may be read by any.
class DriverMetrics {
 public:
  explicit DriverMetrics(telemetry::Metrics* metrics);
  ~DriverMetrics();

  void Observed(
      const sync::Event& event);  // Pushes that coordination let through; others are none of ours.
  void Decided(const std::vector<sync::Decision>& decisions);
  void CommitSent(Version version, Time push_arrived, Time now);
  void Published(const coordination::VersionPublished& published, Time now);
  void Released(Version version, Time now);
  void EpochCompleted();
  void Evaluated(const protocol::Evaluated& result);
  void WorkerHad(const coordination::WorkerEvent& event);
  void SampleWasPoisoned();
  void PolicyBrokeContract();
  void Opened(Version version);  // Published now.
  void CheckpointEnded(Version version, bool is_complete);
  void RolledBack();
  void Finished();  // Nobody trains any more, however long the coordinator stays.
  // Of an event; not of work in spare time.
  void PolicyTook(Duration duration);
  // What the coordinator knows of them now.
  void WorkersAre(const std::vector<coordination::WorkerStatus>& workers);
  void PolicyTold(const std::vector<sync::Figure>& figures) { figures_.Show(figures); }

 private:
  struct Families;
  std::unique_ptr<Families> families_;
  WorkerMetrics per_worker_;
  FigureMetrics figures_;
  struct InFlight {
    Time push_arrived;
    Time sent;
    bool is_published = false;
    bool is_released = false;
  };
  void ForgetDone(std::map<Version, InFlight>::iterator commit);

  std::map<Version, InFlight> commits_;  // Sent to shards, not yet both published and released.
  Version committing_;                   // The newest that was sent.
  std::set<WorkerId> workers_;
  int accumulated_ = 0;  // Since the last commit.
  struct Unanswered {
    Version based_on;
    Duration compute{};
  };
  std::map<std::pair<WorkerId, Sequence>, Unanswered> unanswered_;  // Pushes.
  std::optional<Time> published_;                                   // When the newest version was.
};

}  // namespace paceline::ps

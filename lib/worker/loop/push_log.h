// Defines PushLog: a worker's own account of its pushes, for experiments and for tests that count
// samples without asking the coordinator's ledger.
//
// One line for each PushDone, written before it is sent:
//
//   push start=1 counter=0 worker=2 incarnation=1 sequence=5 based_on=3 samples=64
//   ranges=0:0-48,1:0-16
//
// (on one line; a range is EPOCH:BEGIN-END, positions of that epoch's shuffled order).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "lib/base/ids.h"
#include "lib/telemetry/trace_file.h"
#include "lib/worker/loop/session.h"

namespace paceline::worker {

// Thread-safe.
class PushLog {
 public:
  // Appends to FOLDER/worker-INDEX.pushes, or GROUP-INDEX.pushes. Errors: TraceFile::Open's.
  static StatusOr<std::shared_ptr<PushLog>> Open(const std::string& folder, WorkerId index,
                                                 const std::string& group = "");

  // Sessions of `connector` that write down what is pushed in them. The log lives as long as the
  // connector and its sessions.
  static Connector Watch(std::shared_ptr<PushLog> log, Connector connector);

 private:
  friend class WatchedSession;
  PushLog(std::unique_ptr<telemetry::TraceFile> file, WorkerId index);

  void Begin();  // Another session: leases of the one before are void.
  void Note(const protocol::WorkerOrder& order);
  void Note(const protocol::WorkerMessage& message);
  void Write(const protocol::PushDone& done);

  const WorkerId index_;
  std::mutex mutex_;  // Guards what follows.
  const std::unique_ptr<telemetry::TraceFile> file_;
  WorkerId worker_;  // As the coordinator numbers it.
  Incarnation incarnation_;
  std::map<protocol::LeaseId, std::vector<protocol::SampleRange>> leases_;  // Held in this session.
};

}  // namespace paceline::worker

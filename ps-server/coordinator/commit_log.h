// Defines CommitLog: which pushes made up each version, in every life of the coordinator; for
// experiments and for tests that count samples without asking the lease ledger.
//
// Lines, appended before what they tell of is done:
//
//   configured start=1 counter=0 version=0 from=-              (or the name of a checkpoint)
//   commit start=1 counter=0 version=1 pushes=0:1:1,2:1:1      (WORKER:INCARNATION:SEQUENCE)
//   published start=1 counter=0 version=1                      (all shards have it)
//   checkpoint start=1 counter=0 version=1 name=000001-1-0-1   (whole but for its manifest)
//
// A generation whose line names a checkpoint goes on from the history that led to it.
#pragma once

#include <memory>
#include <string>

#include "lib/base/version.h"
#include "lib/coordination/effect.h"
#include "lib/telemetry/trace_file.h"

namespace paceline::ps {

// One owner at a time.
class CommitLog {
 public:
  // Appends to `path`. Errors: TraceFile::Open's.
  static StatusOr<std::unique_ptr<CommitLog>> Open(const std::string& path);

  // To be told every effect, in order, before it is carried out. What fails is logged once and
  // turns the log off.
  void Note(const coordination::Effect& effect);

 private:
  explicit CommitLog(std::unique_ptr<telemetry::TraceFile> file) : file_(std::move(file)) {}
  void Write(const std::string& what, const Generation& generation, Version version,
             const std::string& rest = "");

  const std::unique_ptr<telemetry::TraceFile> file_;
  Generation generation_;
};

}  // namespace paceline::ps

#include "ps-server/coordinator/commit_log.h"

#include <utility>

#include <fmt/format.h>

namespace paceline::ps {

StatusOr<std::unique_ptr<CommitLog>> CommitLog::Open(const std::string& path) {
  PACELINE_ASSIGN_OR_RETURN(auto file, telemetry::TraceFile::Open(path));
  return std::unique_ptr<CommitLog>(new CommitLog(std::move(file)));
}

void CommitLog::Note(const coordination::Effect& effect) {
  if (const auto* configure = std::get_if<coordination::ConfigureShards>(&effect)) {
    const auto& restore = configure->restore;
    generation_ = configure->generation;
    Write("configured", generation_, restore ? restore->version : Version(),
          " from=" + (restore ? restore->checkpoint : "-"));
  } else if (const auto* order = std::get_if<coordination::SendShard>(&effect)) {
    // All shards get the same list; the first stands for them.
    const auto* commit = std::get_if<protocol::CommitAll>(&order->order);
    if (commit == nullptr || order->shard != ShardId(0)) return;
    std::string pushes;
    for (const protocol::AccumulateOrder& one : commit->pushes) {
      pushes += fmt::format("{}{}:{}:{}", pushes.empty() ? "" : ",", one.push.worker.value(),
                            one.push.incarnation.value(), one.push.sequence.value());
    }
    Write("commit", generation_, commit->commit.version, " pushes=" + pushes);
  } else if (const auto* published = std::get_if<coordination::VersionPublished>(&effect)) {
    Write("published", generation_, published->version);
  } else if (const auto* complete = std::get_if<coordination::CompleteCheckpoint>(&effect)) {
    // It may be of a generation that is over.
    const coordination::Checkpoint& checkpoint = complete->checkpoint;
    Write("checkpoint", checkpoint.generation, checkpoint.state.version,
          " name=" + checkpoint.name);
  }
}

void CommitLog::Write(const std::string& what, const Generation& generation, Version version,
                      const std::string& rest) {
  file_->Append(fmt::format("{} start={} counter={} version={}{}", what, generation.start,
                            generation.counter, version.value(), rest));
  file_->Flush();  // The process may be killed at any time.
}

}  // namespace paceline::ps

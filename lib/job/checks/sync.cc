#include <fmt/format.h>

#include "lib/job/checks/checks.h"
#include "lib/job/checks/counts.h"
#include "lib/job/policy_spec.h"
#include "lib/job/worker_groups.h"
#include "lib/sync/schemes/dbw/options.h"
#include "lib/sync/schemes/refusals.h"

namespace paceline::job {
namespace {

bool UsesDbw(const Sync& sync) {
  return sync.quorum ? sync.quorum->word == QuorumWord::kDbw : sync.scheme == Scheme::kDbw;
}

void CheckBatchSizing(const JobSpec& spec, Findings& findings) {
  const BatchSizing& sizing = spec.sync.batch_sizing;
  if (sizing.max_batch_size && *sizing.max_batch_size < sizing.min_batch_size) {
    findings.Add("spec.sync.batchSizing.maxBatchSize",
                 fmt::format("must be at least batchSizing.minBatchSize, {}: got {}",
                             sizing.min_batch_size, *sizing.max_batch_size),
                 {"spec.sync.batchSizing.minBatchSize"});
  }
  if (sizing.rapid_percent <= sizing.dead_band_percent) {
    findings.Add("spec.sync.batchSizing.rapidPercent",
                 fmt::format("must be more than batchSizing.deadBandPercent, {}: got {}",
                             sizing.dead_band_percent, sizing.rapid_percent),
                 {"spec.sync.batchSizing.deadBandPercent"});
  }
  if (sizing.strategy == BatchStrategy::kEqual) return;
  const int64_t workers = ReplicasOf(spec.workers), batch = spec.training.global_batch_size;
  if (Product(sizing.min_batch_size, workers) > batch) {
    findings.Add("spec.sync.batchSizing.minBatchSize",
                 fmt::format("must leave workers.replicas x minBatchSize within "
                             "training.globalBatchSize, {}: got {} x {}",
                             batch, workers, sizing.min_batch_size),
                 {"spec.workers.replicas", "spec.workers.groups", "spec.training.globalBatchSize"});
  }
  if (sizing.max_batch_size && Product(*sizing.max_batch_size, workers) < batch) {
    findings.Add("spec.sync.batchSizing.maxBatchSize",
                 fmt::format("must let workers.replicas x maxBatchSize reach "
                             "training.globalBatchSize, {}: got {} x {}",
                             batch, workers, *sizing.max_batch_size),
                 {"spec.workers.replicas", "spec.workers.groups", "spec.training.globalBatchSize"});
  }
}

void CheckDbw(const JobSpec& spec, Findings& findings) {
  const Dbw& dbw = spec.sync.dbw;
  const int64_t workers = ReplicasOf(spec.workers);
  if (dbw.min_workers > workers) {
    findings.Add(
        "spec.sync.dbw.minWorkers",
        fmt::format("must be at most workers.replicas, {}: got {}", workers, dbw.min_workers),
        {"spec.workers.replicas", "spec.workers.groups", "spec.sync.scheme"});
  }
  if ((dbw.learning_rate_rule == DbwRateRule::kTable) == dbw.learning_rate_factors.empty()) {
    findings.Add("spec.sync.dbw.learningRateFactors",
                 fmt::format("is required with dbw.learningRateRule Table and is for that rule "
                             "only: got {} with {}",
                             dbw.learning_rate_factors.size(), ToWord(dbw.learning_rate_rule)),
                 {"spec.sync.dbw.learningRateRule", "spec.sync.scheme"});
  }
  const OptimizerType optimizer = spec.training.optimizer.type;
  // lib/job/policy_spec.cc holds both enums against each other.
  const auto method = static_cast<sync::DbwMethod>(dbw.method);
  if (sync::HasGain(method) && optimizer != OptimizerType::kSgd) {
    findings.Add("spec.sync.dbw.method",
                 fmt::format("must be Blind or AdaSync with optimizer {}, whose steps are not the "
                             "gradient's that the gain is worked out for: got {}",
                             ToWord(optimizer), ToWord(dbw.method)),
                 {"spec.training.optimizer.type", "spec.sync.scheme"});
  }
}

// Parts that make no sense together. Where training is deterministic another check has the last
// word on schemes (training.cc).
void CheckParts(const TrainingJob& job, Findings& findings) {
  const Sync& sync = job.spec.sync;
  const int64_t workers = ReplicasOf(job.spec.workers);
  // KBatchAsync counts pushes, of which one worker makes several.
  if (sync.quorum && !sync.quorum->word && sync.quorum->workers > workers &&
      sync.scheme != Scheme::kKBatchAsync) {
    findings.Add(
        "spec.sync.quorum",
        fmt::format("must be at most workers.replicas, {}: got {}", workers, sync.quorum->workers),
        {"spec.workers.replicas", "spec.workers.groups", "spec.sync.scheme"});
  }
  if (sync.outer && sync.outer->nesterov && sync.outer->momentum == 0) {
    findings.Add("spec.sync.outer.nesterov", "must be false with outer.momentum 0: got true",
                 {"spec.sync.outer.momentum"});
  }
  sync::PolicySpec spec = PolicySpecFrom(job);
  spec.is_deterministic &= sync.scheme == Scheme::kBsp;
  if (const std::optional<sync::Refusal> refusal = sync::RefusalOf(spec))
    findings.Add("spec.sync." + refusal->part, refusal->reason, {"spec.sync"});
}

}  // namespace

void CheckSync(const TrainingJob& job, Findings& findings) {
  const Sync& sync = job.spec.sync;
  const int64_t workers = ReplicasOf(job.spec.workers);
  if (sync.scheme == Scheme::kBackupWorkers && sync.backup_workers.count >= workers) {
    findings.Add("spec.sync.backupWorkers.count",
                 fmt::format("must be less than workers.replicas, {}: got {}", workers,
                             sync.backup_workers.count),
                 {"spec.workers.replicas", "spec.workers.groups", "spec.sync.scheme"});
  }
  if (UsesDbw(sync)) CheckDbw(job.spec, findings);
  CheckParts(job, findings);
  CheckBatchSizing(job.spec, findings);
}

}  // namespace paceline::job

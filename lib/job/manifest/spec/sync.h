// Defines the synchronisation scheme and its knobs: what may change while a job runs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/job/manifest/enums.h"
#include "lib/job/manifest/values/quorum_field.h"

namespace paceline::job {

struct Ssp {
  int64_t staleness = 3;  // Steps that a worker may be ahead of the slowest.
  UpdateScale update_scale = UpdateScale::kPerWorker;
  friend bool operator==(const Ssp&, const Ssp&) = default;
};

struct Asp {
  UpdateScale update_scale = UpdateScale::kPerWorker;
  friend bool operator==(const Asp&, const Asp&) = default;
};

struct BackupWorkers {
  int64_t count = 1;  // The slowest `count` of each step are not waited for.
  friend bool operator==(const BackupWorkers&, const BackupWorkers&) = default;
};

struct Dbw {
  DbwMethod method = DbwMethod::kGain;
  int64_t window = 20;       // Steps that estimates look back.
  double beta = 1.01;        // Loss above beta x the last one raises k.
  int64_t warmup_steps = 3;  // Steps with all workers at first.
  int64_t min_workers = 1;   // The smallest k.
  int64_t refit_steps = 5;   // Steps between two refits of the time model.
  double aging = 0.98;       // What a refit leaves of the weight of older samples.
  LateWorker late_worker = LateWorker::kFinish;
  DbwFallback fallback = DbwFallback::kAll;
  DbwLossRule loss_rule = DbwLossRule::kBump;
  DbwRateRule learning_rate_rule = DbwRateRule::kConstant;
  std::vector<double> learning_rate_factors;  // Table: of k = 1, 2, ...; the last one for more.
  double silence_factor = 10;                 // Times the expected step of all workers: then nobody
                                              // is waited for.
  double silence_seconds = 60;                // The same, as long as nothing is expected.
  int64_t ada_sync_workers = 1;               // AdaSync: the first k.
  double ada_sync_seconds = 60;               // AdaSync: time between two looks at the loss.
  friend bool operator==(const Dbw&, const Dbw&) = default;
};

struct Wbsp {
  RoundTrigger trigger = RoundTrigger::kAllPushed;
  LatePush late_push = LatePush::kFold;
  OnPull on_pull = OnPull::kRebase;
  MomentumOnPull momentum = MomentumOnPull::kKeep;
  int64_t max_local_steps = 32;     // Of one worker in one round.
  double round_timeout_factor = 5;  // Times the mean round: then it ends without the missing.
  int64_t elect_rounds = 20;        // Designated: rounds between two elections.
  bool normalise = false;           // Weigh workers equally whatever their local steps.
  bool overlap = true;              // Push and pull while computing.
  friend bool operator==(const Wbsp&, const Wbsp&) = default;
};

struct PsPlus {
  std::optional<int64_t> staleness;  // As in SSP; absent: no bound.
  int64_t depth = 2;                 // Own pushes that the version of a step may lack.
  UpdateScale update_scale = UpdateScale::kPerWorker;
  Modulation modulation = Modulation::kStaleness;
  double power = 1;           // Of the rule: how sharply lateness counts. Not of Inverse and None.
  double min_scale = 0.0625;  // The least that modulation leaves of a push.
  friend bool operator==(const PsPlus&, const PsPlus&) = default;
};

struct BatchSizing {
  BatchStrategy strategy = BatchStrategy::kEqual;
  int64_t min_batch_size = 1;             // Of one worker.
  std::optional<int64_t> max_batch_size;  // Of one worker.
  double ema_weight = 0.3;                // Of the newest measurement.
  int64_t period_steps = 5;               // Stepwise: steps between two changes.
  double dead_band_percent = 5;           // Stepwise: spread below which nothing changes.
  double rapid_percent = 30;              // Stepwise: spread above which sizes are computed anew.
  friend bool operator==(const BatchSizing&, const BatchSizing&) = default;
};

struct ModulationPart {
  Modulation rule = Modulation::kStaleness;
  double power = 1;           // As PsPlus'.
  double min_scale = 0.0625;  // Likewise.
  friend bool operator==(const ModulationPart&, const ModulationPart&) = default;
};

struct Outer {
  OuterType type = OuterType::kSgd;
  double learning_rate = 0.7;
  double momentum = 0.9;
  bool nesterov = true;
  friend bool operator==(const Outer&, const Outer&) = default;
};

struct Sync {  // Blocks that `scheme`, with its parts, does not look at are kept and ignored.
  Scheme scheme = Scheme::kBsp;
  // Parts of it that are to be others; absent: as the scheme says.
  std::optional<QuorumField> quorum;
  std::optional<int64_t> reach;  // Versions that a push may be behind and count in full.
  std::optional<Late> late;
  std::optional<int64_t> staleness;
  std::optional<Meanwhile> meanwhile;
  std::optional<ModulationPart> modulation;
  std::optional<LateWorker> late_worker;
  std::optional<UpdateScale> update_scale;
  std::optional<Outer> outer;
  Ssp ssp;
  Asp asp;
  BackupWorkers backup_workers;
  Dbw dbw;
  Wbsp wbsp;
  PsPlus ps_plus;
  BatchSizing batch_sizing;
  friend bool operator==(const Sync&, const Sync&) = default;
};

}  // namespace paceline::job

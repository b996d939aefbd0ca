// Fields of spec.sync.
#pragma once

#include "lib/job/manifest/note.h"
#include "lib/job/manifest/spec/sync.h"

namespace paceline::job {

template <class V>
void Fields(V& visit, Ssp& ssp) {
  visit(
      "staleness", ssp.staleness,
      Note{.text = "steps that a worker may be ahead of the slowest", .min = 0, .max = kCountMax});
  visit("updateScale", ssp.update_scale,
        Note{.text = "how far one push moves the parameters: 1/n of its gradient, or all of it"});
}

template <class V>
void Fields(V& visit, Asp& asp) {
  visit("updateScale", asp.update_scale,
        Note{.text = "how far one push moves the parameters: 1/n of its gradient, or all of it"});
}

template <class V>
void Fields(V& visit, BackupWorkers& backup) {
  visit("count", backup.count,
        Note{.text = "workers that a step does not wait for; fewer than workers.replicas",
             .min = 0,
             .max = kProcessesMax});
}

template <class V>
void Fields(V& visit, Dbw& dbw) {
  visit(
      "method", dbw.method,
      Note{.text =
               "what k is chosen by: expected decrease of the loss per second, by the published "
               "gain or by how much gradients scatter (NoiseScale), gradients per second, the loss "
               "alone, or as STAR's heuristic does"});
  visit("window", dbw.window,
        Note{.text = "steps that estimates look back", .min = 1, .max = 10000});
  visit("beta", dbw.beta,
        Note{.text = "a loss above beta times the last one raises k", .min = 1, .max = 10});
  visit("warmupSteps", dbw.warmup_steps,
        Note{.text = "steps with all workers at first", .min = 1, .max = 10000});
  visit("minWorkers", dbw.min_workers,
        Note{.text = "the fewest workers that a commit waits for", .min = 1, .max = kProcessesMax});
  visit("refitSteps", dbw.refit_steps,
        Note{.text = "steps between two refits of the time model", .min = 1, .max = 10000});
  visit("aging", dbw.aging,
        Note{.text = "what a refit leaves of the weight of older samples", .max = 1, .above = 0});
  visit("lateWorker", dbw.late_worker,
        Note{.text = "what a worker does that a step did not wait for"});
  visit("fallback", dbw.fallback,
        Note{.text = "k when no k promises a gain: all workers, or as before"});
  visit(
      "lossRule", dbw.loss_rule,
      Note{.text = "what a loss that rose does to k: one more than before, all workers, nothing"});
  visit("learningRateRule", dbw.learning_rate_rule,
        Note{.text = "learning rate of a step of k of n workers: the schedule's, k/n of it, or a "
                     "factor for each k"});
  visit("learningRateFactors", dbw.learning_rate_factors,
        Note{.text = "Table: factors of k = 1, 2, ...; the last one for more",
             .max = 1000,
             .above = 0,
             .items_max = static_cast<size_t>(kProcessesMax)});
  visit("silenceFactor", dbw.silence_factor,
        Note{.text = "times the expected step of all workers: then who is silent is not waited for",
             .min = 1,
             .max = 1000});
  visit("silenceSeconds", dbw.silence_seconds,
        Note{.text = "the same, as long as nothing is expected",
             .max = kSecondsMax,
             .above = 0,
             .is_duration = true});
  visit("adaSyncWorkers", dbw.ada_sync_workers,
        Note{.text = "AdaSync: the first k", .min = 1, .max = kProcessesMax});
  visit("adaSyncSeconds", dbw.ada_sync_seconds,
        Note{.text = "AdaSync: between two looks at the loss",
             .max = kSecondsMax,
             .above = 0,
             .is_duration = true});
}

template <class V>
void Fields(V& visit, Wbsp& wbsp) {
  visit("trigger", wbsp.trigger,
        Note{.text = "a round ends when all have pushed, or the worker elected as slowest has"});
  visit("latePush", wbsp.late_push, Note{.text = "what becomes of a push for the round before"});
  visit("onPull", wbsp.on_pull,
        Note{.text = "what becomes of local steps not yet pushed when a new version comes"});
  visit("momentum", wbsp.momentum,
        Note{.text = "of the local optimizer, when a new version comes"});
  visit("maxLocalSteps", wbsp.max_local_steps,
        Note{.text = "of one worker in one round", .min = 1, .max = 10000});
  visit("roundTimeoutFactor", wbsp.round_timeout_factor,
        Note{.text = "times the mean round: then it ends without the missing",
             .max = 1000,
             .above = 1});
  visit("electRounds", wbsp.elect_rounds,
        Note{.text = "Designated: rounds between two elections", .min = 1, .max = 10000});
  visit("normalise", wbsp.normalise,
        Note{.text = "weigh workers equally, however many local steps they made"});
  visit("overlap", wbsp.overlap, Note{.text = "push and pull while computing"});
}

template <class V>
void Fields(V& visit, PsPlus& ps_plus) {
  visit("staleness", ps_plus.staleness,
        Note{.text = "as ssp.staleness; absent: no bound", .min = 0, .max = kCountMax});
  visit("depth", ps_plus.depth,
        Note{.text = "own pushes that the version of a step may lack: 1 waits for the last one's "
                     "answer to be pulled, 2 goes on without it",
             .min = 1,
             .max = 4});
  visit("updateScale", ps_plus.update_scale,
        Note{.text = "how far one push moves the parameters: 1/n of its step, or all of it"});
  visit("modulation", ps_plus.modulation,
        Note{.text = "how a push shrinks that is late: by the updates it missed, by the worker's "
                     "pace beside the fastest one's, or not"});
  visit("power", ps_plus.power,
        Note{.text = "how sharply it does; not of Inverse", .max = 10, .above = 0});
  visit("minScale", ps_plus.min_scale, Note{.text = "the least it leaves", .max = 1, .above = 0});
}

template <class V>
void Fields(V& visit, BatchSizing& sizing) {
  visit("strategy", sizing.strategy,
        Note{.text = "equal shares, or by speed: predicted by a mean, by a network, or tuned in "
                     "steps (GPU)"});
  visit("minBatchSize", sizing.min_batch_size,
        Note{.text = "the fewest samples that one worker computes in a step",
             .min = 1,
             .max = kCountMax});
  visit("maxBatchSize", sizing.max_batch_size,
        Note{.text = "of one worker; absent: no bound", .min = 1, .max = kCountMax});
  visit("emaWeight", sizing.ema_weight,
        Note{.text = "of the newest measurement in the mean", .max = 1, .above = 0});
  visit("periodSteps", sizing.period_steps,
        Note{.text = "Stepwise: steps between two changes", .min = 1, .max = 10000});
  visit("deadBandPercent", sizing.dead_band_percent,
        Note{.text = "Stepwise: spread of step times below which nothing changes",
             .min = 0,
             .max = 100});
  visit(
      "rapidPercent", sizing.rapid_percent,
      Note{.text = "Stepwise: spread above which sizes are computed anew", .min = 0, .max = 1000});
}

template <class V>
void Fields(V& visit, ModulationPart& modulation) {
  visit("rule", modulation.rule,
        Note{.text = "by the updates that a push missed, by its worker's pace beside the fastest "
                     "one's, or not"});
  visit("power", modulation.power,
        Note{.text = "how sharply; not of Inverse", .max = 10, .above = 0});
  visit("minScale", modulation.min_scale,
        Note{.text = "the least it leaves", .max = 1, .above = 0});
}

template <class V>
void Fields(V& visit, Outer& outer) {
  visit("type", outer.type, Note{.text = "what the mean of local steps is given to"});
  visit("learningRate", outer.learning_rate,
        Note{.text = "times the mean of local steps is how far they move the model",
             .max = 10,
             .above = 0});
  visit("momentum", outer.momentum,
        Note{.text = "of the rounds before; 0: none", .min = 0, .below = 1});
  visit("nesterov", outer.nesterov, Note{.text = "look ahead along the momentum"});
}

template <class V>
void Fields(V& visit, Sync& sync) {
  visit("scheme", sync.scheme,
        Note{.text = "whose gradients count, and who may go on; the fields below change parts of "
                     "it, and are as it says where they are absent"});
  visit("quorum", sync.quorum,
        Note{.text = "of how many workers' pushes a version is made: All, DBW (as many as promise "
                     "most) or a number; the K of schemes that have no other",
             .min = 1,
             .max = kProcessesMax});
  visit("reach", sync.reach,
        Note{.text = "versions that a push may be behind the newest and still count in full",
             .min = 0,
             .max = kCountMax});
  visit("late", sync.late,
        Note{.text = "what becomes of an older push: it is dropped, or counts for less by how late "
                     "it is"});
  visit("staleness", sync.staleness,
        Note{.text = "as ssp.staleness, of schemes in which late pushes count",
             .min = 0,
             .max = kCountMax});
  visit("meanwhile", sync.meanwhile,
        Note{.text = "what a worker does until its push is answered: nothing, the next step on the "
                     "newest version, steps on its own copy (knobs: wbsp), or steps on what it has "
                     "while the answer travels"});
  visit("modulation", sync.modulation,
        Note{.text = "how a push shrinks that is late", .stays_absent = true});
  visit("lateWorker", sync.late_worker,
        Note{.text = "what a worker does that a version did not wait for, as dbw.lateWorker"});
  visit("updateScale", sync.update_scale,
        Note{.text = "how far a version moves the parameters: by its pushes' share of the global "
                     "batch, or by a whole step"});
  visit("outer", sync.outer,
        Note{.text = "an optimizer of its own for the mean of local steps, which is added where "
                     "this is absent: as DiLoCo; momentum that is not tuned can diverge",
             .stays_absent = true});
  visit("ssp", sync.ssp,
        Note{.text = "knobs of SSP: stale synchronous parallel", .stays_absent = true});
  visit("asp", sync.asp, Note{.text = "knobs of ASP: asynchronous parallel", .stays_absent = true});
  visit("backupWorkers", sync.backup_workers,
        Note{.text = "a fixed number of workers not waited for", .stays_absent = true});
  visit("dbw", sync.dbw,
        Note{.text = "knobs of DBW: dynamic backup workers", .stays_absent = true});
  visit("wbsp", sync.wbsp,
        Note{.text = "fast workers make local steps meanwhile", .stays_absent = true});
  visit("psPlus", sync.ps_plus, Note{.text = "knobs of PSPlus: eager pull", .stays_absent = true});
  visit("batchSizing", sync.batch_sizing,
        Note{.text = "how the global batch is shared out", .stays_absent = true});
}

}  // namespace paceline::job

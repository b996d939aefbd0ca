// Defines DbwOptions: the knobs of dynamic backup workers.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/sync/contract/word.h"
#include "lib/sync/schemes/late_worker.h"

namespace paceline::sync {

// What k is chosen by.
enum class DbwMethod {
  kGain,        // Most expected loss decrease per second.
  kBlind,       // Most gradients per second (B-DBW).
  kAdaSync,     // The loss alone (AdaSync).
  kNoiseScale,  // Most progress per second, by how much gradients scatter (noise_scale.h).
  kStar,        // As STAR's heuristic does (rivals/star.h).
};

inline constexpr Word<DbwMethod> kDbwMethodWords[] = {
    {DbwMethod::kGain, "gain"},        {DbwMethod::kBlind, "blind"},
    {DbwMethod::kAdaSync, "ada-sync"}, {DbwMethod::kNoiseScale, "noise-scale"},
    {DbwMethod::kStar, "star"},
};
constexpr Words<DbwMethod> WordsOf(DbwMethod) { return kDbwMethodWords; }

// Whether what a step gains is worked out, for gradients that are applied as SGD does.
constexpr bool HasGain(DbwMethod method) {
  return method != DbwMethod::kBlind && method != DbwMethod::kAdaSync;
}

// k when none promises a gain.
enum class NoGain {
  kAll,   // All workers: only averaging more can help.
  kHold,  // As before.
};

inline constexpr Word<NoGain> kNoGainWords[] = {{NoGain::kAll, "all"}, {NoGain::kHold, "hold"}};
constexpr Words<NoGain> WordsOf(NoGain) { return kNoGainWords; }

// What a loss that rose does to k.
enum class LossRule {
  kBump,  // At least one more than before.
  kJump,  // All workers.
  kOff,
};

inline constexpr Word<LossRule> kLossRuleWords[] = {
    {LossRule::kBump, "bump"},
    {LossRule::kJump, "jump"},
    {LossRule::kOff, "off"},
};
constexpr Words<LossRule> WordsOf(LossRule) { return kLossRuleWords; }

// How the learning rate follows k; the schedule's is that of all n workers.
enum class RateRule {
  kConstant,
  kProportional,  // k / n of it.
  kTable,         // A factor for each k.
};

inline constexpr Word<RateRule> kRateRuleWords[] = {
    {RateRule::kConstant, "constant"},
    {RateRule::kProportional, "proportional"},
    {RateRule::kTable, "table"},
};
constexpr Words<RateRule> WordsOf(RateRule) { return kRateRuleWords; }

struct DbwOptions {
  DbwMethod method = DbwMethod::kGain;
  uint32_t window = 20;       // D: steps that estimates look back, at least 1.
  double beta = 1.01;         // A loss above beta x the last one rose.
  uint32_t warmup_steps = 3;  // Steps of all workers at first.
  uint32_t k_min = 1;
  uint32_t refit_steps = 5;  // Steps between two refits of the table of durations.
  double aging = 0.98;       // What refit_steps leave of the weight of older samples.
  LateWorker late_worker = LateWorker::kOffer;
  NoGain no_gain = NoGain::kAll;
  LossRule loss_rule = LossRule::kBump;
  RateRule rate_rule = RateRule::kConstant;
  std::vector<double> rates;     // kTable: factors of k = 1, 2, ...; the last one for more.
  double momentum = 0;           // Of the optimizer (momentum_reach.h).
  double silence_factor = 10;    // Times the expected step of all: then nobody is waited for...
  double silence_seconds = 60;   // ...and as long as none is expected, so many seconds.
  uint32_t ada_sync_k = 1;       // K0...
  double ada_sync_seconds = 60;  // ...and the slice of time after which k is judged again.
  friend bool operator==(const DbwOptions&, const DbwOptions&) = default;
};

}  // namespace paceline::sync

#include "lib/sync/schemes/policy_factory.h"

#include <utility>

#include "lib/sync/schemes/auto/auto_policy.h"
#include "lib/sync/schemes/batching/make_sizer.h"
#include "lib/sync/schemes/engine/engine.h"
#include "lib/sync/schemes/make_quorum.h"
#include "lib/sync/schemes/presets.h"
#include "lib/sync/schemes/saved_pair.h"

namespace paceline::sync {
namespace {

// WBSP once saved its quorum's part alone.
StatusOr<SavedPair> Split(const std::string& saved) {
  if (saved.rfind("wbsp ", 0) == 0) return SavedPair{saved, ""};
  return SplitSaved(saved);
}

}  // namespace

StatusOr<std::unique_ptr<Policy>> MakePolicy(const PolicySpec& spec, const std::string& saved) {
  PACELINE_RETURN_IF_ERROR(Validate(spec));
  PACELINE_ASSIGN_OR_RETURN(const SavedPair learnt, Split(saved));
  if (spec.scheme == Scheme::kAuto) return AutoPolicy::Make(spec, learnt.first);
  PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<Quorum> quorum, MakeQuorum(spec, learnt.first));
  PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<BatchSizer> sizer,
                            MakeSizer(SizerOptionsOf(spec), learnt.second));
  return std::make_unique<Engine>(spec, std::move(quorum), std::move(sizer));
}

std::string WhatFits(const PolicySpec& spec, const std::string& saved) {
  StatusOr<SavedPair> learnt = Split(saved);
  if (!learnt.ok()) return "";
  if (spec.scheme == Scheme::kAuto)
    return AutoPolicy::Make(spec, learnt->first).ok() ? JoinSaved(learnt->first, "") : "";
  if (!MakeQuorum(spec, learnt->first).ok()) learnt->first.clear();
  if (!MakeSizer(SizerOptionsOf(spec), learnt->second).ok()) learnt->second.clear();
  return JoinSaved(learnt->first, learnt->second);
}

// What is not named here is not taken over on the run.
bool MayReconfigure(const PolicySpec& from, const PolicySpec& to) {
  PolicySpec taken = to;
  taken.global_batch_size = from.global_batch_size;
  taken.workers_expected = from.workers_expected;
  taken.is_deterministic = from.is_deterministic;
  taken.is_barrier_kept = from.is_barrier_kept;
  taken.first_version = from.first_version;
  // Auto is more than the engine.
  if ((from.scheme == Scheme::kAuto) != (to.scheme == Scheme::kAuto)) return false;
  return taken == to && CoordinatesOf(from).WaysOn() == CoordinatesOf(to).WaysOn();
}

}  // namespace paceline::sync

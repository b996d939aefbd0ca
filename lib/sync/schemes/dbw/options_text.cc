#include "lib/sync/schemes/dbw/options_text.h"

#include <algorithm>
#include <cmath>

namespace paceline::sync {
namespace {

// Calls visit(key, member) for each knob, in the order of the text.
template <class Visit>
void ForEachKnob(const Visit& visit) {
  visit("dbw-method", &DbwOptions::method);
  visit("dbw-window", &DbwOptions::window);
  visit("dbw-beta", &DbwOptions::beta);
  visit("dbw-warm-up", &DbwOptions::warmup_steps);
  visit("dbw-k-min", &DbwOptions::k_min);
  visit("dbw-refit", &DbwOptions::refit_steps);
  visit("dbw-aging", &DbwOptions::aging);
  visit("dbw-late", &DbwOptions::late_worker);
  visit("dbw-no-gain", &DbwOptions::no_gain);
  visit("dbw-loss-rule", &DbwOptions::loss_rule);
  visit("dbw-rate-rule", &DbwOptions::rate_rule);
  visit("dbw-rates", &DbwOptions::rates);
  visit("dbw-momentum", &DbwOptions::momentum);
  visit("dbw-silence-factor", &DbwOptions::silence_factor);
  visit("dbw-silence-seconds", &DbwOptions::silence_seconds);
  visit("dbw-ada-k", &DbwOptions::ada_sync_k);
  visit("dbw-ada-seconds", &DbwOptions::ada_sync_seconds);
}

Status Within(const char* what, double value, double least, double most) {
  if (std::isfinite(value) && value >= least && value <= most) return OkStatus();
  return InvalidArgument("{} is {}, want at least {} and at most {}", what, value, least, most);
}

constexpr double kMost = 1e9;

}  // namespace

void AddTo(FieldWriter& line, const DbwOptions& options) {
  static const DbwOptions kDefaults;
  ForEachKnob([&](const char* key, auto member) {
    line.AddUnless(kDefaults.*member, key, options.*member);
  });
}

void TakeFrom(Fields& fields, DbwOptions& options) {
  ForEachKnob([&](const char* key, auto member) { fields.Take(key, options.*member); });
}

Status Validate(const DbwOptions& options) {
  PACELINE_RETURN_IF_ERROR(Within("dbw-window", options.window, 1, kMost));
  PACELINE_RETURN_IF_ERROR(Within("dbw-beta", options.beta, 1, kMost));
  PACELINE_RETURN_IF_ERROR(Within("dbw-warm-up", options.warmup_steps, 1, kMost));
  PACELINE_RETURN_IF_ERROR(Within("dbw-k-min", options.k_min, 1, kMost));
  PACELINE_RETURN_IF_ERROR(Within("dbw-refit", options.refit_steps, 1, kMost));
  PACELINE_RETURN_IF_ERROR(Within("dbw-aging", options.aging, 1e-6, 1));
  PACELINE_RETURN_IF_ERROR(Within("dbw-momentum", options.momentum, 0, 0.999999));
  PACELINE_RETURN_IF_ERROR(Within("dbw-silence-factor", options.silence_factor, 1, kMost));
  PACELINE_RETURN_IF_ERROR(Within("dbw-silence-seconds", options.silence_seconds, 0, kMost));
  PACELINE_RETURN_IF_ERROR(Within("dbw-ada-k", options.ada_sync_k, 1, kMost));
  PACELINE_RETURN_IF_ERROR(Within("dbw-ada-seconds", options.ada_sync_seconds, 0, kMost));
  for (const double rate : options.rates)
    PACELINE_RETURN_IF_ERROR(Within("factor in dbw-rates", rate, 1e-9, kMost));
  if (options.rate_rule == RateRule::kTable && options.rates.empty())
    return InvalidArgument("dbw-rates is empty, want a factor for each k with dbw-rate-rule=table");
  return OkStatus();
}

}  // namespace paceline::sync

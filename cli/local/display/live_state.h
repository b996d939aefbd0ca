// Defines LiveState: what the coordinator says of the running job, as the CLI shows it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"

namespace paceline::local {

struct LiveWorker {
  std::string group = "worker";  // So in a job without groups.
  uint64_t index = 0;            // In it.
  bool is_member = false;
  bool is_draining = false;
  std::string device;    // "CPU", "CUDA"; empty from one that did not say.
  uint64_t threads = 0;  // 0 from one that did not say.
  uint64_t steps = 0;
  uint64_t samples = 0;
  uint64_t batch_size = 0;
  uint64_t transferred_bytes = 0;  // Pushed and pulled.
  double compute_share = 0;        // 0..1, of its time so far; the three add up to 1.
  double wait_share = 0;
  double communication_share = 0;
  uint64_t expulsions = 0;    // Of its processes, for what they did.
  uint64_t overflows = 0;     // Steps abandoned under loss scaling.
  double loss_scale = 0;      // 0 without loss scaling.
  double injected_share = 0;  // Of all its time, a part of compute's: slept for spec.chaos.

  // "3", and "big/3" in a job with groups.
  std::string name() const;
};

struct LiveFinish {
  bool is_success = false;
  std::string reason;
};

// What a job does once training has reached its stop.
struct LiveFinishing {
  std::string reason;
  std::optional<uint64_t> model_version;  // Of the model that is written.
};

struct LiveState {
  std::string phase;
  std::string startup_waits_for;
  std::string standstill;  // Which shard or script all waits for, and why; empty while none.
  std::string scheme;      // That is wanted; empty from a coordinator that does not say.
  bool is_changing_scheme = false;
  bool is_chaos_enabled = false;  // Delays are injected.
  uint64_t step = 0;
  double epochs = 0;  // Whole and part.
  double percent = 0;
  std::optional<double> eta_seconds;
  std::optional<double> loss;      // Of the latest commit.
  std::optional<double> accuracy;  // Held-out, of the latest evaluation.
  std::optional<double> evaluation_loss;
  std::optional<uint64_t> evaluation_version;
  std::map<std::string, double> evaluation_metrics;  // The model's own, by name.
  double seconds = 0;
  double samples_per_second = 0;
  uint64_t committed_samples = 0;
  uint64_t samples_before = 0;  // Committed when those seconds began.
  uint64_t nonfinite_pushes = 0;
  uint64_t skipped_samples = 0;       // That the script did without.
  uint64_t poisoned_samples = 0;      // Left out, of the training set...
  std::vector<std::string> poisoned;  // ...the first of them.
  uint64_t roll_backs = 0;            // Of this coordinator's life.
  std::string last_roll_back;         // Why and to where.
  std::optional<uint64_t> checkpoint_version;
  std::string checkpoint_problem;
  std::string room_problem;        // Why the final model may find no room; empty: it has some.
  std::string checkpoint_note;     // What the checkpoints that were there at the start came to.
  uint64_t left_out_of_model = 0;  // Frozen parameters, which the script has by itself.
  std::string model_problem;       // Why the final model is not written yet, or empty.
  std::vector<LiveWorker> workers;
  std::optional<LiveFinishing> finishing;  // Kept when it has finished.
  std::optional<LiveFinish> finished;
  std::string suspended;  // Why it ended to be gone on with later; empty if it did not.
};

// Mean over the workers of what spec.chaos had them sleep; 0 to 1.
double InjectedShare(const LiveState& state);

// From the body of GET /v1/job. InvalidArgument if it is not such an object.
StatusOr<LiveState> ParseLiveState(std::string_view json);

}  // namespace paceline::local

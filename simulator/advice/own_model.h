// Defines OwnModel: the recorded job's own model with its data, which schemes are tried on as they
// would run live.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/job/manifest/training_job.h"
#include "lib/optim/schedule.h"
#include "simulator/driver/cluster.h"
#include "simulator/model/objective.h"

namespace paceline::simulator {

// What of the job matters where its model is trained.
struct ModelSetting {
  std::string name;                 // "digits/cnn.pt", "the built-in Mlp".
  std::string until;                // The job's target: "accuracy 0.97".
  bool is_judged_by_error = false;  // By 1 - accuracy, else by the loss; of the held-out set.
  double target_loss = 0;           // That is to be at most this.
  double look_seconds = 0;          // Between two looks of the job's evaluator.
  double rate = 0;
  double momentum = 0;
  optim::ScheduleOptions schedule;  // But for what hangs on the size of the training set.
  uint64_t step_epochs = 0, period_epochs = 0;  // Of it.
  uint64_t epochs_max = 0, steps_max = 0;       // 0: no bound.
  std::vector<std::string> not_simulated;       // "weight decay 0.0005"
};

// FailedPrecondition, saying why, where such a job's model cannot be tried, and what would do where
// something would. `job` is valid.
StatusOr<ModelSetting> ModelSettingOf(const job::TrainingJob& job);

struct OwnModel {
  ModelSetting setting;
  Objective* objective = nullptr;  // Whose Loss is what it is judged by. Outlives the trials.
  uint64_t train_samples = 1;
};

// `cluster`, where that model is learnt as the job says, until its target. The evaluator looks at
// it as often as live, `recorded_seconds` / kLooksMin at the least.
ClusterOptions ClusterWith(const OwnModel& model, ClusterOptions cluster, double recorded_seconds);

// In the life of a run that was as long as the recorded one.
inline constexpr double kLooksMin = 50;

}  // namespace paceline::simulator

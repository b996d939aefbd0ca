// Defines ModelObjective: a model of a user's with its training set, whose gradients are real.
//
// Example:
//   auto objective = ModelObjective::Open({.model = "mlp.pt", .train = "train.safetensors",
//                                          .loss = "CrossEntropy"});
//   options.model = objective->get();
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/learn/training.h"
#include "simulator/model/objective.h"

namespace paceline::simulator {

struct ModelFiles {
  std::string model;  // A TorchScript file.
  std::string train;  // As lib/learn's Dataset has it.
  std::string eval;   // Whose loss counts; empty: the training set's.
  std::string loss;   // A name of lib/learn's; empty: the model's own method.
};

// What a life is judged by, over the held-out set.
enum class JudgedBy {
  kLoss,
  kError,  // 1 - accuracy; what is not finite any more is no number.
};

// A worker tells the loss of its samples. Computes on one thread.
class ModelObjective final : public Objective {
 public:
  // The errors of learn::Training::Create; InvalidArgument for a model with buffers.
  static StatusOr<std::unique_ptr<ModelObjective>> Open(const ModelFiles& files);
  // As a worker opens a job's: device, threads, prefetching and seed aside. The errors above;
  // FailedPrecondition without a held-out set, or where it is to be judged by an accuracy that
  // there is not.
  static StatusOr<std::unique_ptr<ModelObjective>> Open(const learn::TrainingOptions& options,
                                                        JudgedBy judged_by);

  uint64_t train_samples() const { return training_->train_samples(); }
  uint64_t parameters() const { return start_.size(); }

  // Epochs' orders and dropout are of the seed; so are a built-in model's weights, unless there are
  // starting values. Others are the file's.
  Values Begin(uint64_t seed) override;
  double Loss(const Values& at) override;
  double Gradient(const Values& at, std::span<const EpochRange> samples, RandomStream& chance,
                  Values& gradient) override;
  const Status& status() const override { return status_; }

 private:
  ModelObjective(learn::TrainingOptions options, JudgedBy judged_by,
                 std::unique_ptr<learn::Training> training);
  void ReadStart();
  void Write(const Values& at);
  double Fail(const Status& status);

  learn::TrainingOptions options_;
  const JudgedBy judged_by_;
  std::unique_ptr<learn::Training> training_;
  Values start_;
  Status status_ = OkStatus();
};

}  // namespace paceline::simulator

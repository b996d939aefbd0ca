// Defines TorchTrainer, the Trainer on top of LibTorch. It adds no behaviour: it translates values.
#pragma once

#include <memory>

#include "lib/learn/training.h"
#include "lib/protocol/worker_messages.h"
#include "lib/worker/loop/trainer.h"

namespace paceline::worker {

class TorchTrainer : public Trainer {
 public:
  // Errors as learn::Training::Create.
  static StatusOr<std::unique_ptr<TorchTrainer>> Create(learn::TrainingOptions options);

  const store::Layout& layout() const override { return training_->layout(); }
  uint64_t train_samples() const override { return training_->train_samples(); }
  Status BeginAnew() override;
  std::span<std::byte> parameters() override { return training_->parameters(); }
  bool computes_anywhere() const override { return true; }
  bool ComputeOn(const std::shared_ptr<rpc::VersionPlace>& place) override;
  std::span<const std::byte> push() const override { return training_->push(); }
  StatusOr<StepResult> Step(std::span<const protocol::SampleRange> ranges,
                            StepControl& control) override;
  learn::DataCounts data_counts() const { return training_->data_counts(); }
  double loss_scale() const override { return training_->loss_scale(); }
  StatusOr<Evaluation> Evaluate(const std::function<void()>& on_progress) override;

 private:
  TorchTrainer(learn::TrainingOptions options, std::unique_ptr<learn::Training> training);

  const learn::TrainingOptions options_;
  std::unique_ptr<learn::Training> training_;
  std::unique_ptr<learn::Training> retired_;  // A transfer that was given up may still read it.
  bool has_said_statistics_ = false;
};

}  // namespace paceline::worker

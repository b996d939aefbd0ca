// Defines Life: a worker process around whatever computes its gradients.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/job/manifest/training_job.h"
#include "lib/worker/loop/loop.h"
#include "lib/worker/loop/pulse.h"
#include "lib/worker/process/adoption.h"
#include "lib/worker/process/connections.h"
#include "lib/worker/process/experiment.h"
#include "lib/worker/process/frozen_source.h"
#include "lib/worker/process/options.h"

namespace paceline::worker {

struct FrozenOfTrainer {
  std::vector<protocol::FrozenTensor> tensors = {};
  FrozenSource source = {};  // Of those that the model file is to hold.
};

// One owner, but for Drain.
class Life {
 public:
  // Reads the job and the credentials. InvalidArgument, NotFound: naming what is wrong with them.
  static StatusOr<std::unique_ptr<Life>> Create(WorkerOptions options);

  const job::TrainingJob& job() const { return job_; }
  const WorkerOptions& options() const { return options_; }

  // With how many threads to compute; says in the log why.
  int ChooseThreads() const;

  // Joins the job and does its work, until that is over: why, in words. `trainer` outlives this,
  // computes on `device`, "cpu" or "cuda", and with `threads` threads (0: it does not say). Errors
  // are Loop::Run's; where this machine is to blame, process::CannotWorkHere says so. Once.
  // `drawn`: as of LoopOptions. `frozen`: what the trainer has by itself; handed over before each
  // session, where the coordinator has it not yet.
  StatusOr<std::string> Run(Trainer* trainer, const std::string& device, int threads,
                            DrawnEpochs* drawn = nullptr, FrozenOfTrainer frozen = {});

  // Before Run: of `source`, and of what another worker has handed over before it. `take` is called
  // on the thread that steps.
  Adoption Adopt(FrozenSource source,
                 std::function<bool(uint64_t, uint64_t, std::span<const std::byte>)> take) const;

  // As Loop::Drain; before Run too, and then without a word, since nobody knows of it.
  void Drain(const protocol::Leaving& leaving = {});

 private:
  Life(WorkerOptions options, job::TrainingJob job, ConnectionOptions connections);
  bool is_draining() const;
  std::string Sender() const;  // Another one with each call.
  // Sessions begin once the coordinator has what `source` gives.
  Connector HandOverFirst(FrozenSource source, Connector connector);

  const WorkerOptions options_;
  const job::TrainingJob job_;
  const ConnectionOptions connections_;
  Pulse pulse_;

  mutable std::mutex mutex_;  // Guards what is below.
  Loop* loop_ = nullptr;
  bool is_draining_ = false;
};

}  // namespace paceline::worker

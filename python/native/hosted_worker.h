// Defines HostedWorker: a worker's life beside a program that computes its steps.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "lib/base/status.h"
#include "lib/rpc/shared_memory/version_window.h"
#include "lib/store/layout.h"
#include "lib/worker/process/hosted_trainer.h"
#include "lib/worker/process/life.h"

namespace paceline::python {

// One owner, but for Drain. The loop runs on a thread of its own, once it is started.
class HostedWorker {
 public:
  // As the environment says; errors are those of worker::OptionsFromEnvironment and Life::Create.
  // `window`: what `values` are the bytes of, or null.
  static StatusOr<std::unique_ptr<HostedWorker>> Open(store::Layout layout,
                                                      std::span<std::byte> values,
                                                      std::shared_ptr<rpc::VersionWindow> window);
  // The manifest of the job that Open would join, JSON. Errors: as of Open.
  static StatusOr<std::string> ReadJob();
  // Leaves the job, work that is taken is given up, and waits at most so long for the loop to end.
  // False where it does not, which a hung connection can do: the worker is left as it is, and
  // `values`, which its loop may be writing to, are its own until the process ends.
  static bool Close(std::unique_ptr<HostedWorker> worker, Duration timeout);

  const worker::Life& life() const { return *life_; }
  const std::string& job_json() const { return job_json_; }
  const store::Layout& layout() const { return layout_; }

  // A tensor that the program has by itself and does not train. FailedPrecondition once it has
  // started.
  Status Keep(protocol::FrozenTensor tensor);
  // Where those that the model file is to hold are read from. As Keep.
  Status Hold(worker::FrozenSource source);
  // A step of Adoption, of what Hold was given. As Keep.
  StatusOr<worker::Adoption::State> Adopt(
      std::function<bool(uint64_t, uint64_t, std::span<const std::byte>)> take);
  // FailedPrecondition if it has.
  // `sampler`: as of HostedTrainer.
  Status Start(uint64_t train_samples, const std::string& device, int threads,
               const std::string& sampler);

  // What to do next, as HostedTrainer::Next; the loop's error once it has one.
  StatusOr<worker::HostedWork> Next(Duration timeout);
  // Why it is over, in words.
  std::string reason();

  // Of the work taken. Null before Start.
  worker::HostedTrainer* trainer() { return trainer_ ? &*trainer_ : nullptr; }
  worker::HostedWork::Kind taken() const { return taken_; }
  void GiveUp(const Status& why);
  void Done() { taken_ = worker::HostedWork::Kind::kNothing; }

  void Drain() { life_->Drain(); }
  // The script has ended by itself; Close comes next.
  void Leave() { life_->Drain({.is_done = true}); }

 private:
  HostedWorker(std::unique_ptr<worker::Life> life, store::Layout layout,
               std::span<std::byte> values, std::shared_ptr<rpc::VersionWindow> window);
  bool WaitForLoop(Duration timeout);

  const std::unique_ptr<worker::Life> life_;
  const store::Layout layout_;
  const std::span<std::byte> values_;
  const std::shared_ptr<rpc::VersionWindow> window_;
  const std::string job_json_;
  worker::FrozenOfTrainer frozen_;
  std::optional<worker::Adoption> adoption_;
  std::optional<worker::HostedTrainer> trainer_;
  worker::HostedWork::Kind taken_ = worker::HostedWork::Kind::kNothing;

  std::mutex mutex_;  // Guards what is below.
  std::condition_variable ended_;
  std::optional<StatusOr<std::string>> end_;

  std::thread loop_;  // The last member: it uses all others.
};

}  // namespace paceline::python

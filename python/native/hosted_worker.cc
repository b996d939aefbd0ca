#include "python/native/hosted_worker.h"

#include <chrono>
#include <exception>
#include <utility>

#include <nlohmann/json.hpp>

#include "lib/base/json_text.h"
#include "lib/job/manifest/encode.h"
#include "lib/process/exit.h"
#include "lib/process/system_limits.h"
#include "lib/process/thread.h"
#include "lib/rpc/retry.h"

namespace paceline::python {

using worker::HostedWork;

namespace {

constexpr Duration kPause = std::chrono::milliseconds(50);

// The process is the script's: a limit that is met ends its worker, and the script hears of it.
StatusOr<std::string> RunWithinLimits(worker::Life& life, worker::HostedTrainer& trainer,
                                      const std::string& device, int threads,
                                      worker::FrozenOfTrainer frozen) {
  try {
    return life.Run(&trainer, device, threads, trainer.drawn(), std::move(frozen));
  } catch (const std::exception& error) {
    const std::string limit = process::WhichLimit();
    return process::CannotWorkHere(Internal("{}", limit.empty() ? error.what() : limit));
  }
}

}  // namespace

StatusOr<std::unique_ptr<HostedWorker>> HostedWorker::Open(
    store::Layout layout, std::span<std::byte> values, std::shared_ptr<rpc::VersionWindow> window) {
  PACELINE_ASSIGN_OR_RETURN(worker::WorkerOptions options, worker::OptionsFromEnvironment());
  PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<worker::Life> life,
                            worker::Life::Create(std::move(options)));
  return std::unique_ptr<HostedWorker>(
      new HostedWorker(std::move(life), std::move(layout), values, std::move(window)));
}

StatusOr<std::string> HostedWorker::ReadJob() {
  PACELINE_ASSIGN_OR_RETURN(worker::WorkerOptions options, worker::OptionsFromEnvironment());
  PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<worker::Life> life,
                            worker::Life::Create(std::move(options)));
  return JsonText(job::ToJson(life->job()));
}

HostedWorker::HostedWorker(std::unique_ptr<worker::Life> life, store::Layout layout,
                           std::span<std::byte> values, std::shared_ptr<rpc::VersionWindow> window)
    : life_(std::move(life)),
      layout_(std::move(layout)),
      values_(values),
      window_(std::move(window)),
      job_json_(JsonText(job::ToJson(life_->job()))) {}

bool HostedWorker::Close(std::unique_ptr<HostedWorker> worker, Duration timeout) {
  if (!worker->loop_.joinable()) return true;
  worker->Drain();
  worker->GiveUp(Cancelled("the program has left"));
  worker->trainer_->Close();
  if (worker->WaitForLoop(timeout)) {
    worker->loop_.join();
    return true;
  }
  worker->loop_.detach();
  (void)worker.release();  // The loop may use it yet.
  return false;
}

bool HostedWorker::WaitForLoop(Duration timeout) {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, timeout, [this] { return end_.has_value(); });
}

Status HostedWorker::Keep(protocol::FrozenTensor tensor) {
  if (trainer_) return FailedPrecondition("the worker has started");
  frozen_.tensors.push_back(std::move(tensor));
  return OkStatus();
}

Status HostedWorker::Hold(worker::FrozenSource source) {
  if (trainer_) return FailedPrecondition("the worker has started");
  frozen_.source = std::move(source);
  return OkStatus();
}

StatusOr<worker::Adoption::State> HostedWorker::Adopt(
    std::function<bool(uint64_t, uint64_t, std::span<const std::byte>)> take) {
  if (trainer_) return FailedPrecondition("the worker has started");
  if (!adoption_) adoption_.emplace(life_->Adopt(frozen_.source, std::move(take)));
  PACELINE_ASSIGN_OR_RETURN(const worker::Adoption::State state, adoption_->Step());
  if (state == worker::Adoption::State::kWaits) rpc::ThreadSleeper()(kPause);
  return state;
}

Status HostedWorker::Start(uint64_t train_samples, const std::string& device, int threads,
                           const std::string& sampler) {
  if (trainer_) return FailedPrecondition("the worker has started");
  trainer_.emplace(worker::HostedTrainer::Options{
      .layout = layout_,
      .values = values_,
      .train_samples = train_samples,
      .epochs = static_cast<uint64_t>(life_->job().spec.training.stop.max_epochs.value_or(0)),
      .seed = static_cast<uint64_t>(life_->job().spec.training.seed),
      .window = window_,
      .sampler = sampler});
  StatusOr<std::thread> loop = process::StartThread([this, device, threads] {
    StatusOr<std::string> end =
        RunWithinLimits(*life_, *trainer_, device, threads, std::move(frozen_));
    trainer_->Over();
    std::lock_guard lock(mutex_);
    end_ = std::move(end);
    ended_.notify_all();
  });
  if (!loop.ok()) {
    trainer_.reset();
    return process::CannotWorkHere(loop.status());
  }
  loop_ = *std::move(loop);
  return OkStatus();
}

StatusOr<HostedWork> HostedWorker::Next(Duration timeout) {
  if (!trainer_) return FailedPrecondition("the worker has not started");
  if (taken_ != HostedWork::Kind::kNothing)
    return FailedPrecondition("the work before is not done");
  HostedWork work = trainer_->Next(timeout);
  if (work.kind == HostedWork::Kind::kOver) {
    // It is said a moment before the loop's thread has put its end down.
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return end_.has_value(); });
    if (!end_->ok()) return end_->status();
  } else if (work.kind != HostedWork::Kind::kDraw) {
    taken_ = work.kind;
  }
  return work;
}

std::string HostedWorker::reason() {
  std::lock_guard lock(mutex_);
  return end_ && end_->ok() ? **end_ : "";
}

void HostedWorker::GiveUp(const Status& why) {
  if (taken_ == HostedWork::Kind::kStep) trainer_->GiveUpStep(why);
  if (taken_ == HostedWork::Kind::kEvaluate) trainer_->EndEvaluation(why);
  taken_ = HostedWork::Kind::kNothing;
}

}  // namespace paceline::python

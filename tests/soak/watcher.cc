#include "tests/soak/watcher.h"

#include <chrono>

namespace paceline::soak {
namespace {

constexpr auto kAskPeriod = std::chrono::milliseconds(100);

}  // namespace

double NowSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Watcher::Watcher(const integration::LiveRun* run, double patience_seconds)
    : run_(run), still_(patience_seconds, NowSeconds()), thread_([this] { Run(); }) {}

Watcher::~Watcher() {
  {
    std::lock_guard lock(mutex_);
    is_stopping_ = true;
    stopping_.notify_all();
  }
  thread_.join();
}

void Watcher::Run() {
  bool goes_on = true;
  while (goes_on) {
    const std::string text = run_->Get("/v1/job");
    std::unique_lock lock(mutex_);
    if (nlohmann::json::accept(text)) {
      nlohmann::json state = nlohmann::json::parse(text);
      still_.Saw(NowSeconds(), Place{.start = state.value("generationStart", uint64_t{0}),
                                     .counter = state.value("generationCounter", uint64_t{0}),
                                     .step = state.value("step", uint64_t{0})});
      // The end has no steps, and phases of its own.
      const bool is_other = state_.is_object() && state_["phase"] != state["phase"];
      if (is_other && state["phase"] != "training" && state["phase"] != "startup")
        still_.Excuse(NowSeconds());
      state_ = std::move(state);
    }
    goes_on = !stopping_.wait_for(lock, kAskPeriod, [this] { return is_stopping_; });
  }
}

nlohmann::json Watcher::state() const {
  std::lock_guard lock(mutex_);
  return state_;
}

void Watcher::FaultBegan() {
  std::lock_guard lock(mutex_);
  still_.FaultBegan();
}

void Watcher::FaultsEnded(int count) {
  std::lock_guard lock(mutex_);
  for (int i = 0; i < count; ++i) still_.FaultEnded(NowSeconds());
}

void Watcher::Excuse() {
  std::lock_guard lock(mutex_);
  still_.Excuse(NowSeconds());
}

bool Watcher::IsHung() const {
  std::lock_guard lock(mutex_);
  return still_.IsHung(NowSeconds());
}

uint64_t Watcher::TakeSteps() {
  std::lock_guard lock(mutex_);
  return still_.TakeSteps();
}

double Watcher::TakeLongest() {
  std::lock_guard lock(mutex_);
  return still_.TakeLongest();
}

double Watcher::longest_seconds() const {
  std::lock_guard lock(mutex_);
  return still_.longest_seconds();
}

double Watcher::standing_seconds() const {
  std::lock_guard lock(mutex_);
  return still_.standing_seconds(NowSeconds());
}

}  // namespace paceline::soak

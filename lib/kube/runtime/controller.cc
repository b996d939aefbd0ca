#include "lib/kube/runtime/controller.h"

#include <chrono>
#include <exception>

#include <pthread.h>

#include "lib/base/check.h"
#include "lib/kube/core/api_error.h"

namespace paceline::kube {
namespace {

constexpr std::string_view kTerminal = "kube/terminal";
constexpr size_t kThreadNameBytesMax = 15;  // Linux's bound.

}  // namespace

Status Terminal(const Status& status) { return WithDetail(status, kTerminal, "true"); }

bool IsTerminal(const Status& status) { return Detail(status, kTerminal).has_value(); }

std::string_view ToString(Outcome outcome) {
  switch (outcome) {
    case Outcome::kDone:
      return "done";
    case Outcome::kRequeued:
      return "requeued";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kTerminal:
      return "terminal";
    case Outcome::kThrew:
      break;
  }
  return "threw";
}

Controller::Controller(ControllerOptions options)
    : options_(std::move(options)), queue_(options_.queue) {
  PACELINE_CHECK(options_.reconcile != nullptr, "controller {} has no reconcile", options_.name);
  PACELINE_CHECK(options_.threads > 0, "controller {} has {} threads", options_.name,
                 options_.threads);
}

Controller::~Controller() { Stop(); }

void Controller::Start() {
  const std::lock_guard lock(mutex_);
  if (is_stopped_) return;
  PACELINE_CHECK(threads_.empty(), "controller {} runs already", options_.name);
  for (int i = 0; i < options_.threads; ++i) {
    threads_.emplace_back([this] {
      pthread_setname_np(pthread_self(), options_.name.substr(0, kThreadNameBytesMax).c_str());
      Work();
    });
  }
}

void Controller::Stop() {
  queue_.ShutDownNow();
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Controller::Work() {
  while (const std::optional<ObjectKey> key = queue_.Take()) {
    Result result;
    ReconcileRecord record = Reconcile(*key, result);
    switch (record.outcome) {
      case Outcome::kFailed:
      case Outcome::kThrew:
        queue_.AddRateLimited(*key, RetryAfter(record.status));
        record.failures = queue_.Failures(*key);
        break;
      case Outcome::kRequeued:
        queue_.Forget(*key);
        queue_.AddAfter(*key, *result.requeue_after);
        break;
      case Outcome::kDone:
      case Outcome::kTerminal:
        queue_.Forget(*key);
        break;
    }
    queue_.Done(*key);
    if (options_.observe) options_.observe(record);
  }
}

ReconcileRecord Controller::Reconcile(const ObjectKey& key, Result& result) {
  ReconcileRecord record{.key = key};
  const auto start = std::chrono::steady_clock::now();
  try {
    StatusOr<Result> reconciled = options_.reconcile(key);
    record.status = reconciled.status();
    if (reconciled.ok()) {
      result = *reconciled;
      record.outcome = result.requeue_after ? Outcome::kRequeued : Outcome::kDone;
    } else {
      record.outcome = IsTerminal(record.status) ? Outcome::kTerminal : Outcome::kFailed;
    }
  } catch (const std::exception& error) {
    record.outcome = Outcome::kThrew;
    record.status = Internal("reconcile threw: {}", error.what());
  } catch (...) {
    record.outcome = Outcome::kThrew;
    record.status = Internal("reconcile threw something that is no std::exception");
  }
  record.seconds = ToSeconds(std::chrono::steady_clock::now() - start);
  return record;
}

}  // namespace paceline::kube

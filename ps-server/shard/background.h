// Defines Background: one thread that does slow things, one after another, beside what must not
// wait for a disk.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace paceline::ps {

// Thread-safe.
class Background {
 public:
  Background() : thread_([this] { Run(); }) {}
  // Ends what is being done; what was not begun is not done.
  ~Background() {
    {
      std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

  void Do(std::function<void()> work) {
    {
      std::lock_guard lock(mutex_);
      work_.push_back(std::move(work));
    }
    wake_.notify_all();
  }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return is_stopping_ || !work_.empty(); });
      if (is_stopping_) return;
      const std::function<void()> next = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      next();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> work_;
  bool is_stopping_ = false;
  std::thread thread_;  // Last: it uses the rest.
};

}  // namespace paceline::ps

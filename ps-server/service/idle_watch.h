// Defines IdleWatch: ends transfers of which nothing moves any more, so that none holds a slot or a
// version for ever.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "lib/base/time.h"

namespace paceline::ps {

// A stream that transfers may be under way on. Thread-safe.
class Moving {
 public:
  virtual ~Moving() = default;
  virtual Time moved() const = 0;  // When a byte last moved; Time::max(): nothing is under way.
  virtual void EndIdle(Duration idle) = 0;  // Nothing has moved for so long. Never blocks.
};

// Has one thread, which looks at all streams eight times in `idle`, once a second at most. A look
// that comes late (this process stood still) ends nothing. Thread-safe.
class IdleWatch {
 public:
  explicit IdleWatch(Duration idle);
  ~IdleWatch();

  Duration idle() const { return idle_; }
  void Add(std::weak_ptr<Moving> stream);

 private:
  void Run();
  void Look(const std::vector<std::shared_ptr<Moving>>& streams) const;
  std::vector<std::shared_ptr<Moving>> Alive();

  const Duration idle_;
  const Duration period_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::weak_ptr<Moving>> streams_;
  bool is_stopping_ = false;
  std::thread thread_;  // Last: it uses the rest.
};

}  // namespace paceline::ps

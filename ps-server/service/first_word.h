// Defines FirstWord: the time that a new stream has to say who it is.
#pragma once

#include <chrono>
#include <functional>

#include <grpcpp/alarm.h>

#include "lib/base/time.h"

namespace paceline::ps {

// One owner at a time. Never blocks.
class FirstWord {
 public:
  // Calls `too_late` once, on a thread of gRPC, unless Said comes within `longest`. It may be
  // called after the FirstWord is gone, and so holds nothing that could be gone too.
  void Await(Duration longest, std::function<void()> too_late) {
    alarm_.Set(std::chrono::system_clock::now() +
                   std::chrono::duration_cast<std::chrono::system_clock::duration>(longest),
               [too_late = std::move(too_late)](bool is_due) {
                 if (is_due) too_late();
               });
  }

  void Said() { alarm_.Cancel(); }

 private:
  grpc::Alarm alarm_;
};

}  // namespace paceline::ps

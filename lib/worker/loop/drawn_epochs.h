// Defines DrawnEpochs: what a script's own sampler has drawn for the epochs that a worker computes,
// told to each session before the worker's first step of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "lib/protocol/worker_messages.h"
#include "lib/worker/loop/session.h"

namespace paceline::worker {

// Thread-safe. Empty and without effect where the script has no sampler of its own.
class DrawnEpochs {
 public:
  explicit DrawnEpochs(std::string sampler) : sampler_(std::move(sampler)) {}

  // Its name; empty: there is none.
  const std::string& sampler() const { return sampler_; }

  // Said to the session there is, and to those that follow. The last few epochs are remembered.
  void Note(const protocol::Drawn& drawn);
  // From now on this session is told, and at once of what is remembered. A session that cannot be
  // told is over, which its loop finds out.
  void TellTo(const std::shared_ptr<Session>& session);

 private:
  const std::string sampler_;
  std::mutex mutex_;  // Guards what is below.
  std::map<uint64_t, protocol::Drawn> drawn_;
  std::weak_ptr<Session> session_;
};

}  // namespace paceline::worker

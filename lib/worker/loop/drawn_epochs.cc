#include "lib/worker/loop/drawn_epochs.h"

namespace paceline::worker {

namespace {

constexpr size_t kRemembered = 4;  // Two are open at most.

}  // namespace

void DrawnEpochs::Note(const protocol::Drawn& drawn) {
  std::shared_ptr<Session> session;
  {
    std::lock_guard lock(mutex_);
    drawn_[drawn.epoch] = drawn;
    if (drawn_.size() > kRemembered) drawn_.erase(drawn_.begin());
    session = session_.lock();
  }
  if (session != nullptr) (void)session->Send(drawn);
}

void DrawnEpochs::TellTo(const std::shared_ptr<Session>& session) {
  std::map<uint64_t, protocol::Drawn> drawn;
  {
    std::lock_guard lock(mutex_);
    session_ = session;
    drawn = drawn_;
  }
  for (const auto& [epoch, one] : drawn) (void)session->Send(one);
}

}  // namespace paceline::worker

// Defines VirtualWorker: a worker as a model. How it goes on after a push is the derived class's
// business, as it is that of a pacing in lib/worker.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "lib/base/ids.h"
#include "lib/protocol/worker_messages.h"
#include "simulator/driver/time_spent.h"
#include "simulator/driver/world.h"

namespace paceline::simulator {

// What one push is made of: one step, or several local ones.
struct Tally {
  uint32_t steps = 0;
  uint32_t samples = 0;
  double loss_sum = 0;  // Over the samples.
  std::vector<protocol::Lease> leases;

  void Add(protocol::Lease lease, double loss);
};

uint32_t SamplesOf(const protocol::Lease& lease);

class VirtualWorker {
 public:
  // `life` is different for each one of that index.
  VirtualWorker(World& world, uint32_t index, uint16_t life);
  virtual ~VirtualWorker() = default;
  VirtualWorker(const VirtualWorker&) = delete;
  VirtualWorker& operator=(const VirtualWorker&) = delete;

  uint32_t index() const { return index_; }
  void Admit(Incarnation incarnation) { incarnation_ = incarnation; }
  Incarnation incarnation() const { return incarnation_; }

  // Orders. Nothing is said to the coordinator before they return.
  virtual void Release(const protocol::Released& released) = 0;
  virtual void Continue(const protocol::Continued& continued) = 0;
  virtual void Offer(Version version) = 0;
  virtual void Interrupt(Sequence sequence) = 0;

  // Of it; what was voided since does nothing.
  void Happen(const Happening& happening);

  // Its process ends: what it computed and did not push came to nothing.
  void Vanish();

 protected:
  virtual void Computed() = 0;
  virtual void GivenUp() = 0;
  virtual void Pulled() = 0;
  virtual void Pushed() = 0;

  // From now on it does that; how long it did what it did before.
  Duration Switch(Activity activity);
  // Tells whoever wants to see it.
  void Show(Occurrence::What what, Time from) const;
  void Waste();  // What it has computed since the last push.
  void BeginStep(uint32_t samples);
  // Gives the loss that is told of them.
  double Gradient(const Values& at, const protocol::Lease& samples, Values& gradient);
  void BeginTransfer(Direction direction);
  // How the transfers of workers that compute meanwhile are counted, too.
  sync::Timing TakeTiming();
  // The shard has the push, named by `sequence_`, and so the coordinator hears of it.
  void SayPushed(const Tally& tally, Version based_on, const sync::Timing& timing, Time began,
                 Values payload);

  World& world_;
  const uint32_t index_;
  const uint16_t life_;
  TimeSpent spent_;
  uint64_t turn_ = 0;  // Computing of another turn is void: it was given up.
  Sequence sequence_;  // Of the newest push or of the step that will be pushed.

 private:
  Incarnation incarnation_;
  double unpushed_seconds_ = 0;            // Of computing.
  uint64_t steps_ = 0;                     // Of this process.
  Time active_since_{};                    // As now.
  std::array<Time, 2> transfers_began_{};  // The last ones, by direction.
  std::vector<EpochRange> ranges_;         // Of the samples of a gradient.
};

}  // namespace paceline::simulator

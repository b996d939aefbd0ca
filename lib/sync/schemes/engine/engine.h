// Defines Engine: the one Policy. Which scheme it is says the point of Coordinates that its spec
// is, with a Quorum and a BatchSizer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/sync/contract/policy.h"
#include "lib/sync/schemes/engine/state.h"

namespace paceline::sync {

class Engine : public Policy {
 public:
  // `spec` is valid; quorum and sizer are those that it asks for.
  Engine(const PolicySpec& spec, std::unique_ptr<Quorum> quorum, std::unique_ptr<BatchSizer> sizer);

  void Observe(const Event& event, Time now, std::vector<Decision>& decisions) override;
  std::optional<Time> Deadline() const override;
  bool WantsSpare() const override;
  void Tell(std::vector<Figure>& figures) const override;
  std::string Save() const override;
  std::unique_ptr<Policy> Clone() const override { return std::make_unique<Engine>(*this); }

  // The whole state on one line, clocks as leads over the slowest: equal lines, equal futures.
  std::string DebugString() const;

 private:
  EngineState state_;
};

}  // namespace paceline::sync

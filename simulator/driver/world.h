// Defines World: what all workers of a life share.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "lib/base/time.h"
#include "lib/chaos/delays.h"
#include "lib/protocol/worker_messages.h"
#include "simulator/driver/cluster.h"
#include "simulator/driver/happening.h"
#include "simulator/driver/injected.h"
#include "simulator/driver/virtual_shard.h"
#include "simulator/driver/wires.h"
#include "simulator/kernel/event_queue.h"
#include "simulator/kernel/random_stream.h"
#include "simulator/model/computing.h"
#include "simulator/model/quadratic.h"

namespace paceline::simulator {

struct World {
  // `injected` are the workers', one each; none: nobody has any.
  explicit World(const ClusterOptions& options, std::vector<chaos::Delays> injected = {})
      : options(options),
        delays(std::move(injected)),
        quadratic(options.objective),
        objective(options.model == nullptr ? quadratic : *options.model),
        wires(options.network, InjectedLinks(options), options.outages, queue),
        shard(objective.Begin(options.seed), options.momentum) {
    hosts.reserve(options.workers.size());
    for (uint64_t i = 0; i < options.workers.size(); ++i)
      hosts.push_back({Computing(options.workers[i], options.seed, i),
                       RandomStream(options.seed, "gradient", i)});
  }

  // Of a worker, what its processes do not take with them.
  struct Host {
    Computing computing;
    RandomStream chance;  // Of gradients.
  };

  const ClusterOptions& options;
  const std::vector<chaos::Delays> delays;
  Quadratic quadratic;  // Unless the options have another objective.
  Objective& objective;
  Time now{};
  EventQueue<Happening> queue;
  Wires wires;
  VirtualShard shard;
  std::vector<Host> hosts;
  // Where somebody asks for counted samples: of the pushes that are not published yet.
  std::map<store::PushId, std::vector<protocol::SampleRange>> samples;
  Life life;
  // To the coordinator, whose orders may come before it returns.
  std::function<void(uint32_t worker, protocol::WorkerMessage)> say;
};

}  // namespace paceline::simulator

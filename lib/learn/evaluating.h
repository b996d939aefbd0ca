// Defines what a network's evaluation is made of: loss, accuracy and the network's own metrics over
// a held-out set. Private to lib/learn.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "lib/learn/data/dataset.h"
#include "lib/learn/loss.h"
#include "lib/learn/model_state.h"
#include "lib/learn/training.h"

namespace paceline::learn {

// Over all of `data`, in evaluation mode, `batch_size` samples at a time. Without `loss` the
// network's own method counts; outputs that nobody can judge leave the accuracy out, they are no
// error. Calls `on_progress`, if there is one, after
// each batch. Throws what LibTorch throws;
// ResourceExhausted: out of memory.
StatusOr<Evaluation> EvaluateAll(Model::State& model, const std::optional<Loss>& loss,
                                 const Dataset& data, uint64_t batch_size,
                                 const std::function<void()>& on_progress);

}  // namespace paceline::learn

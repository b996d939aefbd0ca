// Defines AutocastScope, in which LibTorch computes in a reduced precision. Private to lib/learn.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "lib/learn/precision.h"

namespace paceline::learn {

// Of the calling thread, for operators on `device`; for kFloat32 it does nothing. What was cast of
// the parameters is forgotten at its end, for they change; so a backward pass from inside has to be
// over by then, or begin after it.
class AutocastScope {
 public:
  AutocastScope(Precision precision, const at::Device& device);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  const bool is_on_;
  const at::DeviceType device_;
  bool was_on_ = false;
  at::ScalarType type_before_ = at::kFloat;
};

}  // namespace paceline::learn

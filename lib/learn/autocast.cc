#include "lib/learn/autocast.h"

#include <ATen/autocast_mode.h>

namespace paceline::learn {

AutocastScope::AutocastScope(Precision precision, const at::Device& device)
    : is_on_(precision != Precision::kFloat32), device_(device.type()) {
  if (!is_on_) return;
  was_on_ = at::autocast::is_autocast_enabled(device_);
  type_before_ = at::autocast::get_autocast_dtype(device_);
  at::autocast::set_autocast_dtype(device_,
                                   precision == Precision::kFloat16 ? at::kHalf : at::kBFloat16);
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::increment_nesting();
}

AutocastScope::~AutocastScope() {
  if (!is_on_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, was_on_);
  at::autocast::set_autocast_dtype(device_, type_before_);
}

}  // namespace paceline::learn

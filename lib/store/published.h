// Defines Published, a state of the parameters that readers may hold.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "lib/base/version.h"
#include "lib/store/region.h"

namespace paceline::store {

// A published state: immutable for as long as anybody holds it.
class Published {
 public:
  explicit Published(std::unique_ptr<Region> memory) : memory_(std::move(memory)) {}

  Version version;
  // The slice, arranged as the layout.
  std::span<std::byte> bytes() { return memory_->bytes(); }
  std::span<const std::byte> bytes() const { return std::as_const(*memory_).bytes(); }
  const Region& memory() const { return *memory_; }

  // Somebody may go on reading without holding it: no other version may ever lie here.
  // Thread-safe.
  void Abandon() const { is_abandoned_ = true; }
  bool MayBeReused() const { return !is_abandoned_; }

 private:
  std::unique_ptr<Region> memory_;
  mutable std::atomic<bool> is_abandoned_ = false;
};

}  // namespace paceline::store

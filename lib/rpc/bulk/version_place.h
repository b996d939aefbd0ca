// Defines VersionPlace: where a version stands that nobody has copied.
#pragma once

#include <cstddef>
#include <span>

#include "lib/base/status.h"

namespace paceline::rpc {

// The whole layout at page-aligned addresses, which stay valid as long as this lives; what is there
// is that version as long as it is held. What is written to it changes it for nobody else. One
// owner at a time.
class VersionPlace {
 public:
  virtual ~VersionPlace() = default;
  virtual std::span<const std::byte> bytes() const = 0;

  // To compute on in place, and empty where that cannot be. Never together with MoveTo.
  virtual std::span<std::byte> values() = 0;

  // The first `size_bytes`, whole pages, stand at `there` as well, in the place of what was there:
  // whoever reads there meets the old bytes or the new. Pages that are written there are this
  // process's, until ComeBack. After an error some of them may stand there, and no ComeBack is due.
  virtual Status MoveTo(std::byte* there, size_t size_bytes) = 0;
  // `there` may be given to another one: what was written is gone. Until then it reads as this.
  virtual void ComeBack() = 0;
};

}  // namespace paceline::rpc

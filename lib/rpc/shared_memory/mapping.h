// Defines Mapping: another process's memory, mapped into this one.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "lib/base/status.h"
#include "lib/telemetry/listening_socket.h"

namespace paceline::rpc {

// Whether `memory` can be mapped without an access being a signal: InvalidArgument if it is not
// sealed against shrinking, or smaller.
Status CheckMappable(const telemetry::OwnedSocket& memory, size_t size_bytes);

// Unmapped when it ends. Movable; one owner.
class Mapping {
 public:
  enum class Access { kRead, kWrite };

  Mapping() = default;
  // The first `size_bytes` of `memory`, whose pages are fetched here and not at the first access.
  // Errors of CheckMappable; ResourceExhausted if the kernel has no room.
  static StatusOr<Mapping> Of(const telemetry::OwnedSocket& memory, size_t size_bytes,
                              Access access);
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_bytes_(std::exchange(other.size_bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    return *this;
  }
  ~Mapping();

  std::span<std::byte> bytes() const { return {data_, size_bytes_}; }

 private:
  Mapping(std::byte* data, size_t size_bytes) : data_(data), size_bytes_(size_bytes) {}

  std::byte* data_ = nullptr;
  size_t size_bytes_ = 0;
};

}  // namespace paceline::rpc

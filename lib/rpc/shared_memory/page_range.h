// Defines PageRange: addresses of this process at which memory may be mapped.
#pragma once

#include <cstddef>
#include <utility>

#include "lib/base/status.h"

namespace paceline::rpc {

// Begins at a multiple of 2 MiB, so that what is moved from one to another takes its page tables
// along and not page by page. All of it is unmapped when it ends. Movable; one owner.
class PageRange {
 public:
  enum class Holds { kNothing, kZeros };

  PageRange() = default;
  // Of whole pages. kNothing: an access is a signal until something is mapped. ResourceExhausted.
  static StatusOr<PageRange> Of(size_t size_bytes, Holds holds);
  PageRange(PageRange&& other) noexcept
      : begin_(std::exchange(other.begin_, nullptr)),
        size_bytes_(std::exchange(other.size_bytes_, 0)) {}
  PageRange& operator=(PageRange&& other) noexcept {
    std::swap(begin_, other.begin_);
    std::swap(size_bytes_, other.size_bytes_);
    return *this;
  }
  ~PageRange();

  std::byte* begin() const { return begin_; }
  size_t size_bytes() const { return size_bytes_; }

 private:
  PageRange(std::byte* begin, size_t size_bytes) : begin_(begin), size_bytes_(size_bytes) {}

  std::byte* begin_ = nullptr;
  size_t size_bytes_ = 0;
};

// The pages of one mapping come to stand at `to`, in the place of what was there; `from` stays
// mapped, and reads from the mapping's file again, or as zeros. ResourceExhausted, and nothing has
// changed, if the kernel cannot (before 5.13).
Status MovePages(std::byte* from, std::byte* to, size_t size_bytes);

}  // namespace paceline::rpc

// Defines Region: memory of a fixed size, this process's own or such that others may map it too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "lib/base/status.h"

namespace paceline::store {

// Page-aligned, zeroed, and its pages are there: nobody meets a fault, or the want of memory, when
// it is written. The bytes have no lock; whoever shares them agrees on who writes when.
class Region {
 public:
  // What others may do with it. kNobody: there is no descriptor to hand on.
  enum class Others { kNobody, kRead, kWrite };

  // Throws std::bad_alloc where there is no memory, as a vector does. `why`: it is not shareable.
  static std::unique_ptr<Region> Private(size_t size_bytes,
                                         std::string why = "nobody asked for it");
  // A memfd, sealed against shrinking and growing, so that no process can take pages away from
  // under another one; with kRead sealed against new writers too. ResourceExhausted where there is
  // no memory or descriptor, Unimplemented where the kernel has no such seals.
  static StatusOr<std::unique_ptr<Region>> Shareable(size_t size_bytes, Others others);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  std::span<std::byte> bytes() { return {data_, size_bytes_}; }
  std::span<const std::byte> bytes() const { return {data_, size_bytes_}; }

  // Of no other region of this process, ever; more than 0.
  uint64_t id() const { return id_; }
  int descriptor() const { return descriptor_; }  // -1: it is private, or empty.
  const std::string& why_private() const { return why_private_; }

 private:
  Region(std::byte* data, size_t size_bytes, int descriptor);

  std::byte* const data_;
  const size_t size_bytes_;
  const int descriptor_;
  const uint64_t id_;
  std::string why_private_;
};

// Whole pages that hold so many bytes.
size_t PagesFor(size_t size_bytes);

}  // namespace paceline::store

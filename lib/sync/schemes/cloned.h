// Defines Cloned: an owning pointer whose copy is a Clone(), for values that hold a controller.
#pragma once

#include <memory>
#include <utility>

namespace paceline::sync {

// T has `std::unique_ptr<T> Clone() const`. Never null.
template <class T>
class Cloned {
 public:
  explicit Cloned(std::unique_ptr<T> value) : value_(std::move(value)) {}
  Cloned(const Cloned& other) : value_(other.value_->Clone()) {}
  Cloned(Cloned&&) noexcept = default;
  Cloned& operator=(const Cloned& other) {
    value_ = other.value_->Clone();
    return *this;
  }
  Cloned& operator=(Cloned&&) noexcept = default;

  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace paceline::sync

// Defines Recycler<T>, which lends large objects and takes them back instead of freeing them.
//
// Memory that was touched once stays mapped: a commit that asked the system for fresh pages each
// time would spend more time in page faults than in arithmetic.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace paceline::store {

// Thread-safe. What it lent may outlive it. What says that it may not be reused (MayBeReused) is
// freed when it comes back.
template <class T>
class Recycler {
 public:
  // Keeps at most `spares_max` objects that nobody holds; `make` makes more, and runs without a
  // lock.
  Recycler(std::function<std::unique_ptr<T>()> make, size_t spares_max)
      : make_(std::move(make)), shelf_(std::make_shared<Shelf>()) {
    shelf_->spares_max = spares_max;
  }

  // With whatever the last holder left in it.
  std::shared_ptr<T> Take() {
    std::unique_ptr<T> taken;
    {
      std::lock_guard lock(shelf_->mutex);
      if (!shelf_->spares.empty()) {
        taken = std::move(shelf_->spares.back());
        shelf_->spares.pop_back();
      }
    }
    if (taken == nullptr) taken = make_();
    return std::shared_ptr<T>(taken.release(), [shelf = std::weak_ptr<Shelf>(shelf_)](T* returned) {
      std::unique_ptr<T> owned(returned);
      const std::shared_ptr<Shelf> alive = shelf.lock();
      if (alive == nullptr) return;
      if constexpr (requires { returned->MayBeReused(); }) {
        if (!returned->MayBeReused()) return;
      }
      std::lock_guard lock(alive->mutex);
      if (alive->spares.size() < alive->spares_max) alive->spares.push_back(std::move(owned));
    });
  }

 private:
  struct Shelf {
    std::mutex mutex;
    std::vector<std::unique_ptr<T>> spares;
    size_t spares_max = 0;
  };

  const std::function<std::unique_ptr<T>()> make_;
  const std::shared_ptr<Shelf> shelf_;
};

}  // namespace paceline::store

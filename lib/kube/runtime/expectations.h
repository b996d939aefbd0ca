// Defines Expectations: what a controller wrote and its informer has not shown yet.
//
// A controller that looks at a cache which lags behind its own writes would create or delete twice.
// It writes down what it is about to do, waits with the next decision until the informer has shown
// it all, and gives up waiting after a while, since an event may have been missed.
//
// Example:
//   if (!expectations.AreMet(owner)) return Result{.requeue_after = expectations.timeout()};
//   expectations.ExpectCreation(owner, KeyOf(pod));
//   if (!client.Call(Create(Pods(), pod)).ok()) expectations.Drop(owner, KeyOf(pod));
//   // in the informer's handler: expectations.Saw(change)
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "lib/base/time.h"
#include "lib/kube/core/object_key.h"
#include "lib/kube/runtime/informer.h"

namespace paceline::kube {

// Thread-safe.
class Expectations {
 public:
  explicit Expectations(Duration timeout = Seconds(5 * 60));

  // Call before writing: the informer may be faster than the answer.
  void ExpectCreation(const ObjectKey& owner, const ObjectKey& object);
  void ExpectDeletion(const ObjectKey& owner, const ObjectKey& object, const std::string& uid);
  // The write failed, or the object was there already: nothing will be seen.
  void Drop(const ObjectKey& owner, const ObjectKey& object);
  // The owner is gone.
  void Forget(const ObjectKey& owner);

  // Of every change that the informer reports: an object that was added or modified is there; one
  // that is deleted, being deleted or has another uid is gone.
  void Saw(const ObjectChange& change);

  // Whether all that was expected has been seen, or has been waited for too long.
  bool AreMet(const ObjectKey& owner);
  Duration timeout() const { return timeout_; }

 private:
  struct Expected {
    std::string gone_uid;  // Of a deletion; empty: a creation.
    Time until;
  };
  const Duration timeout_;
  std::mutex mutex_;
  std::map<ObjectKey, std::map<ObjectKey, Expected>> by_owner_;
  std::map<ObjectKey, ObjectKey> owner_of_;  // By expected object.
};

}  // namespace paceline::kube

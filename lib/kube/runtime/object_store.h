// Defines ObjectStore, the indexed copy that an Informer keeps.
#pragma once

#include <map>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

#include "lib/kube/runtime/informer.h"

namespace paceline::kube {

// Thread-safe.
class ObjectStore {
 public:
  explicit ObjectStore(std::map<std::string, IndexFunction> indexes);

  // Puts or takes one object; what changed, in order: nothing if the version is the same, two
  // changes if another object of that name was there.
  std::vector<ObjectChange> Put(ObjectPtr object);
  std::vector<ObjectChange> Remove(ObjectPtr object);
  // Makes `objects` all there is.
  std::vector<ObjectChange> Replace(std::map<ObjectKey, ObjectPtr> objects);

  ObjectPtr Find(const ObjectKey& key) const;
  std::vector<ObjectPtr> Objects() const;
  // The program is wrong if there is no such index.
  std::vector<ObjectPtr> ByIndex(const std::string& index, const std::string& value) const;
  size_t size() const;

 private:
  struct Index {
    IndexFunction values;
    std::map<std::string, std::set<ObjectKey>> keys;
  };

  void PutLocked(const ObjectKey& key, ObjectPtr object, std::vector<ObjectChange>& changes);
  void RemoveLocked(const ObjectKey& key);
  // Null: there was none, or is none any more.
  void Reindex(const ObjectKey& key, const Json* before, const Json* after);

  mutable std::shared_mutex mutex_;
  std::map<ObjectKey, ObjectPtr> objects_;
  std::map<std::string, Index> indexes_;
};

}  // namespace paceline::kube

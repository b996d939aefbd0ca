#include "lib/kube/runtime/object_store.h"

#include <mutex>

#include "lib/base/check.h"
#include "lib/kube/core/metadata.h"

namespace paceline::kube {

ObjectStore::ObjectStore(std::map<std::string, IndexFunction> indexes) {
  for (auto& [name, values] : indexes) indexes_[name].values = std::move(values);
}

std::vector<ObjectChange> ObjectStore::Put(ObjectPtr object) {
  std::vector<ObjectChange> changes;
  std::unique_lock lock(mutex_);
  const ObjectKey key = KeyOf(*object);
  PutLocked(key, std::move(object), changes);
  return changes;
}

std::vector<ObjectChange> ObjectStore::Remove(ObjectPtr object) {
  std::unique_lock lock(mutex_);
  const ObjectKey key = KeyOf(*object);
  if (!objects_.contains(key)) return {};
  RemoveLocked(key);
  return {{.before = std::move(object), .after = nullptr}};
}

std::vector<ObjectChange> ObjectStore::Replace(std::map<ObjectKey, ObjectPtr> objects) {
  std::vector<ObjectChange> changes;
  std::unique_lock lock(mutex_);
  std::vector<ObjectKey> gone;
  for (const auto& [key, object] : objects_) {
    if (objects.contains(key)) continue;
    gone.push_back(key);
    changes.push_back({.before = object, .after = nullptr});
  }
  for (const ObjectKey& key : gone) RemoveLocked(key);
  for (auto& [key, object] : objects) PutLocked(key, std::move(object), changes);
  return changes;
}

void ObjectStore::PutLocked(const ObjectKey& key, ObjectPtr object,
                            std::vector<ObjectChange>& changes) {
  ObjectPtr& held = objects_[key];
  if (held != nullptr && ResourceVersion(*held) == ResourceVersion(*object) &&
      Uid(*held) == Uid(*object)) {
    return;
  }
  Reindex(key, held.get(), object.get());
  if (held != nullptr && Uid(*held) != Uid(*object)) {
    changes.push_back({.before = std::move(held), .after = nullptr});
    held = nullptr;
  }
  changes.push_back({.before = std::move(held), .after = object});
  held = std::move(object);
}

void ObjectStore::RemoveLocked(const ObjectKey& key) {
  const auto found = objects_.find(key);
  Reindex(key, found->second.get(), nullptr);
  objects_.erase(found);
}

void ObjectStore::Reindex(const ObjectKey& key, const Json* before, const Json* after) {
  for (auto& named : indexes_) {
    auto& index = named.second;
    const auto values = [&](const Json* object) {
      return object != nullptr ? index.values(*object) : std::vector<std::string>();
    };
    const std::vector<std::string> old_values = values(before), new_values = values(after);
    if (old_values == new_values) continue;
    for (const std::string& value : old_values) {
      const auto found = index.keys.find(value);
      if (found == index.keys.end()) continue;
      found->second.erase(key);
      if (found->second.empty()) index.keys.erase(found);
    }
    for (const std::string& value : new_values) index.keys[value].insert(key);
  }
}

ObjectPtr ObjectStore::Find(const ObjectKey& key) const {
  std::shared_lock lock(mutex_);
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : found->second;
}

std::vector<ObjectPtr> ObjectStore::Objects() const {
  std::shared_lock lock(mutex_);
  std::vector<ObjectPtr> objects;
  objects.reserve(objects_.size());
  for (const auto& [key, object] : objects_) objects.push_back(object);
  return objects;
}

std::vector<ObjectPtr> ObjectStore::ByIndex(const std::string& index,
                                            const std::string& value) const {
  std::shared_lock lock(mutex_);
  const auto found = indexes_.find(index);
  PACELINE_CHECK(found != indexes_.end(), "there is no index {}", index);
  std::vector<ObjectPtr> objects;
  const auto keys = found->second.keys.find(value);
  if (keys == found->second.keys.end()) return objects;
  for (const ObjectKey& key : keys->second) objects.push_back(objects_.at(key));
  return objects;
}

size_t ObjectStore::size() const {
  std::shared_lock lock(mutex_);
  return objects_.size();
}

}  // namespace paceline::kube

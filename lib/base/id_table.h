// Defines IdTable and IdSet: a map and a set of ids (ids.h) that are numbered almost without gaps,
// as workers are.
//
// Each lies in one piece of memory in the order of its keys, and a key that has no gap before it is
// found at once: what costs a map of 10,000 workers a walk over a dozen of nodes costs one look.
//
// Example:
//   IdTable<WorkerId, int> pushes;
//   ++pushes[WorkerId(3)];
//   for (const auto& [worker, count] : pushes) ...   // In worker order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace paceline {

// In a vector in the order of the keys, where that key is or would be.
template <class Entry, class Key, class KeyOf>
size_t PlaceOf(const std::vector<Entry>& entries, Key key, KeyOf key_of) {
  if (entries.empty() || key_of(entries.back()) < key) return entries.size();
  const uint64_t least = key_of(entries.front()).value();
  if (key.value() <= least) return 0;
  // No further behind than if none were missing.
  const auto last =
      static_cast<size_t>(std::min<uint64_t>(key.value() - least, entries.size() - 1));
  if (key_of(entries[last]) == key) return last;
  const auto found = std::lower_bound(
      entries.begin(), entries.begin() + static_cast<ptrdiff_t>(last), key,
      [&key_of](const Entry& entry, Key sought) { return key_of(entry) < sought; });
  return static_cast<size_t>(found - entries.begin());
}

// A value with the names of std::map. Unlike there, a new key and one that is erased move what
// comes after it: references and iterators are good until then.
template <class Key, class T>
class IdTable {
 public:
  using Entry = std::pair<Key, T>;
  using iterator = typename std::vector<Entry>::iterator;
  using const_iterator = typename std::vector<Entry>::const_iterator;

  iterator find(Key key) {
    const size_t at = Position(key);
    return Holds(at, key) ? entries_.begin() + static_cast<ptrdiff_t>(at) : entries_.end();
  }
  const_iterator find(Key key) const {
    const size_t at = Position(key);
    return Holds(at, key) ? entries_.begin() + static_cast<ptrdiff_t>(at) : entries_.end();
  }
  bool contains(Key key) const { return Holds(Position(key), key); }

  // Made, if it was not there.
  T& operator[](Key key) {
    const size_t at = Position(key);
    if (!Holds(at, key)) entries_.insert(entries_.begin() + static_cast<ptrdiff_t>(at), {key, T{}});
    return entries_[at].second;
  }
  size_t erase(Key key) {
    const size_t at = Position(key);
    if (!Holds(at, key)) return 0;
    entries_.erase(entries_.begin() + static_cast<ptrdiff_t>(at));
    return 1;
  }
  void clear() { entries_.clear(); }

  // Keys must stay as they are.
  iterator begin() { return entries_.begin(); }
  iterator end() { return entries_.end(); }
  const_iterator begin() const { return entries_.begin(); }
  const_iterator end() const { return entries_.end(); }
  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }

 private:
  bool Holds(size_t at, Key key) const { return at < entries_.size() && entries_[at].first == key; }
  size_t Position(Key key) const {
    return PlaceOf(entries_, key, [](const Entry& entry) { return entry.first; });
  }

  std::vector<Entry> entries_;  // In the order of their keys.
};

// A value with the names of std::set.
template <class Key>
class IdSet {
 public:
  using const_iterator = typename std::vector<Key>::const_iterator;

  bool contains(Key key) const {
    const size_t at = Position(key);
    return at < keys_.size() && keys_[at] == key;
  }
  void insert(Key key) {
    const size_t at = Position(key);
    if (at == keys_.size() || keys_[at] != key)
      keys_.insert(keys_.begin() + static_cast<ptrdiff_t>(at), key);
  }
  template <class Iterator>
  void insert(Iterator first, Iterator last) {
    for (; first != last; ++first) insert(*first);
  }
  size_t erase(Key key) {
    if (!contains(key)) return 0;
    keys_.erase(keys_.begin() + static_cast<ptrdiff_t>(Position(key)));
    return 1;
  }
  void clear() { keys_.clear(); }

  const_iterator begin() const { return keys_.begin(); }
  const_iterator end() const { return keys_.end(); }
  size_t size() const { return keys_.size(); }
  bool empty() const { return keys_.empty(); }

 private:
  size_t Position(Key key) const {
    return PlaceOf(keys_, key, [](Key one) { return one; });
  }

  std::vector<Key> keys_;  // In order.
};

}  // namespace paceline

// Defines Links: network namespaces of the bench's own, with a throttled link for each worker.
//
// The shards' side is one namespace with a bridge; each worker has a namespace of its own and one
// link to that bridge, as if each were a machine. Both ends of a link let pass so many bits a
// second (tc's tbf), so that either direction has them. Nothing between the shards is throttled.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/base/status.h"

namespace paceline::bench {

// Where processes run: words before a command, and how they reach each other.
struct LinkPlaces {
  std::vector<std::string> shards;
  std::vector<std::vector<std::string>> workers;
  std::string shards_host;
  std::string workers_interface;
};

class Links {
 public:
  // Of so many workers. Why it cannot be made, where it cannot: no root, no `ip` or `tc`, a kernel
  // without namespaces, bridges or tbf.
  static StatusOr<std::unique_ptr<Links>> Make(size_t workers, double gigabits);
  ~Links();  // Removes what was made.
  Links(const Links&) = delete;

  const LinkPlaces& places() const { return places_; }

 private:
  explicit Links(size_t workers);
  Status Connect(size_t worker, double gigabits);

  std::vector<std::string> namespaces_;  // The shards' first.
  size_t made_ = 0;                      // Of them.
  LinkPlaces places_;
};

}  // namespace paceline::bench

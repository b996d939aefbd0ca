// Defines Informer: a local copy of a collection that follows the API server.
//
// Example:
//   Informer pods(*client, {.resource = Pods(), .label_selector = "app=web",
//                           .indexes = {{"owner", OwnerUid}}},
//                 {.changed = [&](const ObjectChange& change) { queue.Add(KeyOf(*change.object()));
//                 }});
//   pods.Start();
//   PACELINE_RETURN_IF_ERROR(pods.WaitForSync(Seconds(30)));
//   for (const ObjectPtr& pod : pods.ByIndex("owner", Uid(owner))) { ... }
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/kube/client/client.h"
#include "lib/kube/core/json.h"
#include "lib/kube/core/object_key.h"
#include "lib/kube/core/request.h"
#include "lib/kube/core/resource.h"

namespace paceline::kube {

using ObjectPtr = std::shared_ptr<const Json>;  // Never changes; a newer version is another object.

// The values under which an index holds an object.
using IndexFunction = std::function<std::vector<std::string>(const Json&)>;
std::vector<std::string> OwnerUid(const Json& object);  // Of the controller.
IndexFunction LabelValue(const std::string& label);

// before and after: modified; after alone: added; before alone: deleted.
struct ObjectChange {
  ObjectPtr before;
  ObjectPtr after;
  bool is_initial = false;  // Of the first list: nobody waits for it.
  const ObjectPtr& object() const { return after ? after : before; }
};

struct InformerOptions {
  Resource resource;
  std::string name_space;  // Empty: all.
  std::string label_selector;
  std::string field_selector;
  Extent extent = Extent::kWhole;
  // What of each object is read and kept: what is left out here costs next to nothing.
  // /metadata/{name, namespace, uid, resourceVersion} have to be among it; managedFields and
  // kubectl's annotation never are.
  Selection selection;
  // What a selection cannot say; runs once per version, on the loop.
  std::function<void(Json&)> transform;
  std::map<std::string, IndexFunction> indexes;
  int page_size = 500;
  Duration watch_timeout_min = Seconds(5 * 60);  // Random up to twice that, so that watches do not
                                                 // all end at once.
  Duration backoff_min =
      Seconds(0.8);  // After failed lists and watches: doubles, with jitter, to...
  Duration backoff_max = Seconds(30);
};

struct InformerHandler {
  // On the loop's thread, in order, after the store has the change. Must not block.
  std::function<void(const ObjectChange&)> changed;
  // For logs and metrics: what went wrong (and is retried), "list" or "watch".
  std::function<void(const std::string& what, const Status& status)> failed;
  std::function<void()> synced;  // After the first complete list.
};

// Thread-safe. A lost watch goes on from the last version seen; where the server has forgotten it
// (410), all is listed again, and what is gone is reported as deleted. Reads never block on I/O.
class Informer {
 public:
  // `client` outlives it.
  Informer(Client& client, InformerOptions options, InformerHandler handler = {});
  // Stops; no handler runs after it. Not on the loop's thread.
  ~Informer();
  Informer(const Informer&) = delete;
  Informer& operator=(const Informer&) = delete;

  void Start();
  void Stop();

  bool HasSynced() const;
  // DeadlineExceeded naming the resource and the last failure.
  Status WaitForSync(Duration deadline) const;
  // Until the first list is there or has failed: of an API that the server may not have. Returns
  // whether it was so before the deadline.
  bool WaitForAnswer(Duration deadline) const;

  ObjectPtr Find(const ObjectKey& key) const;  // Null if there is none.
  std::vector<ObjectPtr> Objects() const;      // In the order of their keys.
  std::vector<ObjectPtr> ByIndex(const std::string& index, const std::string& value) const;
  size_t size() const;

 private:
  class Follower;
  std::shared_ptr<Follower> follower_;
};

}  // namespace paceline::kube

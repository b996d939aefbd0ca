// Makes requests to the API as values; a Client sends them.
//
// Example:
//   StatusOr<Json> made = client.Call(Create(Pods(), pod));
//   StatusOr<Json> mine = client.Call(Apply(Services(), service, {.field_manager = "example"}));
//   Status gone = IgnoreNotFound(client.Call(Delete(Pods(), key, {.uid = Uid(pod)})).status());
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/time.h"
#include "lib/kube/core/json.h"
#include "lib/kube/core/object_key.h"
#include "lib/kube/core/resource.h"
#include "lib/kube/core/selection.h"

namespace paceline::kube {

// What the answer is read into: parsing costs more than receiving.
enum class Answer {
  kObject,   // The object without managedFields.
  kNothing,  // Null: the caller only wants to know whether it worked.
};

struct Request {
  std::string method = "GET";
  std::string path;                                        // Begins with /.
  std::vector<std::pair<std::string, std::string>> query;  // Not yet encoded.
  std::string body;
  std::string content_type;  // Of the body.
  std::string accept = "application/json";
  // For a program behind a proxy of the API server, which hands them on; Authorization it does not.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string verb;      // For observers: get list create update patch apply delete watch.
  std::string resource;  // For observers: "pods", "pods/status".
  Answer answer = Answer::kObject;
  // Whether sending it again after a lost answer does no harm. The builders below know.
  bool is_repeatable = false;
  // For all attempts together, from the first one on. Nothing: the client's default.
  std::optional<Duration> deadline;
  // Does not wait for its turn behind others: a lease must be renewed while thousands of objects
  // are being created.
  bool is_urgent = false;
};

[[nodiscard]] Request Get(const Resource& resource, const ObjectKey& key,
                          std::string_view subresource = "");

// Its metadata alone: whether it is there, and is as it was.
[[nodiscard]] Request GetMetadata(const Resource& resource, const ObjectKey& key);

// How much of each object a list or a watch gives.
enum class Extent {
  kWhole,
  kMetadata,  // apiVersion, kind (PartialObjectMetadata) and metadata: for what is only counted.
};

struct ListOptions {
  std::string name_space;  // Empty: all.
  std::string label_selector;
  std::string field_selector;
  int limit = 500;               // Objects per page; 0 asks for all in one answer.
  std::string continue_token;    // Of the page before.
  std::string resource_version;  // "0": any, as the server's cache has it; empty: the newest.
  Extent extent = Extent::kWhole;
  Selection selection;  // What of each object is read, of what the server sends.
};
[[nodiscard]] Request List(const Resource& resource, const ListOptions& options = {});

struct WatchOptions {
  std::string name_space;
  std::string label_selector;
  std::string field_selector;
  std::string resource_version;        // Where to go on.
  Duration timeout = Seconds(7 * 60);  // The server ends the watch after it.
  Extent extent = Extent::kWhole;
  Selection selection;
};
[[nodiscard]] Request Watch(const Resource& resource, const WatchOptions& options);

struct WriteOptions {
  std::string subresource;    // "status", "scale"...
  std::string field_manager;  // Empty: the server takes it from the user agent.
  bool dry_run = false;       // Everything but the storing.
  bool force = false;         // Apply only: take over fields of other managers.
  bool is_strict = false;     // Fields that the server does not know are an error, not left out.
  Answer answer = Answer::kObject;
};

// Namespace and name are taken from the object.
[[nodiscard]] Request Create(const Resource& resource, const Json& object,
                             const WriteOptions& options = {});
// Conflict if the object has a resourceVersion that is not the newest.
[[nodiscard]] Request Update(const Resource& resource, const Json& object,
                             const WriteOptions& options = {});
[[nodiscard]] Request MergePatch(const Resource& resource, const ObjectKey& key, const Json& patch,
                                 const WriteOptions& options = {});
// Server-side apply: creates, or takes over the fields that `object` has. apiVersion and kind are
// filled in. A field manager has to be given.
[[nodiscard]] Request Apply(const Resource& resource, Json object, const WriteOptions& options);

enum class Propagation { kDefault, kBackground, kForeground, kOrphan };
struct DeleteOptions {
  std::string uid;               // Precondition; empty: any.
  std::string resource_version;  // Precondition; empty: any.
  Propagation propagation = Propagation::kDefault;
  std::optional<int> grace_period_seconds;  // 0 deletes at once.
  bool dry_run = false;
};
[[nodiscard]] Request Delete(const Resource& resource, const ObjectKey& key,
                             const DeleteOptions& options = {});

// Of all objects that a selector matches.
[[nodiscard]] Request DeleteCollection(const Resource& resource, const std::string& name_space,
                                       const std::string& label_selector,
                                       const DeleteOptions& options = {});

// Path, "?" and the encoded query.
std::string Target(const Request& request);

}  // namespace paceline::kube

// Defines Client, which sends requests to a Kubernetes API server.
//
// Example:
//   PACELINE_ASSIGN_OR_RETURN(auto client, Client::Create(std::move(config)));
//   StatusOr<Json> pod = client->Call(Get(Pods(), {"team-a", "web-0"}));         // blocks
//   client->Start(Create(Pods(), pod), [](StatusOr<Json> made) { ... });         // does not
//   StatusOr<ObjectList> pods = client->ListAll(Pods(), {.name_space = "team-a"});
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/kube/client/config.h"
#include "lib/kube/client/event_loop.h"
#include "lib/kube/core/json.h"
#include "lib/kube/core/request.h"

namespace paceline::kube {

// One attempt at a request, for metrics.
struct CallRecord {
  std::string verb;      // "get", "list", "watch"...
  std::string resource;  // "pods", "pods/status"
  int code = 0;          // HTTP; 0 if no answer came.
  double seconds = 0;    // For a watch until it ended.
  int attempt = 1;
};

struct ClientOptions {
  std::string user_agent = "kube-client";
  Duration deadline = Seconds(30);  // Of a call that names none: all its attempts together.
  Duration connect_timeout = Seconds(10);
  int attempts_max = 5;                 // Per call, the first included.
  Duration backoff_min = Seconds(0.1);  // Doubles after each attempt, with jitter, up to...
  Duration backoff_max = Seconds(5);
  int calls_in_flight_max = 16;  // More wait for their turn; watches are not counted.
  // Without a byte (bookmarks come every minute) a watch counts as dead.
  Duration watch_idle_timeout = Seconds(90);
  // Called on the loop's thread; must not block.
  std::function<void(const CallRecord&)> observe;
};

struct Response {
  int code = 0;
  std::map<std::string, std::string> headers;  // Names in lower case.
  std::string body;
};

struct ObjectList {
  std::vector<Json> items;  // With apiVersion and kind.
  std::string resource_version;
  std::string continue_token;  // Empty on the last page.
};

enum class WatchEventType { kAdded, kModified, kDeleted, kBookmark };
struct WatchEvent {
  WatchEventType type = WatchEventType::kAdded;
  Json object;
};

struct WatchHandler {
  std::function<void(WatchEvent)> event;
  // Called once, last. OK: the server ended it in time, go on from the last resourceVersion.
  // IsExpired: list again. Cancelled: by the caller. Others: the connection, or a refusal.
  std::function<void(Status)> end;
};

class Transport;

// Stops what it stands for when it is cancelled or destroyed. Movable; an empty one does nothing.
class CallHandle {
 public:
  CallHandle() = default;
  CallHandle(std::weak_ptr<Transport> transport, uint64_t id);
  CallHandle(CallHandle&& other) noexcept;
  CallHandle& operator=(CallHandle&& other) noexcept;
  ~CallHandle();

  // Thread-safe. The callback that tells the end runs with Cancelled, soon, on the loop; once a
  // loop().RunAndWait that follows has returned, none runs any more.
  void Cancel();
  // Lets it run to its end without a handle.
  void Release();

 private:
  std::weak_ptr<Transport> transport_;
  uint64_t id_ = 0;
};

// Thread-safe. Callbacks run on the loop's thread, must not block and must not destroy the client.
// The blocking forms must not be called there (checked).
//
// Retries: 429 and 503 that say Retry-After, for every request; no answer and other 5xx, for those
// that are repeatable; 401 once, with credentials read anew. No limit on queries per second: the
// server has its own (API Priority and Fairness).
class Client {
 public:
  // Starts the loop; sends nothing yet. InvalidArgument for a config that cannot work: no server,
  // unreadable certificates.
  static StatusOr<std::unique_ptr<Client>> Create(Config config, ClientOptions options = {});

  // Cancels what is running: all callbacks have been called when it returns.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Sends, waits, parses. Errors as in kube/core/api_error.h.
  StatusOr<Json> Call(Request request);
  // All at once, bounded by calls_in_flight_max; answers in the order of the requests.
  std::vector<StatusOr<Json>> CallAll(std::vector<Request> requests);
  // Without blocking. `done` is called exactly once.
  void Start(Request request, std::function<void(StatusOr<Json>)> done);

  // All pages. If the continue token expires in between, lists again without pages.
  StatusOr<ObjectList> ListAll(const Resource& resource, ListOptions options = {});
  // Page by page: `page` runs on the loop for each, `done` once at the end, with the
  // resourceVersion to watch from. `restart` tells that the pages so far are void.
  struct ListHandler {
    std::function<void(std::vector<Json> items)> page;
    std::function<void()> restart;
    std::function<void(StatusOr<std::string> resource_version)> done;
  };
  void StartList(const Resource& resource, ListOptions options, ListHandler handler);

  // One connection, until it ends; an Informer is what goes on after that. Keep the handle.
  [[nodiscard]] CallHandle StartWatch(const Resource& resource, WatchOptions options,
                                      WatchHandler handler);

  // Any request, unparsed: logs, metrics, /version, discovery. An answer of 400 and more is not an
  // error here.
  StatusOr<Response> CallRaw(Request request);
  void StartRaw(Request request, std::function<void(StatusOr<Response>)> done);
  // Bytes as they come, without retry and without a deadline but the request's own: following a
  // log.
  [[nodiscard]] CallHandle StartStream(Request request, std::function<void(std::string_view)> bytes,
                                       std::function<void(Status)> end);

  // One attempt at another server than the API's, a program in a pod say, on the same loop and with
  // the credentials of `server`: a token file and a plugin are not asked. Needs no turn, so that
  // one that does not answer holds up nobody. An answer of 400 and more is not an error here; one
  // of more than `body_max` bytes is. Keep the handle.
  [[nodiscard]] CallHandle StartElsewhere(Config server, Request request, size_t body_max,
                                          std::function<void(StatusOr<Response>)> done);

  EventLoop& loop();
  const Config& config() const;

 private:
  explicit Client(std::shared_ptr<Transport> transport);

  std::shared_ptr<Transport> transport_;
};

}  // namespace paceline::kube

#include "lib/kube/client/client.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <future>

#include "lib/base/check.h"
#include "lib/kube/client/retry.h"
#include "lib/kube/client/transport.h"
#include "lib/kube/client/watch_parser.h"
#include "lib/kube/core/api_error.h"
#include "lib/kube/core/parse.h"

namespace paceline::kube {
namespace {

StatusOr<Json> ReadAnswer(StatusOr<Response> response, Answer answer,
                          const Selection& selection = {}) {
  if (!response.ok()) return response.status();
  if (response->code >= 300) return ErrorOf(*response);
  if (answer == Answer::kNothing) return Json();
  return ParseMessage(response->body, selection);
}

// A list's items lack what its own apiVersion and kind say.
ObjectList ReadList(Json json) {
  ObjectList list{.resource_version = StringAt(json, "/metadata/resourceVersion"),
                  .continue_token = StringAt(json, "/metadata/continue")};
  const std::string api_version = StringAt(json, "/apiVersion");
  std::string kind = StringAt(json, "/kind");
  if (kind.size() > 4 && kind.ends_with("List")) kind.resize(kind.size() - 4);
  const auto items = json.find("items");
  if (items == json.end() || !items->is_array()) return list;
  for (Json& item : *items) {
    if (!item.is_object()) continue;
    item.emplace("apiVersion", api_version);
    item.emplace("kind", kind);
    list.items.push_back(std::move(item));
  }
  return list;
}

// One StartList: a page after the other.
struct Listing : std::enable_shared_from_this<Listing> {
  std::shared_ptr<Transport> transport;
  Resource resource;
  ListOptions options;
  Client::ListHandler handler;

  void NextPage() {
    transport->StartCall(
        List(resource, options), [self = shared_from_this()](StatusOr<Response> response) {
          self->Got(ReadAnswer(std::move(response), Answer::kObject, self->options.selection));
        });
  }

  void Got(StatusOr<Json> json) {
    if (!json.ok()) {
      // The server has forgotten the version that the pages were of.
      if (IsExpired(json.status()) && !options.continue_token.empty()) {
        options.continue_token.clear();
        options.limit = 0;
        if (handler.restart) handler.restart();
        return NextPage();
      }
      return Done(json.status());
    }
    ObjectList list = ReadList(*std::move(json));
    if (handler.page) handler.page(std::move(list.items));
    if (list.continue_token.empty()) return Done(std::move(list.resource_version));
    options.continue_token = std::move(list.continue_token);
    // A continued list is of the version that its token names.
    options.resource_version.clear();
    NextPage();
  }

  void Done(StatusOr<std::string> result) {
    // What the handler holds may hold the client.
    const auto done = std::move(handler.done);
    handler = {};
    if (done) done(std::move(result));
  }
};

Status CheckReadable(const FileOrData& value, const char* field) {
  if (!value.data.empty() || value.file.empty()) return OkStatus();
  if (std::ifstream(value.file).good()) return OkStatus();
  return InvalidArgument("{} cannot be read: {}", field, value.file);
}

Status Check(const Config& config) {
  if (!config.server.starts_with("https://") && !config.server.starts_with("http://")) {
    return InvalidArgument("server is no URL with http:// or https://: \"{}\"", config.server);
  }
  PACELINE_RETURN_IF_ERROR(CheckReadable(config.certificate_authority, "certificate-authority"));
  PACELINE_RETURN_IF_ERROR(CheckReadable(config.client_certificate, "client-certificate"));
  PACELINE_RETURN_IF_ERROR(CheckReadable(config.client_key, "client-key"));
  if (config.client_certificate.is_empty() != config.client_key.is_empty()) {
    return InvalidArgument("client-certificate and client-key: only one of them is given");
  }
  return OkStatus();
}

}  // namespace

CallHandle::CallHandle(std::weak_ptr<Transport> transport, uint64_t id)
    : transport_(std::move(transport)), id_(id) {}
CallHandle::CallHandle(CallHandle&& other) noexcept
    : transport_(std::move(other.transport_)), id_(std::exchange(other.id_, 0)) {}
CallHandle& CallHandle::operator=(CallHandle&& other) noexcept {
  if (this == &other) return *this;
  Cancel();
  transport_ = std::move(other.transport_);
  id_ = std::exchange(other.id_, 0);
  return *this;
}
CallHandle::~CallHandle() { Cancel(); }

void CallHandle::Cancel() {
  const uint64_t id = std::exchange(id_, 0);
  if (id == 0) return;
  if (const std::shared_ptr<Transport> transport = transport_.lock()) transport->Cancel(id);
}

void CallHandle::Release() { id_ = 0; }

StatusOr<std::unique_ptr<Client>> Client::Create(Config config, ClientOptions options) {
  PACELINE_RETURN_IF_ERROR(Check(config));
  return std::unique_ptr<Client>(
      new Client(std::make_shared<Transport>(std::move(config), std::move(options))));
}

Client::Client(std::shared_ptr<Transport> transport) : transport_(std::move(transport)) {}

Client::~Client() { transport_->Shutdown(); }

StatusOr<Response> Client::CallRaw(Request request) {
  PACELINE_CHECK(!loop().IsLoopThread(), "{} {} would wait for itself", request.method,
                 request.path);
  std::promise<StatusOr<Response>> promise;
  transport_->StartCall(std::move(request), [&](StatusOr<Response> response) {
    promise.set_value(std::move(response));
  });
  return promise.get_future().get();
}

void Client::StartRaw(Request request, std::function<void(StatusOr<Response>)> done) {
  transport_->StartCall(std::move(request), std::move(done));
}

StatusOr<Json> Client::Call(Request request) {
  const Answer answer = request.answer;
  return ReadAnswer(CallRaw(std::move(request)), answer);  // Parsed on the caller's thread.
}

std::vector<StatusOr<Json>> Client::CallAll(std::vector<Request> requests) {
  PACELINE_CHECK(!loop().IsLoopThread(), "{} calls would wait for themselves", requests.size());
  if (requests.empty()) return {};
  // Waits once for all of them: to be woken for each costs as much as some answers do.
  std::vector<StatusOr<Response>> responses(requests.size(), Internal("not answered yet"));
  std::atomic<size_t> missing = requests.size();
  std::promise<void> answered;
  std::vector<Answer> answers;
  for (size_t i = 0; i < requests.size(); ++i) {
    answers.push_back(requests[i].answer);
    transport_->StartCall(std::move(requests[i]), [&, i](StatusOr<Response> response) {
      responses[i] = std::move(response);
      if (--missing == 0) answered.set_value();
    });
  }
  answered.get_future().wait();
  std::vector<StatusOr<Json>> results;
  for (size_t i = 0; i < responses.size(); ++i) {
    results.push_back(ReadAnswer(std::move(responses[i]), answers[i]));
  }
  return results;
}

void Client::Start(Request request, std::function<void(StatusOr<Json>)> done) {
  const Answer answer = request.answer;
  transport_->StartCall(std::move(request),
                        [done = std::move(done), answer](StatusOr<Response> response) {
                          done(ReadAnswer(std::move(response), answer));
                        });
}

void Client::StartList(const Resource& resource, ListOptions options, ListHandler handler) {
  auto listing = std::make_shared<Listing>();
  listing->transport = transport_;
  listing->resource = resource;
  listing->options = std::move(options);
  listing->handler = std::move(handler);
  listing->NextPage();
}

StatusOr<ObjectList> Client::ListAll(const Resource& resource, ListOptions options) {
  PACELINE_CHECK(!loop().IsLoopThread(), "a list of {} would wait for itself", resource.plural);
  ObjectList all;
  std::promise<StatusOr<std::string>> promise;
  StartList(
      resource, std::move(options),
      {.page =
           [&](std::vector<Json> items) {
             std::move(items.begin(), items.end(), std::back_inserter(all.items));
           },
       .restart = [&] { all.items.clear(); },
       .done = [&](StatusOr<std::string> version) { promise.set_value(std::move(version)); }});
  PACELINE_ASSIGN_OR_RETURN(all.resource_version, promise.get_future().get());
  return all;
}

CallHandle Client::StartWatch(const Resource& resource, WatchOptions options,
                              WatchHandler handler) {
  // An error in the stream ends it: the first one counts, not the cancellation that follows.
  struct Following {
    WatchParser parser;
    std::function<void(Status)> end;
    std::weak_ptr<Transport> transport;
    uint64_t id = 0;
    Status status;
  };
  auto following = std::make_shared<Following>(
      Following{WatchParser(options.selection, std::move(handler.event)), std::move(handler.end),
                transport_});
  const Request request = Watch(resource, options);
  const auto start = [&] {
    following->id = transport_->StartStream(
        request, transport_->options().watch_idle_timeout,
        [following](std::string_view bytes) {
          if (!following->status.ok()) return;
          following->status = following->parser.Feed(bytes);
          if (following->status.ok()) return;
          if (const auto transport = following->transport.lock()) transport->Cancel(following->id);
        },
        [following](Status status) {
          const auto end = std::move(following->end);
          if (end) end(following->status.ok() ? status : following->status);
        });
  };
  // On the loop, so that no byte arrives before `id` is set. A stopped loop calls `end` itself.
  if (!transport_->loop().RunAndWait(start)) start();
  return {transport_, following->id};
}

CallHandle Client::StartStream(Request request, std::function<void(std::string_view)> bytes,
                               std::function<void(Status)> end) {
  return {transport_, transport_->StartStream(std::move(request), std::nullopt, std::move(bytes),
                                              std::move(end))};
}

CallHandle Client::StartElsewhere(Config server, Request request, size_t body_max,
                                  std::function<void(StatusOr<Response>)> done) {
  return {transport_, transport_->StartElsewhere(std::move(server), std::move(request), body_max,
                                                 std::move(done))};
}

EventLoop& Client::loop() { return transport_->loop(); }
const Config& Client::config() const { return transport_->config(); }

}  // namespace paceline::kube

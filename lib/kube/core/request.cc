#include "lib/kube/core/request.h"

#include "lib/kube/core/metadata.h"

namespace paceline::kube {
namespace {

std::string ResourceName(const Resource& resource, std::string_view subresource) {
  return subresource.empty() ? resource.plural : fmt::format("{}/{}", resource.plural, subresource);
}

void AddIfSet(Request& request, const char* name, const std::string& value) {
  if (!value.empty()) request.query.emplace_back(name, value);
}

constexpr char kMetadataList[] =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
constexpr char kMetadata[] =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

Request Write(const char* method, const char* verb, const Resource& resource,
              const WriteOptions& options) {
  Request request{.method = method,
                  .content_type = "application/json",
                  .verb = verb,
                  .resource = ResourceName(resource, options.subresource),
                  .answer = options.answer};
  // An answer that nobody reads may as well be short.
  if (options.answer == Answer::kNothing) request.accept = kMetadata;
  AddIfSet(request, "fieldManager", options.field_manager);
  if (options.dry_run) request.query.emplace_back("dryRun", "All");
  if (options.is_strict) request.query.emplace_back("fieldValidation", "Strict");
  return request;
}

std::string DeleteBody(const DeleteOptions& options) {
  Json body = {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  if (!options.uid.empty()) body["preconditions"]["uid"] = options.uid;
  if (!options.resource_version.empty()) {
    body["preconditions"]["resourceVersion"] = options.resource_version;
  }
  switch (options.propagation) {
    case Propagation::kBackground:
      body["propagationPolicy"] = "Background";
      break;
    case Propagation::kForeground:
      body["propagationPolicy"] = "Foreground";
      break;
    case Propagation::kOrphan:
      body["propagationPolicy"] = "Orphan";
      break;
    case Propagation::kDefault:
      break;
  }
  if (options.grace_period_seconds) body["gracePeriodSeconds"] = *options.grace_period_seconds;
  if (options.dry_run) body["dryRun"] = Json::array({"All"});
  return WriteJson(body);
}

}  // namespace

Request Get(const Resource& resource, const ObjectKey& key, std::string_view subresource) {
  return {.path = resource.Path(key, subresource),
          .verb = "get",
          .resource = ResourceName(resource, subresource),
          .is_repeatable = true};
}

Request GetMetadata(const Resource& resource, const ObjectKey& key) {
  Request request = Get(resource, key);
  request.accept = kMetadata;
  return request;
}

Request List(const Resource& resource, const ListOptions& options) {
  Request request{.path = resource.CollectionPath(options.name_space),
                  .verb = "list",
                  .resource = resource.plural,
                  .is_repeatable = true};
  AddIfSet(request, "labelSelector", options.label_selector);
  AddIfSet(request, "fieldSelector", options.field_selector);
  if (options.limit > 0) request.query.emplace_back("limit", std::to_string(options.limit));
  AddIfSet(request, "continue", options.continue_token);
  AddIfSet(request, "resourceVersion", options.resource_version);
  if (options.extent == Extent::kMetadata) request.accept = kMetadataList;
  return request;
}

Request Watch(const Resource& resource, const WatchOptions& options) {
  Request request{.path = resource.CollectionPath(options.name_space),
                  .verb = "watch",
                  .resource = resource.plural};
  request.query = {{"watch", "true"}, {"allowWatchBookmarks", "true"}};
  AddIfSet(request, "labelSelector", options.label_selector);
  AddIfSet(request, "fieldSelector", options.field_selector);
  AddIfSet(request, "resourceVersion", options.resource_version);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(options.timeout).count();
  request.query.emplace_back("timeoutSeconds", std::to_string(seconds));
  if (options.extent == Extent::kMetadata) request.accept = kMetadata;
  return request;
}

Request Create(const Resource& resource, const Json& object, const WriteOptions& options) {
  Request request = Write("POST", "create", resource, options);
  request.path = options.subresource.empty() ? resource.CollectionPath(Namespace(object))
                                             : resource.Path(KeyOf(object), options.subresource);
  request.body = WriteJson(object);
  return request;
}

Request Update(const Resource& resource, const Json& object, const WriteOptions& options) {
  Request request = Write("PUT", "update", resource, options);
  request.path = resource.Path(KeyOf(object), options.subresource);
  request.body = WriteJson(object);
  request.is_repeatable = true;
  return request;
}

Request MergePatch(const Resource& resource, const ObjectKey& key, const Json& patch,
                   const WriteOptions& options) {
  Request request = Write("PATCH", "patch", resource, options);
  request.path = resource.Path(key, options.subresource);
  request.content_type = "application/merge-patch+json";
  request.body = WriteJson(patch);
  request.is_repeatable = true;
  return request;
}

Request Apply(const Resource& resource, Json object, const WriteOptions& options) {
  Request request = Write("PATCH", "apply", resource, options);
  request.path = resource.Path(KeyOf(object), options.subresource);
  request.content_type = "application/apply-patch+yaml";
  if (options.force) request.query.emplace_back("force", "true");
  object["apiVersion"] = resource.api_version();
  object["kind"] = resource.kind;
  request.body = WriteJson(object);
  request.is_repeatable = true;
  return request;
}

Request Delete(const Resource& resource, const ObjectKey& key, const DeleteOptions& options) {
  return {.method = "DELETE",
          .path = resource.Path(key),
          .body = DeleteBody(options),
          .content_type = "application/json",
          .verb = "delete",
          .resource = resource.plural,
          .is_repeatable = true};
}

Request DeleteCollection(const Resource& resource, const std::string& name_space,
                         const std::string& label_selector, const DeleteOptions& options) {
  Request request{.method = "DELETE",
                  .path = resource.CollectionPath(name_space),
                  .body = DeleteBody(options),
                  .content_type = "application/json",
                  .verb = "deletecollection",
                  .resource = resource.plural,
                  .is_repeatable = true};
  AddIfSet(request, "labelSelector", label_selector);
  return request;
}

std::string Target(const Request& request) {
  std::string target = request.path;
  char separator = '?';
  for (const auto& [name, value] : request.query) {
    target += separator + EncodeUrl(name) + "=" + EncodeUrl(value);
    separator = '&';
  }
  return target;
}

}  // namespace paceline::kube

// Defines Resource, a kind of object and where the API serves it.
//
// Example:
//   const Resource widgets{.group = "example.com", .version = "v1", .kind = "Widget",
//                          .plural = "widgets"};
//   widgets.Path({"team-a", "w"}, "status")
//       // "/apis/example.com/v1/namespaces/team-a/widgets/w/status"
//   Pods().api_version()   // "v1"
#pragma once

#include <string>
#include <string_view>

#include "lib/base/status.h"
#include "lib/kube/core/json.h"
#include "lib/kube/core/object_key.h"

namespace paceline::kube {

struct GroupVersionKind {
  std::string group;  // Empty for the core group.
  std::string version;
  std::string kind;

  std::string api_version() const;  // "apps/v1"; "v1" for the core group.
  friend auto operator<=>(const GroupVersionKind&, const GroupVersionKind&) = default;
};

enum class Scope { kNamespaced, kCluster };

struct Resource {
  std::string group;  // Empty for the core group.
  std::string version;
  std::string kind;    // "Pod"
  std::string plural;  // "pods"
  Scope scope = Scope::kNamespaced;

  std::string api_version() const;
  GroupVersionKind gvk() const { return {group, version, kind}; }

  // Of the collection; an empty namespace means all of them.
  std::string CollectionPath(std::string_view name_space) const;
  // Of one object, or of its subresource ("status", "scale").
  std::string Path(const ObjectKey& key, std::string_view subresource = "") const;

  friend auto operator<=>(const Resource&, const Resource&) = default;
};

// "apps/v1" and "Deployment". InvalidArgument for an api_version of another shape.
StatusOr<GroupVersionKind> ParseGroupVersionKind(std::string_view api_version,
                                                 std::string_view kind);

// A part of a path or a query value, percent-encoded.
std::string EncodeUrl(std::string_view text);

// What most programs need.
Resource Pods();
Resource Services();
Resource ConfigMaps();
Resource Secrets();
Resource Namespaces();
Resource Nodes();
Resource PersistentVolumeClaims();
Resource ServiceAccounts();
Resource Deployments();
Resource Jobs();
Resource Leases();
Resource Events();  // events.k8s.io/v1
Resource NetworkPolicies();
Resource PodDisruptionBudgets();
Resource CustomResourceDefinitions();
Resource Roles();
Resource RoleBindings();
Resource ClusterRoles();
Resource ClusterRoleBindings();

}  // namespace paceline::kube

#include "lib/kube/core/resource.h"

namespace paceline::kube {
namespace {

std::string ApiVersion(const std::string& group, const std::string& version) {
  return group.empty() ? version : group + "/" + version;
}

bool IsUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

}  // namespace

std::string GroupVersionKind::api_version() const { return ApiVersion(group, version); }

std::string Resource::api_version() const { return ApiVersion(group, version); }

std::string Resource::CollectionPath(std::string_view name_space) const {
  std::string path = group.empty() ? "/api/" + version : "/apis/" + group + "/" + version;
  if (scope == Scope::kNamespaced && !name_space.empty()) {
    path += "/namespaces/" + EncodeUrl(name_space);
  }
  return path + "/" + plural;
}

std::string Resource::Path(const ObjectKey& key, std::string_view subresource) const {
  std::string path = CollectionPath(key.name_space) + "/" + EncodeUrl(key.name);
  if (!subresource.empty()) path.append("/").append(subresource);
  return path;
}

StatusOr<GroupVersionKind> ParseGroupVersionKind(std::string_view api_version,
                                                 std::string_view kind) {
  const size_t slash = api_version.find('/');
  if (api_version.empty() || slash == 0 || slash + 1 == api_version.size() ||
      (slash != std::string_view::npos && api_version.find('/', slash + 1) != slash &&
       api_version.find('/', slash + 1) != std::string_view::npos)) {
    return InvalidArgument("apiVersion is not group/version or version: \"{}\"", api_version);
  }
  if (kind.empty()) return InvalidArgument("kind is empty");
  if (slash == std::string_view::npos) {
    return GroupVersionKind{"", std::string(api_version), std::string(kind)};
  }
  return GroupVersionKind{std::string(api_version.substr(0, slash)),
                          std::string(api_version.substr(slash + 1)), std::string(kind)};
}

std::string EncodeUrl(std::string_view text) {
  std::string encoded;
  for (char c : text) {
    if (IsUnreserved(c)) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

Resource Pods() { return {"", "v1", "Pod", "pods"}; }
Resource Services() { return {"", "v1", "Service", "services"}; }
Resource ConfigMaps() { return {"", "v1", "ConfigMap", "configmaps"}; }
Resource Secrets() { return {"", "v1", "Secret", "secrets"}; }
Resource Namespaces() { return {"", "v1", "Namespace", "namespaces", Scope::kCluster}; }
Resource Nodes() { return {"", "v1", "Node", "nodes", Scope::kCluster}; }
Resource PersistentVolumeClaims() {
  return {"", "v1", "PersistentVolumeClaim", "persistentvolumeclaims"};
}
Resource ServiceAccounts() { return {"", "v1", "ServiceAccount", "serviceaccounts"}; }
Resource Deployments() { return {"apps", "v1", "Deployment", "deployments"}; }
Resource Jobs() { return {"batch", "v1", "Job", "jobs"}; }
Resource Leases() { return {"coordination.k8s.io", "v1", "Lease", "leases"}; }
Resource Events() { return {"events.k8s.io", "v1", "Event", "events"}; }
Resource NetworkPolicies() {
  return {"networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies"};
}
Resource PodDisruptionBudgets() {
  return {"policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"};
}
Resource CustomResourceDefinitions() {
  return {"apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions",
          Scope::kCluster};
}
Resource Roles() { return {"rbac.authorization.k8s.io", "v1", "Role", "roles"}; }
Resource RoleBindings() {
  return {"rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings"};
}
Resource ClusterRoles() {
  return {"rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", Scope::kCluster};
}
Resource ClusterRoleBindings() {
  return {"rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings",
          Scope::kCluster};
}

}  // namespace paceline::kube

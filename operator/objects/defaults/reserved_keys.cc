#include "operator/objects/defaults/reserved_keys.h"

#include <algorithm>

namespace paceline::controller {
namespace {

// Each with whatever is below it, as app.argoproj.io is below argoproj.io.
constexpr std::string_view kOurDomains[] = {"paceline.dev"};
constexpr std::string_view kTrackedDomains[] = {"argocd.argoproj.io", "applyset.kubernetes.io",
                                                "toolkit.fluxcd.io",  "kapp.k14s.io",
                                                "fleet.cattle.io",    "objectset.rio.cattle.io"};
constexpr std::string_view kOurKeys[] = {
    "app.kubernetes.io/name",       "app.kubernetes.io/instance",  "app.kubernetes.io/part-of",
    "app.kubernetes.io/managed-by", "app.kubernetes.io/component", "scheduling.x-k8s.io/pod-group",
    "scheduling.k8s.io/group-name", "volcano.sh/task-spec"};
constexpr std::string_view kTrackedKeys[] = {"meta.helm.sh/release-name",
                                             "meta.helm.sh/release-namespace"};

bool IsOf(std::string_view domain, std::string_view key) {
  const std::string_view of_key = key.substr(0, key.find('/'));
  if (of_key.size() == key.size()) return false;  // It has none.
  return of_key == domain ||
         (of_key.ends_with(domain) && of_key[of_key.size() - domain.size() - 1] == '.');
}

}  // namespace

std::string WhyReserved(std::string_view key) {
  const auto is_of = [&](std::string_view domain) { return IsOf(domain, key); };
  if (std::ranges::any_of(kOurDomains, is_of) ||
      std::ranges::find(kOurKeys, key) != std::end(kOurKeys))
    return "must not be set, Paceline does";
  if (key == "kueue.x-k8s.io/pod-group-name")
    return "must not be set, Kueue keeps the names of a group's lost pods";
  if (std::ranges::any_of(kTrackedDomains, is_of) ||
      std::ranges::find(kTrackedKeys, key) != std::end(kTrackedKeys))
    return "must not be set, a tool that deploys from a repository deletes what carries it";
  return "";
}

}  // namespace paceline::controller

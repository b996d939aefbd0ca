#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "lib/kube/testing/api_server.h"

namespace paceline::kube::testing {
namespace {

namespace fs = std::filesystem;

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool HoldsBoth(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "kube-apiserver", ignored) && fs::exists(folder / "etcd", ignored);
}

fs::path Cache() {
  const std::string cache = FromEnvironment("XDG_CACHE_HOME");
  const fs::path base =
      cache.empty() ? fs::path(FromEnvironment("HOME")) / ".cache" : fs::path(cache);
  return base / "paceline" / "cluster";
}

// The newest "bin" folder of the cache for which `is_right`; empty if there is none.
std::string NewestFolder(const std::function<bool(const fs::path&)>& is_right) {
  std::string newest;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(Cache(), ignored)) {
    const std::string folder = (entry.path() / "bin").string();
    if (is_right(folder) && folder > newest) newest = folder;
  }
  return newest;
}

}  // namespace

StatusOr<std::string> FindBinaries() {
  if (const std::string assets = FromEnvironment("KUBEBUILDER_ASSETS"); !assets.empty()) {
    if (HoldsBoth(assets)) return assets;
    return NotFound("KUBEBUILDER_ASSETS holds no kube-apiserver and etcd: {}", assets);
  }
  const std::string newest = NewestFolder(HoldsBoth);
  if (!newest.empty()) return newest;
  return NotFound("no kube-apiserver and etcd: KUBEBUILDER_ASSETS is not set, and nothing is in {}",
                  Cache().string());
}

StatusOr<std::string> FindProgram(const std::string& name) {
  const auto holds_it = [&](const fs::path& folder) {
    std::error_code ignored;
    return fs::exists(folder / name, ignored);
  };
  const std::string assets = FromEnvironment("KUBEBUILDER_ASSETS");
  const std::string folder = !assets.empty() && holds_it(assets) ? assets : NewestFolder(holds_it);
  if (!folder.empty()) return folder + "/" + name;
  return NotFound("no program {} in {}: tests/cluster/cluster build {}", name, Cache().string(),
                  name);
}

bool MaySkip(const Status& status) {
  return status.code() == StatusCode::kNotFound &&
         FromEnvironment("PACELINE_REQUIRE_CLUSTER") != "1";
}

}  // namespace paceline::kube::testing

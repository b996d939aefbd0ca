#include <cstdlib>
#include <filesystem>
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

}  // namespace

StatusOr<std::string> FindBinaries() {
  if (const std::string assets = FromEnvironment("KUBEBUILDER_ASSETS"); !assets.empty()) {
    if (HoldsBoth(assets)) return assets;
    return NotFound("KUBEBUILDER_ASSETS holds no kube-apiserver and etcd: {}", assets);
  }
  std::string newest;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(Cache(), ignored)) {
    const std::string folder = (entry.path() / "bin").string();
    if (HoldsBoth(folder) && folder > newest) newest = folder;
  }
  if (!newest.empty()) return newest;
  return NotFound("no kube-apiserver and etcd: KUBEBUILDER_ASSETS is not set, and nothing is in {}",
                  Cache().string());
}

bool MaySkip(const Status& status) {
  return status.code() == StatusCode::kNotFound &&
         FromEnvironment("PACELINE_REQUIRE_CLUSTER") != "1";
}

}  // namespace paceline::kube::testing

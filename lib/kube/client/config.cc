#include "lib/kube/client/config.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace paceline::kube {
namespace {

std::string ReadEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool Exists(const std::string& path) {
  std::error_code ignored;
  return !path.empty() && std::filesystem::exists(path, ignored);
}

}  // namespace

ConfigSource ConfigSource::FromEnvironment() {
  ConfigSource source;
  source.kubeconfig = ReadEnvironment("KUBECONFIG");
  const std::string home = ReadEnvironment("HOME");
  if (!home.empty()) source.default_kubeconfig = home + "/.kube/config";
  source.service_host = ReadEnvironment("KUBERNETES_SERVICE_HOST");
  source.service_port = ReadEnvironment("KUBERNETES_SERVICE_PORT");
  return source;
}

StatusOr<Config> InClusterConfig(const ConfigSource& source) {
  const std::string& folder = source.service_account_folder;
  if (source.service_host.empty() || source.service_port.empty()) {
    return FailedPrecondition("not in a pod: KUBERNETES_SERVICE_HOST or _PORT is not set");
  }
  if (!Exists(folder + "/token")) {
    return FailedPrecondition("the pod has no service-account token: {}/token", folder);
  }
  const std::string& host = source.service_host;
  const bool is_ipv6 = host.find(':') != std::string::npos;
  Config config;
  config.server =
      fmt::format("https://{}:{}", is_ipv6 ? "[" + host + "]" : host, source.service_port);
  config.token.file = folder + "/token";
  config.certificate_authority.file = folder + "/ca.crt";
  std::string name_space;
  std::ifstream(folder + "/namespace") >> name_space;
  if (!name_space.empty()) config.name_space = name_space;
  return config;
}

StatusOr<Config> LoadConfig(const ConfigSource& source) {
  if (!source.kubeconfig.empty()) return LoadKubeconfig(source.kubeconfig, source.context);
  StatusOr<Config> in_cluster = InClusterConfig(source);
  if (in_cluster.ok()) return in_cluster;
  if (Exists(source.default_kubeconfig)) {
    return LoadKubeconfig(source.default_kubeconfig, source.context);
  }
  return NotFound("no way to a cluster: KUBECONFIG is not set, {}, and there is no {}",
                  Message(in_cluster.status()),
                  source.default_kubeconfig.empty() ? "home folder" : source.default_kubeconfig);
}

}  // namespace paceline::kube

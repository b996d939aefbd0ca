// Defines Config: which API server, and as whom.
//
// Example:
//   PACELINE_ASSIGN_OR_RETURN(Config config, LoadConfig(ConfigSource::FromEnvironment()));
//   config.impersonate.user = "jane";
//   PACELINE_ASSIGN_OR_RETURN(auto client, Client::Create(std::move(config)));
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/status.h"
#include "lib/base/time.h"

namespace paceline::kube {

// A file, read again whenever it is needed, or the bytes themselves; empty if neither is set.
struct FileOrData {
  std::string file;
  std::string data;
  bool is_empty() const { return file.empty() && data.empty(); }
};

// A program that prints credentials: client.authentication.k8s.io/v1 (or v1beta1).
struct ExecPlugin {
  std::string command;  // Empty: none. With a / relative paths start at the kubeconfig's folder.
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;  // On top of ours.
  std::string api_version = "client.authentication.k8s.io/v1";
  std::string install_hint;           // Told where the program is missing.
  bool provide_cluster_info = false;  // KUBERNETES_EXEC_INFO then describes the cluster.
  bool needs_terminal = false;        // interactiveMode Always: cannot be used by this library.
  Duration timeout = Seconds(60);
};

struct Impersonation {
  std::string user;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
};

struct Config {
  std::string server;  // "https://10.0.0.1:6443"
  std::string name_space = "default";

  FileOrData certificate_authority;  // Empty: the system's.
  bool insecure_skip_tls_verify = false;
  std::string tls_server_name;  // Expected in the certificate instead of the host.
  std::string proxy_url;        // Empty: HTTPS_PROXY, HTTP_PROXY and NO_PROXY decide.
  bool is_direct = false;       // No proxy, whatever those say.

  FileOrData client_certificate;
  FileOrData client_key;
  FileOrData token;  // A file is read again every minute, and after a 401.
  std::string username, password;
  ExecPlugin exec;
  Impersonation impersonate;
};

// What decides where a Config comes from, so that only FromEnvironment reads the environment.
struct ConfigSource {
  std::string kubeconfig;  // Paths joined by ':'; those that do not exist are skipped if one does.
  std::string default_kubeconfig;  // Tried last, outside of pods.
  std::string context;             // Empty: the current one.
  // In a pod: where the API server is, and the folder of the service account.
  std::string service_host, service_port;
  std::string service_account_folder = "/var/run/secrets/kubernetes.io/serviceaccount";

  // KUBECONFIG; ~/.kube/config; KUBERNETES_SERVICE_HOST and _PORT.
  static ConfigSource FromEnvironment();
};

// The kubeconfig if one is named, else the pod's, else the default one. NotFound tells all that was
// tried.
StatusOr<Config> LoadConfig(const ConfigSource& source);

// Merges the files as kubectl does (the first to name something wins; paths are relative to their
// file). NotFound naming the file or context; InvalidArgument naming the file and what is wrong.
StatusOr<Config> LoadKubeconfig(const std::string& paths, const std::string& context = "");
// The same from the text of one file; `folder` is where its relative paths start.
StatusOr<Config> ParseKubeconfig(const std::string& text, const std::string& folder,
                                 const std::string& context = "");

// Of the service account whose pod we are. FailedPrecondition if this is no pod.
StatusOr<Config> InClusterConfig(const ConfigSource& source);

}  // namespace paceline::kube

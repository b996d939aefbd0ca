#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include <yaml-cpp/yaml.h>

#include "lib/base/base64.h"
#include "lib/kube/client/config.h"

namespace paceline::kube {
namespace {

namespace fs = std::filesystem;

// A file of the list, and where its relative paths start.
struct Source {
  std::string name;  // For messages.
  std::string folder;
  YAML::Node root;
};

// A named entry and the file that it is of.
struct Entry {
  YAML::Node value;  // Null: none.
  const Source* source = nullptr;
  std::string path;  // For messages: "users[jane]"
};

std::string Text(const YAML::Node& node, const char* field) {
  if (!node.IsMap() || !node[field] || !node[field].IsScalar()) return "";
  return node[field].Scalar();
}

bool IsTrue(const YAML::Node& node, const char* field) { return Text(node, field) == "true"; }

// The first file to name it wins.
Entry FindEntry(const std::vector<Source>& sources, const char* list, const char* field,
                const std::string& name) {
  for (const Source& source : sources) {
    if (!source.root.IsMap() || !source.root[list] || !source.root[list].IsSequence()) continue;
    for (const YAML::Node& entry : source.root[list]) {
      if (Text(entry, "name") != name || !entry[field]) continue;
      return {entry[field], &source, fmt::format("{}: {}[{}]", source.name, list, name)};
    }
  }
  return {};
}

std::string Names(const std::vector<Source>& sources, const char* list) {
  std::string names;
  for (const Source& source : sources) {
    if (!source.root.IsMap() || !source.root[list] || !source.root[list].IsSequence()) continue;
    for (const YAML::Node& entry : source.root[list]) names += " " + Text(entry, "name");
  }
  return names.empty() ? " none" : names;
}

std::string Absolute(const std::string& path, const std::string& folder) {
  if (path.empty() || fs::path(path).is_absolute()) return path;
  return (fs::path(folder) / path).lexically_normal().string();
}

// "<field>-data" in base64 wins over "<field>", a path.
StatusOr<FileOrData> ReadFileOrData(const Entry& entry, const std::string& field) {
  FileOrData result;
  const std::string encoded = Text(entry.value, (field + "-data").c_str());
  if (!encoded.empty()) {
    std::optional<std::string> bytes = DecodeBase64(encoded);
    if (!bytes) return InvalidArgument("{}.{}-data is not base64", entry.path, field);
    result.data = *std::move(bytes);
    return result;
  }
  result.file = Absolute(Text(entry.value, field.c_str()), entry.source->folder);
  return result;
}

StatusOr<ExecPlugin> ReadExec(const Entry& user) {
  const YAML::Node node = user.value["exec"];
  ExecPlugin plugin{.command = Text(node, "command"),
                    .api_version = Text(node, "apiVersion"),
                    .install_hint = Text(node, "installHint"),
                    .provide_cluster_info = IsTrue(node, "provideClusterInfo"),
                    .needs_terminal = Text(node, "interactiveMode") == "Always"};
  if (plugin.command.empty()) return InvalidArgument("{}.exec.command is missing", user.path);
  if (plugin.api_version != "client.authentication.k8s.io/v1" &&
      plugin.api_version != "client.authentication.k8s.io/v1beta1") {
    return InvalidArgument(
        "{}.exec.apiVersion is \"{}\", want client.authentication.k8s.io/v1 or v1beta1", user.path,
        plugin.api_version);
  }
  if (plugin.command.find('/') != std::string::npos) {
    plugin.command = Absolute(plugin.command, user.source->folder);
  }
  if (node["args"] && node["args"].IsSequence()) {
    for (const YAML::Node& argument : node["args"]) {
      if (argument.IsScalar()) plugin.arguments.push_back(argument.Scalar());
    }
  }
  if (node["env"] && node["env"].IsSequence()) {
    for (const YAML::Node& variable : node["env"]) {
      plugin.environment.emplace_back(Text(variable, "name"), Text(variable, "value"));
    }
  }
  return plugin;
}

void ReadImpersonation(const YAML::Node& user, Impersonation& as) {
  as.user = Text(user, "as");
  as.uid = Text(user, "as-uid");
  if (user["as-groups"] && user["as-groups"].IsSequence()) {
    for (const YAML::Node& group : user["as-groups"]) as.groups.push_back(group.Scalar());
  }
  if (user["as-user-extra"] && user["as-user-extra"].IsMap()) {
    for (const auto& entry : user["as-user-extra"]) {
      for (const YAML::Node& value : entry.second) {
        as.extra[entry.first.Scalar()].push_back(value.Scalar());
      }
    }
  }
}

Status ReadCluster(const Entry& cluster, Config& config) {
  config.server = Text(cluster.value, "server");
  if (config.server.empty()) return InvalidArgument("{}.server is missing", cluster.path);
  config.insecure_skip_tls_verify = IsTrue(cluster.value, "insecure-skip-tls-verify");
  config.tls_server_name = Text(cluster.value, "tls-server-name");
  config.proxy_url = Text(cluster.value, "proxy-url");
  PACELINE_ASSIGN_OR_RETURN(config.certificate_authority,
                            ReadFileOrData(cluster, "certificate-authority"));
  return OkStatus();
}

Status ReadUser(const Entry& user, Config& config) {
  if (!user.value.IsMap()) return OkStatus();  // Anonymous.
  PACELINE_ASSIGN_OR_RETURN(config.client_certificate, ReadFileOrData(user, "client-certificate"));
  PACELINE_ASSIGN_OR_RETURN(config.client_key, ReadFileOrData(user, "client-key"));
  config.token.file = Absolute(Text(user.value, "tokenFile"), user.source->folder);
  if (config.token.file.empty()) config.token.data = Text(user.value, "token");
  config.username = Text(user.value, "username");
  config.password = Text(user.value, "password");
  ReadImpersonation(user.value, config.impersonate);
  if (user.value["exec"]) {
    PACELINE_ASSIGN_OR_RETURN(config.exec, ReadExec(user));
  }
  if (const YAML::Node provider = user.value["auth-provider"]; provider) {
    // Its token is used as long as it is good; only exec plugins can renew.
    const std::string token =
        provider.IsMap() && provider["config"] ? Text(provider["config"], "id-token") : "";
    if (token.empty()) {
      return InvalidArgument("{}.auth-provider {} has no id-token; use an exec plugin", user.path,
                             Text(provider, "name"));
    }
    config.token.data = token;
  }
  return OkStatus();
}

StatusOr<Config> Resolve(const std::vector<Source>& sources, std::string context_name) {
  for (const Source& source : sources) {
    if (context_name.empty()) context_name = Text(source.root, "current-context");
  }
  if (context_name.empty()) {
    return InvalidArgument("{}: no current-context; contexts:{}", sources.front().name,
                           Names(sources, "contexts"));
  }
  const Entry context = FindEntry(sources, "contexts", "context", context_name);
  if (context.source == nullptr) {
    return NotFound("{}: no context {}; contexts:{}", sources.front().name, context_name,
                    Names(sources, "contexts"));
  }
  const std::string cluster_name = Text(context.value, "cluster");
  const std::string user_name = Text(context.value, "user");
  const Entry cluster = FindEntry(sources, "clusters", "cluster", cluster_name);
  if (cluster.source == nullptr) {
    return NotFound("{}.cluster: no cluster \"{}\"; clusters:{}", context.path, cluster_name,
                    Names(sources, "clusters"));
  }
  Config config;
  PACELINE_RETURN_IF_ERROR(ReadCluster(cluster, config));
  if (const std::string name_space = Text(context.value, "namespace"); !name_space.empty()) {
    config.name_space = name_space;
  }
  if (!user_name.empty()) {
    const Entry user = FindEntry(sources, "users", "user", user_name);
    if (user.source == nullptr) {
      return NotFound("{}.user: no user \"{}\"; users:{}", context.path, user_name,
                      Names(sources, "users"));
    }
    PACELINE_RETURN_IF_ERROR(ReadUser(user, config));
  }
  return config;
}

StatusOr<YAML::Node> Parse(const std::string& text, const std::string& name) {
  try {
    YAML::Node root = YAML::Load(text);
    if (root.IsMap() || root.IsNull()) return root;
    return InvalidArgument("{}: not a kubeconfig", name);
  } catch (const YAML::Exception& error) {
    return InvalidArgument("{}: {}", name, error.what());
  }
}

StatusOr<Config> ResolveChecked(const std::vector<Source>& sources, const std::string& context) {
  try {
    return Resolve(sources, context);
  } catch (const YAML::Exception& error) {
    return InvalidArgument("{}: {}", sources.front().name, error.what());
  }
}

}  // namespace

StatusOr<Config> LoadKubeconfig(const std::string& paths, const std::string& context) {
  std::vector<Source> sources;
  std::istringstream list(paths);
  for (std::string path; std::getline(list, path, ':');) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored))
      return InvalidArgument("kubeconfig must be a file: got the folder {}", path);
    std::ifstream file(path, std::ios::binary);
    if (path.empty() || !file.good()) continue;
    const std::string text(std::istreambuf_iterator<char>(file), {});
    PACELINE_ASSIGN_OR_RETURN(YAML::Node root, Parse(text, path));
    sources.push_back({path, fs::absolute(path, ignored).parent_path().string(), std::move(root)});
  }
  if (sources.empty()) return NotFound("kubeconfig cannot be read: {}", paths);
  return ResolveChecked(sources, context);
}

StatusOr<Config> ParseKubeconfig(const std::string& text, const std::string& folder,
                                 const std::string& context) {
  PACELINE_ASSIGN_OR_RETURN(YAML::Node root, Parse(text, "kubeconfig"));
  return ResolveChecked({{"kubeconfig", folder, std::move(root)}}, context);
}

}  // namespace paceline::kube

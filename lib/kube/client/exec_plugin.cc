#include "lib/kube/client/exec_plugin.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/base64.h"
#include "lib/base/rfc3339.h"
#include "lib/kube/core/json.h"

extern char** environ;

namespace paceline::kube {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kOutputBytesMax = 1 << 20;
constexpr int kPollMs = 50;

// A pipe's two ends, closed with it.
struct Pipe {
  int read = -1, write = -1;
  bool Open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read = ends[0], write = ends[1];
    return true;
  }
  void CloseWrite() {
    if (write >= 0) close(write);
    write = -1;
  }
  ~Pipe() {
    CloseWrite();
    if (read >= 0) close(read);
  }
};

std::string ExecInfo(const Config& config) {
  Json info = {{"apiVersion", config.exec.api_version},
               {"kind", "ExecCredential"},
               {"spec", {{"interactive", false}}}};
  if (config.exec.provide_cluster_info) {
    Json& cluster = info["spec"]["cluster"];
    cluster["server"] = config.server;
    if (!config.tls_server_name.empty()) cluster["tls-server-name"] = config.tls_server_name;
    if (config.insecure_skip_tls_verify) cluster["insecure-skip-tls-verify"] = true;
    if (!config.certificate_authority.data.empty()) {
      cluster["certificate-authority-data"] = EncodeBase64(config.certificate_authority.data);
    }
  }
  return WriteJson(info);
}

std::vector<std::string> Environment(const Config& config) {
  std::map<std::string, std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) merged[text.substr(0, equals)] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : config.exec.environment) merged[name] = value;
  merged["KUBERNETES_EXEC_INFO"] = ExecInfo(config);
  std::vector<std::string> entries;
  for (const auto& [name, value] : merged) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

StatusOr<pid_t> Spawn(const Config& config, const Pipe& output, const Pipe& errors) {
  const ExecPlugin& plugin = config.exec;
  std::vector<std::string> command = {plugin.command};
  command.insert(command.end(), plugin.arguments.begin(), plugin.arguments.end());
  std::vector<std::string> environment = Environment(config);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.write, 1);
  posix_spawn_file_actions_adddup2(&actions, errors.write, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  // A group of its own, so that what it has started can be killed with it.
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  pid_t pid = -1;
  const int code = posix_spawnp(&pid, plugin.command.c_str(), &actions, &attributes,
                                Pointers(command).data(), Pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (code == 0) return pid;
  return Unauthenticated("credential plugin {} cannot be started: {}{}{}", plugin.command,
                         std::strerror(code), plugin.install_hint.empty() ? "" : "; ",
                         plugin.install_hint);
}

// Takes what is there. False at the end.
bool Take(int descriptor, std::string& text) {
  char chunk[4096];
  const ssize_t n = read(descriptor, chunk, sizeof(chunk));
  if (n > 0 && text.size() < kOutputBytesMax) text.append(chunk, static_cast<size_t>(n));
  return n > 0 || (n < 0 && errno == EINTR);
}

// Reads both pipes to their ends. False if that took too long.
bool Collect(const Pipe& output, const Pipe& errors, std::string& told, std::string& complained,
             Clock::time_point until, const std::atomic<bool>& is_stopping) {
  pollfd waited[2] = {{output.read, POLLIN, 0}, {errors.read, POLLIN, 0}};
  while (waited[0].fd >= 0 || waited[1].fd >= 0) {
    if (is_stopping || Clock::now() > until) return false;
    if (poll(waited, 2, kPollMs) <= 0) continue;
    if (waited[0].revents != 0 && !Take(output.read, told)) waited[0].fd = -1;
    if (waited[1].revents != 0 && !Take(errors.read, complained)) waited[1].fd = -1;
  }
  return true;
}

// Waits for the end of a child, which may have closed its pipes long before. False if that took too
// long.
bool Await(pid_t pid, int& state, Clock::time_point until, const std::atomic<bool>& is_stopping) {
  for (int pause_ms = 1; waitpid(pid, &state, WNOHANG) == 0;
       pause_ms = std::min(2 * pause_ms, kPollMs)) {
    if (is_stopping || Clock::now() > until) return false;
    poll(nullptr, 0, pause_ms);
  }
  return true;
}

}  // namespace

StatusOr<ExecCredential> RunExecPlugin(const Config& config, const std::atomic<bool>& is_stopping) {
  const ExecPlugin& plugin = config.exec;
  if (plugin.needs_terminal) {
    return Unauthenticated("credential plugin {} wants a terminal (interactiveMode Always)",
                           plugin.command);
  }
  Pipe output, errors;
  if (!output.Open() || !errors.Open()) return Unavailable("no pipe: {}", std::strerror(errno));
  PACELINE_ASSIGN_OR_RETURN(const pid_t pid, Spawn(config, output, errors));
  output.CloseWrite();
  errors.CloseWrite();
  std::string told, complained;
  const Clock::time_point until = Clock::now() + plugin.timeout;
  int state = 0;
  const bool has_ended = Collect(output, errors, told, complained, until, is_stopping) &&
                         Await(pid, state, until, is_stopping);
  if (!has_ended) {
    kill(-pid, SIGKILL);
    waitpid(pid, &state, 0);
    if (is_stopping) return Unauthenticated("credential plugin {} was stopped", plugin.command);
    return Unauthenticated("credential plugin {} did not end within {} s, and was killed",
                           plugin.command, ToSeconds(plugin.timeout));
  }
  if (!WIFEXITED(state) || WEXITSTATUS(state) != 0) {
    return Unauthenticated("credential plugin {} failed: {}", plugin.command,
                           complained.substr(0, 1000));
  }
  auto credential = ParseExecCredential(told, plugin.api_version);
  if (credential.ok()) return credential;
  return Unauthenticated("credential plugin {}: {}", plugin.command, Message(credential.status()));
}

StatusOr<ExecCredential> ParseExecCredential(const std::string& output,
                                             const std::string& api_version) {
  PACELINE_ASSIGN_OR_RETURN(const Json json, ParseJson(output));
  if (StringAt(json, "/kind") != "ExecCredential") {
    return InvalidArgument("kind is not ExecCredential: \"{}\"", StringAt(json, "/kind"));
  }
  if (StringAt(json, "/apiVersion") != api_version) {
    return InvalidArgument("apiVersion differs: got {}, want {}", StringAt(json, "/apiVersion"),
                           api_version);
  }
  ExecCredential credential{
      .token = StringAt(json, "/status/token"),
      .client_certificate = StringAt(json, "/status/clientCertificateData"),
      .client_key = StringAt(json, "/status/clientKeyData"),
  };
  if (credential.token.empty() && credential.client_certificate.empty()) {
    return InvalidArgument("status has neither token nor clientCertificateData");
  }
  if (credential.client_certificate.empty() != credential.client_key.empty()) {
    return InvalidArgument("status has only one of clientCertificateData and clientKeyData");
  }
  const std::string expires = StringAt(json, "/status/expirationTimestamp");
  if (!expires.empty()) {
    credential.expires = ParseTime(expires);
    if (!credential.expires) {
      return InvalidArgument("status.expirationTimestamp is no RFC 3339 time: {}", expires);
    }
  }
  return credential;
}

}  // namespace paceline::kube

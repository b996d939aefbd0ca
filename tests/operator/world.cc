#include "tests/operator/world.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/testing/places.h"
#include "lib/kube/client/config.h"
#include "lib/kube/core/api_error.h"

namespace paceline::operator_test {
namespace {

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

World* World::Get() {
  static const StatusOr<kube::testing::ApiServer*> server = kube::testing::ApiServer::Shared();
  if (!server.ok()) {
    if (!kube::testing::MaySkip(server.status())) ADD_FAILURE() << Message(server.status());
    std::cout << "no API server: " << Message(server.status()) << "\n";
    return nullptr;
  }
  static World* const world = new World(*server);
  return world;
}

World::World(kube::testing::ApiServer* server) : server_(server) {
  client_ = *kube::Client::Create(*kube::LoadKubeconfig(server->kubeconfig()));
  Kubectl(fmt::format("apply --server-side -f {0}/deploy/crd -f {0}/deploy/rbac", InSource()));
  Kubectl("wait --for=condition=Established crd/trainingjobs.paceline.dev --timeout=60s");
  operator_kubeconfig_ = TokenKubeconfig("paceline-system");
}

std::string World::TokenKubeconfig(const std::string& home) {
  std::string token =
      Kubectl(fmt::format("create token paceline-operator -n {} --duration=24h", home));
  while (!token.empty() && token.back() == '\n') token.pop_back();
  const std::string path = fmt::format("{}/operator-of-{}.kubeconfig", server_->folder(), home);
  std::ofstream(path) << fmt::format(R"(apiVersion: v1
kind: Config
current-context: test
clusters: [{{name: test, cluster: {{server: "{}", certificate-authority: "{}"}}}}]
users: [{{name: operator, user: {{token: "{}"}}}}]
contexts: [{{name: test, context: {{cluster: test, user: operator}}}}]
)",
                                     server_->url(), server_->ca_file(), token);
  return path;
}

std::string World::ConfinedKubeconfig(const std::string& home, const std::string& name_space) {
  const auto apply = [&](const std::string& manifests, const std::string& flags) {
    testing::Shell(fmt::format("sed s/paceline-system/{}/ {}/deploy/{} | {}", home, InSource(),
                               manifests, KubectlCommand("apply --server-side -f - " + flags)));
  };
  for (const char* const file : {"account", "authority", "leader-election"})
    apply(fmt::format("rbac/{}.yaml", file), "");
  apply("rbac-namespaced/operator.yaml", "-n " + name_space);
  return TokenKubeconfig(home);
}

std::string World::Kubectl(const std::string& arguments) const {
  return testing::Shell(KubectlCommand(arguments));
}

testing::Said World::TryKubectl(const std::string& arguments) const {
  return testing::TryShell(KubectlCommand(arguments));
}

std::string World::KubectlCommand(const std::string& arguments) const {
  return fmt::format("{}/kubectl --kubeconfig {} {}", *kube::testing::FindBinaries(),
                     server_->kubeconfig(), arguments);
}

std::string World::NewNamespace() {
  const std::string name = fmt::format("t{}", ++namespaces_);
  EXPECT_TRUE(client_
                  ->Call(kube::Create(kube::Namespaces(), {{"apiVersion", "v1"},
                                                           {"kind", "Namespace"},
                                                           {"metadata", {{"name", name}}}}))
                  .ok());
  return name;
}

OperatorProcess::OperatorProcess(World& world, const std::vector<std::string>& arguments,
                                 const std::string& kubeconfig) {
  static int count = 0;
  log_path_ = fmt::format("{}/operator-{}.log", world.server().folder(), ++count);
  std::vector<std::string> command = {InBuild("bin/paceline-operator"),
                                      "--kubeconfig",
                                      kubeconfig.empty() ? world.OperatorKubeconfig() : kubeconfig,
                                      "--metrics-address",
                                      "127.0.0.1:0",
                                      "--health-address",
                                      "127.0.0.1:0"};
  const auto says = [&](const std::string& flag) {
    return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& argument) {
      return argument.starts_with(flag + "=");
    });
  };
  if (!says("--ps-image")) command.insert(command.end(), {"--ps-image", "paceline/ps:test"});
  if (!says("--worker-image"))
    command.insert(command.end(), {"--worker-image", "paceline/worker:test"});
  command.insert(command.end(), arguments.begin(), arguments.end());
  pid_ = fork();
  if (pid_ == 0) {
    const int log = open(log_path_.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
    dup2(log, 1);
    dup2(log, 2);
    std::vector<char*> raw;
    for (std::string& argument : command) raw.push_back(argument.data());
    raw.push_back(nullptr);
    execv(raw[0], raw.data());
    _exit(127);
  }
}

OperatorProcess::~OperatorProcess() {
  if (pid_ > 0) {
    kill(pid_, SIGTERM);
    if (const std::optional<int> code = WaitForEnd(20)) {
      EXPECT_EQ(*code, 0) << "the operator's exit code";  // Sanitizers speak through it, too.
    } else {
      ADD_FAILURE() << "the operator does not end";
      kill(pid_, SIGKILL);
      WaitForEnd(20);
    }
  }
  if (::testing::Test::HasFailure()) std::cout << "--- operator's log\n" << Log() << "---\n";
}

void OperatorProcess::Signal(int number) {
  if (pid_ > 0) kill(pid_, number);
}

std::optional<int> OperatorProcess::WaitForEnd(double timeout_seconds) {
  std::optional<int> code;
  Eventually(
      [&] {
        int status = 0;
        if (pid_ > 0 && waitpid(pid_, &status, WNOHANG) != pid_) return false;
        code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        pid_ = -1;
        return true;
      },
      timeout_seconds);
  return code;
}

bool OperatorProcess::WaitForText(const std::string& text, double timeout_seconds) const {
  return Eventually([&] { return Log().find(text) != std::string::npos; }, timeout_seconds);
}

std::string OperatorProcess::Log() const { return ReadText(log_path_); }

}  // namespace paceline::operator_test

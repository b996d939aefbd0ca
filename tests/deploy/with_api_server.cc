// with_api_server COMMAND...: runs a command against a real API server of its own.
//
// The command finds KUBECONFIG (a user in system:masters) and, in front of PATH, kubectl and helm.
// Ends with the command's exit code; 77, with the reason, where the API server's binaries are
// missing and PACELINE_REQUIRE_CLUSTER is not 1.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include "lib/kube/testing/api_server.h"

namespace {

constexpr int kFailed = 1, kSkipped = 77, kNoSuchCommand = 127;

void SetUpEnvironment(const paceline::kube::testing::ApiServer& server) {
  const auto binaries = paceline::kube::testing::FindBinaries();
  const char* path = getenv("PATH");
  const std::string all = *binaries + ":" + (path == nullptr ? "/usr/bin:/bin" : path);
  setenv("PATH", all.c_str(), 1);
  setenv("KUBECONFIG", server.kubeconfig().c_str(), 1);
}

int RunAndWait(char** command) {
  const pid_t child = fork();
  if (child == 0) {
    execvp(command[0], command);
    std::perror(command[0]);
    _exit(kNoSuchCommand);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) {
    std::perror("with_api_server");
    return kFailed;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: with_api_server COMMAND...\n");
    return kFailed;
  }
  const auto server = paceline::kube::testing::ApiServer::Start();
  if (!server.ok()) {
    std::fprintf(stderr, "with_api_server: %s\n", server.status().ToString().c_str());
    return paceline::kube::testing::MaySkip(server.status()) ? kSkipped : kFailed;
  }
  SetUpEnvironment(**server);
  return RunAndWait(argv + 1);
}

// Defines ApiServer: a real etcd and kube-apiserver for tests, on loopback, gone afterwards.
//
// Example:
//   TEST(Pods, AreCreated) {
//     PACELINE_API_SERVER_OR_SKIP(server);   // one for the whole test program
//     auto client = Client::Create(*LoadKubeconfig(server.kubeconfig()));
//     ...
//   }
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "lib/base/status.h"
#include "lib/base/time.h"

namespace paceline::kube::testing {

struct ApiServerOptions {
  std::string binaries;                      // Empty: FindBinaries().
  std::vector<std::string> apiserver_flags;  // On top of ours.
  // ServiceAccount would refuse every pod: its accounts are made by a controller that does not run.
  std::vector<std::string> admission_plugins_off = {"ServiceAccount"};
  Duration ready_deadline = Seconds(120);
};

// A user with a client certificate.
struct UserFiles {
  std::string certificate;
  std::string key;
  std::string kubeconfig;
};

// The folder that holds kube-apiserver and etcd: KUBEBUILDER_ASSETS, else the newest in
// ${XDG_CACHE_HOME:-$HOME/.cache}/paceline/cluster. NotFound says where it looked.
StatusOr<std::string> FindBinaries();
// The path of another program (kube-scheduler, kwok): in that folder, else in the newest of the
// cache that has it. NotFound says how to build it.
StatusOr<std::string> FindProgram(const std::string& name);

// One owner at a time, but what it starts serves anybody. Everything lies in a temporary folder of
// its own; processes die with this one.
class ApiServer {
 public:
  // Returns when /readyz says so. NotFound without the binaries; else the tail of the log that
  // tells why it did not start.
  static StatusOr<std::unique_ptr<ApiServer>> Start(ApiServerOptions options = {});
  // The program's own, started at the first call and stopped at exit.
  static StatusOr<ApiServer*> Shared();

  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  const std::string& folder() const;      // Temporary, with certificates, logs, data.
  const std::string& kubeconfig() const;  // Of a user in system:masters.
  const std::string& url() const;         // "https://127.0.0.1:PORT"
  int port() const;
  const std::string& ca_file() const;
  const std::string& audit_log() const;  // JSON lines, Metadata level, flushed at once.
  const std::string& service_account_issuer() const;
  std::vector<pid_t> processes() const;  // kube-apiserver and etcd, as far as they run.

  // Makes a certificate for that user, whom RBAC knows by name and groups.
  StatusOr<UserFiles> MakeUser(const std::string& name, const std::vector<std::string>& groups);

  // kill -9, and start again on the same port with the same data.
  void KillApiServer();
  // SIGTERM, and waits.
  void StopApiServer();
  Status StartApiServer();

  // Starts kube-controller-manager with these controllers ("garbage-collector-controller,..."), and
  // returns at once: what they do is seen when it is done. NotFound without its binary.
  Status StartControllers(const std::string& controllers);
  void StopControllers();

  // Makes etcd forget all but the newest revision, so that older resourceVersions are gone.
  Status CompactEtcd();

 private:
  struct Parts;
  explicit ApiServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace paceline::kube::testing

// Declares `server`, or skips the test with the reason where the binaries are missing and
// PACELINE_REQUIRE_CLUSTER is not 1.
#define PACELINE_API_SERVER_OR_SKIP(server)                                            \
  const auto server##_or = ::paceline::kube::testing::ApiServer::Shared();             \
  if (!server##_or.ok() && ::paceline::kube::testing::MaySkip(server##_or.status())) { \
    GTEST_SKIP() << server##_or.status().ToString();                                   \
  }                                                                                    \
  ASSERT_TRUE(server##_or.ok()) << server##_or.status().ToString();                    \
  ::paceline::kube::testing::ApiServer& server = **server##_or

namespace paceline::kube::testing {
// Whether `status` says that the binaries are missing, and nobody demands them.
bool MaySkip(const Status& status);
}  // namespace paceline::kube::testing

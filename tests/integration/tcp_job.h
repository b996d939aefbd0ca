// Runs a job's programs as pods run them: each by itself, over TCP, with or without certificates.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/types.h>

#include "lib/base/status.h"
#include "lib/tls/identity.h"
#include "lib/tls/testing.h"
#include "tests/integration/live_run.h"

namespace paceline::integration {

int FreePort();  // Of 127.0.0.1; free a moment ago.

struct TcpJobOptions {
  std::string manifest;                     // Its text...
  std::vector<std::string> overrides = {};  // ...and what differs, as for --set.
  bool has_tls = true;
};

// Nobody starts processes anew here, and nobody but the test stops them.
class TcpJob {
 public:
  TcpJob(const TestFolder& folder, const TcpJobOptions& options);
  ~TcpJob();  // Kills what is left.

  // `more`: options and their values, in pairs; they replace those of the same name.
  void StartPs(int rank, const std::vector<std::string>& more = {});
  void StartWorker(int index, const std::vector<std::string>& more = {});
  // "big-3", of a job with groups.
  void StartWorkerOf(const std::string& group, int index);
  void StartEvaluator();
  // A process by its name, "ps-0" or "worker-2" or "evaluator".
  int WaitExit(const std::string& process,
               double timeout_seconds = 120);  // -1: it had to be killed.
  bool IsRunning(const std::string& process);
  void Signal(const std::string& process, int number);
  std::string LogOf(const std::string& process) const;
  bool WaitForLog(const std::string& process, const std::string& text, double timeout_seconds = 60);

  // One request to the coordinator's API, as the operator makes it.
  StatusOr<std::string> Call(const std::string& method, const std::string& path,
                             const std::string& body = "");
  nlohmann::json State();  // GET /v1/job; null if it does not answer.
  // As LiveRun's.
  nlohmann::json WaitFor(const std::function<bool(const nlohmann::json&)>& is_reached,
                         double timeout_seconds = 60);
  // The resolved job, as the programs were given it; with `overrides` on top.
  nlohmann::json Resolved(const std::vector<std::string>& overrides = {}) const;

  std::string model_path() const { return folder_ + "/model.safetensors"; }
  std::string trace_path() const { return folder_ + "/policy.trace"; }
  std::string summary_path() const { return folder_ + "/summary.json"; }
  // The folder of a process's certificate.
  const tls::testing::IssuedFolder& tls(tls::Role role, uint64_t index = 0) {
    return tls(tls::Identity{role, index});
  }
  const tls::Credential& authority() const { return authority_; }
  int port() const { return port_; }             // Of rank 0.
  int plain_port() const { return http_port_; }  // Of rank 0's /metrics.
  int api_port() const { return api_port_; }
  const std::string& token() const { return token_; }  // That opens it; none with TLS.

 private:
  void Start(const std::string& process, std::vector<std::string> arguments,
             const tls::Identity& identity, const std::vector<std::string>& more);
  const tls::testing::IssuedFolder& tls(const tls::Identity& identity);

  const std::string folder_;
  const TcpJobOptions options_;
  const tls::Credential authority_;
  std::map<std::string, std::unique_ptr<tls::testing::IssuedFolder>> tls_;  // By certificate.
  const int port_;
  const int http_port_;
  const int api_port_;
  std::string token_;
  std::map<std::string, pid_t> running_;
};

}  // namespace paceline::integration

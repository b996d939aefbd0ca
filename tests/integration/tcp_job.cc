#include "tests/integration/tcp_job.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/testing/eventually.h"
#include "lib/job/manifest/encode.h"
#include "lib/job/manifest/load.h"
#include "lib/telemetry/access_token.h"
#include "lib/telemetry/http_get.h"
#include "lib/tls/identity.h"
#include "lib/tls/sessions.h"

namespace paceline::integration {
namespace {

// Short, because some of what tests look for passes.
bool Await(double timeout_seconds, const std::function<bool()>& is_reached) {
  return testing::Eventually(is_reached, timeout_seconds, std::chrono::milliseconds(10));
}

}  // namespace

// Below those that the system gives to connections and to whoever asks for any
// (ip_local_port_range): of these, another test's connection may have it before its listener comes.
// Processes begin in different places.
int FreePort() {
  constexpr int kFirst = 12'000, kCount = 17'000, kStep = 131;
  static int next = getpid() * kStep;
  for (int attempt = 0; attempt < kCount; ++attempt) {
    const int port = kFirst + static_cast<int>(static_cast<unsigned>(next++) % kCount);
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(port))};
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    const bool is_free =
        bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    close(descriptor);
    if (is_free) return port;
  }
  ADD_FAILURE() << "no port is free";
  return 0;
}

TcpJob::TcpJob(const TestFolder& folder, const TcpJobOptions& options)
    : folder_(folder.path()),
      options_(options),
      authority_(tls::testing::Authority(
          "job t", tls::testing::Around(std::chrono::hours(2), std::chrono::hours(48)))),
      port_(FreePort()),
      http_port_(FreePort()),
      api_port_(FreePort()) {
  std::ofstream(folder_ + "/job.json") << Resolved().dump();
  if (!options_.has_tls) {
    token_ = telemetry::MakeToken().value_or("");
    const Status written = telemetry::WriteTokenFile(folder_ + "/token", token_);
    EXPECT_TRUE(written.ok()) << written;
  }
}

TcpJob::~TcpJob() {
  for (const auto& [name, pid] : running_) kill(pid, SIGKILL);
  for (const auto& [name, pid] : running_) waitpid(pid, nullptr, 0);
}

nlohmann::json TcpJob::Resolved(const std::vector<std::string>& overrides) const {
  std::vector<std::string> all = options_.overrides;
  all.insert(all.end(), overrides.begin(), overrides.end());
  const job::Decoded loaded = job::LoadJob(options_.manifest, all, job::Capabilities::All());
  for (const auto& error : loaded.errors) ADD_FAILURE() << job::ToString(error);
  return job::ToJson(loaded.job);
}

const tls::testing::IssuedFolder& TcpJob::tls(const tls::Identity& identity) {
  const std::string name = tls::NameOf(identity, "t", "default");
  auto& folder = tls_[name];
  if (folder == nullptr) folder = std::make_unique<tls::testing::IssuedFolder>(authority_, name);
  return *folder;
}

void TcpJob::Start(const std::string& process, std::vector<std::string> arguments,
                   const tls::Identity& identity, const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), {"--job", folder_ + "/job.json"});
  if (options_.has_tls) arguments.insert(arguments.end(), {"--tls-folder", tls(identity).path()});
  for (size_t at = 0; at + 1 < more.size(); at += 2) {
    const auto found = std::find(arguments.begin(), arguments.end(), more[at]);
    if (found == arguments.end()) {
      arguments.insert(arguments.end(), {more[at], more[at + 1]});
    } else {
      *std::next(found) = more[at + 1];
    }
  }
  running_[process] =
      SpawnProgram(arguments, folder_ + "/" + process + ".out", folder_ + "/" + process + ".log");
}

void TcpJob::StartPs(int rank, const std::vector<std::string>& more) {
  const int port = rank == 0 ? port_ : FreePort();
  std::vector<std::string> arguments = {"paceline-ps",
                                        "--rank",
                                        std::to_string(rank),
                                        "--listen",
                                        fmt::format("0.0.0.0:{}", port),
                                        "--advertise",
                                        fmt::format("localhost:{}", port)};
  if (rank == 0) {
    for (const std::string& one :
         {std::string("--http-port"), std::to_string(http_port_), std::string("--api-port"),
          std::to_string(api_port_), std::string("--output"), model_path(),
          std::string("--summary"), summary_path(), std::string("--trace"), trace_path()})
      arguments.push_back(one);
    if (!options_.has_tls) arguments.insert(arguments.end(), {"--token-file", folder_ + "/token"});
  } else {
    arguments.insert(arguments.end(), {"--coordinator", fmt::format("localhost:{}", port_)});
  }
  Start(fmt::format("ps-{}", rank), arguments, {tls::Role::kPs, static_cast<uint64_t>(rank)}, more);
}

void TcpJob::StartWorker(int index, const std::vector<std::string>& more) {
  Start(fmt::format("worker-{}", index),
        {"paceline-worker", "--coordinator", fmt::format("localhost:{}", port_), "--index",
         std::to_string(index), "--folder", folder_},
        {tls::Role::kWorker, static_cast<uint64_t>(index)}, more);
}

void TcpJob::StartWorkerOf(const std::string& group, int index) {
  Start(fmt::format("{}-{}", group, index),
        {"paceline-worker", "--coordinator", fmt::format("localhost:{}", port_), "--group", group,
         "--index", std::to_string(index), "--folder", folder_},
        {tls::Role::kWorker, static_cast<uint64_t>(index), group}, {});
}

void TcpJob::StartEvaluator() {
  Start("evaluator",
        {"paceline-worker", "--coordinator", fmt::format("localhost:{}", port_), "--role",
         "evaluator", "--folder", folder_},
        {tls::Role::kEvaluator, 0}, {});
}

bool TcpJob::IsRunning(const std::string& process) {
  siginfo_t info{};
  const auto found = running_.find(process);
  if (found == running_.end()) return false;
  waitid(P_PID, static_cast<id_t>(found->second), &info, WEXITED | WNOHANG | WNOWAIT);
  return info.si_pid == 0;
}

int TcpJob::WaitExit(const std::string& process, double timeout_seconds) {
  const pid_t pid = running_.at(process);
  const bool has_ended = Await(timeout_seconds, [&] { return !IsRunning(process); });
  if (!has_ended) kill(pid, SIGKILL);
  int status = 0;
  waitpid(pid, &status, 0);
  running_.erase(process);
  if (!has_ended) return -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void TcpJob::Signal(const std::string& process, int number) { kill(running_.at(process), number); }

std::string TcpJob::LogOf(const std::string& process) const {
  return ReadText(folder_ + "/" + process + ".log");
}

bool TcpJob::WaitForLog(const std::string& process, const std::string& text,
                        double timeout_seconds) {
  return Await(timeout_seconds, [&] { return LogOf(process).find(text) != std::string::npos; });
}

StatusOr<std::string> TcpJob::Call(const std::string& method, const std::string& path,
                                   const std::string& body) {
  telemetry::HttpCall call{
      .host = "127.0.0.1", .port = api_port_, .path = path, .method = method, .body = body};
  if (!options_.has_tls) call.headers = {{telemetry::kTokenHeader, token_}};
  if (options_.has_tls) {
    // As the operator calls: the name in the URL is the certificate's, the address another matter.
    call.headers = {{"Host", fmt::format("{}:{}", tls::NameOf({tls::Role::kPs, 0}, "t", "default"),
                                         api_port_)}};
    call.https = telemetry::HttpsClientHooks{
        .set_up =
            [this](ssl_ctx_st* context) {
              return tls::SetUpClient(context, tls(tls::Role::kOperator).folder(),
                                      tls::NameOf({tls::Role::kPs, 0}, "t", "default"));
            },
        .why = tls::TakeError};
  }
  return telemetry::HttpSend(call, std::chrono::seconds(5));
}

nlohmann::json TcpJob::State() {
  const std::string text = Call("GET", "/v1/job").value_or("");
  return nlohmann::json::accept(text) ? nlohmann::json::parse(text) : nlohmann::json();
}

nlohmann::json TcpJob::WaitFor(const std::function<bool(const nlohmann::json&)>& is_reached,
                               double timeout_seconds) {
  nlohmann::json state;
  const bool was_reached = Await(timeout_seconds, [&] {
    state = State();
    return state.is_object() && is_reached(state);
  });
  return was_reached ? state : nlohmann::json();
}

}  // namespace paceline::integration

#include "cli/commands/fetch/fetch.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands/coordinator_api.h"
#include "cli/commands/fetch/port_forward.h"
#include "cli/commands/fetch/ways.h"
#include "cli/local/display/print.h"
#include "lib/base/json_text.h"
#include "lib/base/size_text.h"
#include "lib/job/manifest/encode.h"
#include "lib/job/plan/plan.h"
#include "lib/job/state/model_place.h"
#include "lib/job/state/rfc3339.h"
#include "lib/kube/core/api_error.h"
#include "lib/process/exit.h"
#include "lib/telemetry/access_token.h"

namespace paceline::commands {
namespace {

namespace fs = std::filesystem;

constexpr int kConfirmationsMax = 3;
constexpr Duration kConfirmationPause = Seconds(0.5);  // Doubles.
constexpr Duration kConfirmationDeadline = Seconds(5);

int Fail(const Status& status) {
  local::Print(stderr, "paceline: {}\n", Message(status));
  return process::ExitCodeFor(status);
}

std::string TargetOf(const std::string& to, const std::string& name) {
  const std::string file = name + ".safetensors";
  if (to.empty()) return file;
  std::error_code ignored;
  return fs::is_directory(to, ignored) ? (fs::path(to) / file).string() : to;
}

// Whether `path` is the model already. InvalidArgument if something else is there.
StatusOr<bool> IsThere(const std::string& path, const store::FileDigest& expected) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return false;
  PACELINE_ASSIGN_OR_RETURN(const store::FileDigest found, store::DigestFile(path));
  if (found == expected) return true;
  return InvalidArgument("{} is there already and is another file; name another with --to", path);
}

// Of what is fetched, on a terminal alone.
std::function<void(uint64_t)> Meter(uint64_t bytes) {
  if (isatty(STDERR_FILENO) == 0) return nullptr;
  return [bytes](uint64_t done) {
    // The blanks are over what a longer size has left.
    fmt::print(stderr, "\r{} of {}  {}", SizeText(done), SizeText(bytes),
               done == bytes ? "\n" : "");
    std::fflush(stderr);
  };
}

// Gets `expected` from `read` into `path`, whole or not at all.
Status GetInto(const std::string& path, const store::FileDigest& expected, const PieceReader& read,
               DownloadOptions options = {}) {
  options.progress = Meter(expected.bytes);
  PACELINE_ASSIGN_OR_RETURN(PartialFile file, PartialFile::Open(path, expected));
  if (file.bytes() > 0)
    local::Print(stderr, "paceline: goes on behind {} that were there\n", SizeText(file.bytes()));
  if (const Status status = Download(file, read, options); !status.ok()) {
    return Annotate(status, fmt::format("{} of {} have come and are kept, call again to go on",
                                        SizeText(file.bytes()), SizeText(expected.bytes)));
  }
  return file.Commit();
}

// Where there is nothing to fetch: why.
Status WhyNot(const job::TrainingJob& job) {
  const std::string& name = job.metadata.name;
  if (!job.status.model) {
    if (job::IsFinished(job.status))
      return FailedPrecondition("{} is {} and has no model", name, job.status.state);
    return FailedPrecondition("{} is {}: its model is not there yet", name,
                              job.status.state.empty() ? "new" : job.status.state);
  }
  const job::ModelStatus& model = *job.status.model;
  const std::string digest = model.sha256.empty() ? "" : fmt::format(" (SHA-256 {})", model.sha256);
  if (model.state == job::ModelState::kOnVolume)
    return FailedPrecondition("its model lies on {}{}", model.where, digest);
  return FailedPrecondition("its model is {}: {}{}", job::ToWord(model.state), model.message,
                            digest);
}

kube::Request ModelRequest(const std::string& token, Duration deadline) {
  return {.path = job::kModelPath,
          .headers = {{telemetry::kTokenHeader, token}},
          .verb = "get",
          .deadline = deadline};
}

kube::Request PieceRequest(const std::string& token, uint64_t from, uint64_t bytes,
                           Duration deadline) {
  kube::Request request = ModelRequest(token, deadline);
  request.query = {{"from", std::to_string(from)}, {"bytes", std::to_string(bytes)}};
  request.accept = "application/octet-stream";
  return request;
}

Status Confirm(Ways& ways, const std::string& token, const std::string& sha256) {
  kube::Request request = ModelRequest(token, kConfirmationDeadline);
  request.method = "POST";
  request.verb = "create";
  request.body = JsonText(kube::Json{{"sha256", sha256}});
  request.content_type = "application/json";
  Status status;
  for (int attempt = 0; attempt < kConfirmationsMax; ++attempt) {
    status = ways.Send(request).status();
    if (status.ok() || status.code() == StatusCode::kPermissionDenied) break;
    std::this_thread::sleep_for(kConfirmationPause * (1 << attempt));
  }
  return status;
}

StatusOr<std::string> SendForwarded(const ClusterJob& cluster, PortForward& forward,
                                    const kube::Request& request) {
  PACELINE_ASSIGN_OR_RETURN(const int port, forward.Open());
  StatusOr<std::string> answer = cluster.SendTo(
      {.server = fmt::format("http://127.0.0.1:{}", port), .is_direct = true}, request);
  if (answer.ok() || kube::ApiErrorOf(answer.status())) return answer;
  // A stream that got stuck stays so: the next attempt is another kubectl's.
  const std::string complaint = forward.complaint();
  forward.Close();
  if (complaint.empty()) return answer;
  return MakeStatus(answer.status().code(),
                    fmt::format("{}; kubectl: {}", Message(answer.status()), complaint));
}

StatusOr<Ways> WaysTo(const ClusterJob& cluster, const FetchOptions& options) {
  const auto say = [](const std::string& text) { local::Print(stderr, "paceline: {}\n", text); };
  std::vector<Way> ways;
  if (!options.url.url.empty()) {
    PACELINE_ASSIGN_OR_RETURN(const kube::Config server, ModelServer(options.url));
    ways.push_back({"by " + options.url.url, [&cluster, server](kube::Request request) {
                      return cluster.SendTo(server, std::move(request));
                    }});
    return Ways(std::move(ways), say);
  }
  const std::string pod =
      fmt::format("pod {}/{}", cluster.key().name_space, cluster.coordinator_pod());
  if (options.via != Via::kPortForward) {
    ways.push_back({"through the API server's proxy to " + pod, [&cluster](kube::Request request) {
                      return cluster.SendByProxy(std::move(request));
                    }});
  }
  if (options.via != Via::kProxy) {
    const auto forward = std::make_shared<PortForward>(
        PortForwardOptions{.pod = cluster.coordinator_pod(),
                           .port = cluster.coordinator_port(),
                           .name_space = cluster.key().name_space,
                           .context = options.cluster.context,
                           .kubeconfig = options.cluster.kubeconfig,
                           .patience = options.port_forward_patience});
    ways.push_back(
        {"by kubectl port-forward to " + pod, [&cluster, forward](kube::Request request) {
           return SendForwarded(cluster, *forward, request);
         }});
  }
  return Ways(std::move(ways), say);
}

int FetchFromCluster(const FetchOptions& options) {
  const StatusOr<ClusterJob> cluster = ClusterJob::Open(options.cluster, options.job);
  if (!cluster.ok()) return Fail(cluster.status());
  const StatusOr<kube::Json> object = cluster->Read();
  if (!object.ok()) return Fail(object.status());
  const job::TrainingJob job = job::FromJson(*object).job;
  if (!job::HasModelServed(job.status)) return Fail(WhyNot(job));
  const job::ModelStatus& model = *job.status.model;
  const store::FileDigest expected{static_cast<uint64_t>(model.size_bytes), model.sha256};
  if (expected.sha256.empty()) {
    return Fail(FailedPrecondition(
        "nobody knows the digest of {}'s model, so that what came could not be judged; copy {} out "
        "of {} with kubectl cp",
        options.job, "/tmp/model.safetensors", model.where));
  }
  const std::string path = TargetOf(options.to, options.job);
  const StatusOr<bool> is_there = IsThere(path, expected);
  if (!is_there.ok()) return Fail(is_there.status());
  StatusOr<Ways> ways = WaysTo(*cluster, options);
  if (!ways.ok()) return Fail(ways.status());
  const StatusOr<std::string> token = cluster->ReadModelToken();
  if (!token.ok()) return Fail(token.status());
  if (!*is_there) {
    const auto read = [&](uint64_t from, uint64_t bytes, Duration deadline) {
      return ways->Send(PieceRequest(*token, from, bytes, deadline));
    };
    const Status got = GetInto(path, expected, read, options.download);
    if (!got.ok()) return Fail(got);
  }
  local::Print(stdout, "{}: {} bytes, SHA-256 {}\n", path, expected.bytes, expected.sha256);
  if (const Status told = Confirm(*ways, *token, expected.sha256); !told.ok()) {
    local::Print(stderr,
                 "paceline: the model is there, but its job could not be told, and its pod stays "
                 "until {}: {}\n",
                 model.until ? job::FormatTime(*model.until) : "it is deleted", Message(told));
  }
  return process::kExitDone;
}

StatusOr<std::string> ReadFrom(std::ifstream& file, uint64_t from, uint64_t bytes) {
  std::string piece(bytes, '\0');
  file.seekg(static_cast<std::streamoff>(from));
  file.read(piece.data(), static_cast<std::streamsize>(bytes));
  if (!file) return DataLoss("the model could not be read");
  return piece;
}

int FetchFromRun(const FetchOptions& options) {
  StatusOr<std::string> run = options.run;
  if (options.run.empty()) run = NewestRun(options.runs_folder);
  if (!run.ok())
    return Fail(
        NotFound("{}; of a cluster, name the job: paceline fetch JOB", Message(run.status())));
  const std::string model = *run + "/model.safetensors";
  std::error_code error;
  if (!fs::exists(model, error)) {
    return Fail(FailedPrecondition(
        "there is no {}: the run goes on, failed, or wrote its model to its spec.output.volume",
        model));
  }
  if (options.to.empty()) {
    local::Print(stdout, "{}\n", model);
    return process::kExitDone;
  }
  const StatusOr<store::FileDigest> expected = store::DigestFile(model);
  if (!expected.ok()) return Fail(expected.status());
  const std::string path = TargetOf(options.to, fs::path(model).stem());
  const StatusOr<bool> is_there = IsThere(path, *expected);
  if (!is_there.ok()) return Fail(is_there.status());
  if (!*is_there) {
    std::ifstream file(model, std::ios::binary);
    const Status copied = GetInto(path, *expected, [&](uint64_t from, uint64_t bytes, Duration) {
      return ReadFrom(file, from, bytes);
    });
    if (!copied.ok()) return Fail(copied);
  }
  local::Print(stdout, "{}: {} bytes, SHA-256 {}\n", path, expected->bytes, expected->sha256);
  return process::kExitDone;
}

}  // namespace

int Fetch(const FetchOptions& options) {
  return options.job.empty() ? FetchFromRun(options) : FetchFromCluster(options);
}

}  // namespace paceline::commands

#include <memory>
#include <utility>

#include "lib/base/check.h"
#include "lib/files/atomic_file.h"
#include "lib/job/optimizer_options.h"
#include "lib/job/policy_spec.h"
#include "lib/job/state/checkpoint_place.h"
#include "lib/process/exit.h"
#include "lib/process/termination.h"
#include "lib/rpc/bulk/grpc_parameter_client.h"
#include "lib/store/checkpoint_folder.h"
#include "lib/sync/contract/checked_policy.h"
#include "lib/sync/schemes/policy_factory.h"
#include "lib/sync/trace/trace_recorder.h"
#include "lib/telemetry/log.h"
#include "lib/telemetry/trace_file.h"
#include "ps-server/advertised_address.h"
#include "ps-server/checkpoints.h"
#include "ps-server/coordinator/commit_log.h"
#include "ps-server/coordinator/driver.h"
#include "ps-server/coordinator/own_shard.h"
#include "ps-server/endpoints.h"
#include "ps-server/final_model.h"
#include "ps-server/job_options.h"
#include "ps-server/job_tls.h"
#include "ps-server/live_job.h"
#include "ps-server/processes.h"
#include "ps-server/service/coordinator_service.h"
#include "ps-server/service/grpc_server.h"
#include "ps-server/service/served_model.h"
#include "ps-server/service/shard_service.h"
#include "ps-server/shard/shard_host.h"
#include "ps-server/status_json.h"

namespace paceline::ps {
namespace {

using telemetry::Log;
using telemetry::LogLevel;

constexpr Duration kLookPeriod = std::chrono::seconds(1);

StatusOr<std::vector<std::byte>> Fetch(const rpc::ChannelOptions& channel, Duration transfer_idle,
                                       const Generation& generation,
                                       const std::vector<protocol::ShardAddress>& shards,
                                       Version version) {
  PACELINE_ASSIGN_OR_RETURN(const auto client,
                            rpc::OpenParameterClient({.generation = generation,
                                                      .shards = shards,
                                                      .idle_timeout = transfer_idle,
                                                      .channel = channel}));
  std::vector<std::byte> bytes(shards.empty() ? 0 : shards.back().slice.end_bytes);
  PACELINE_ASSIGN_OR_RETURN(const rpc::PullReport report,
                            client->Pull(version, sync::Exactness::kExact, bytes));
  if (report.is_superseded) return FailedPrecondition("version is gone from a shard: {}", version);
  return bytes;
}

// The policy as the server runs it: checked, and traced where a file was named.
std::unique_ptr<sync::Policy> MakeServerPolicy(const sync::PolicySpec& spec, std::string saved,
                                               telemetry::TraceFile* trace,
                                               DriverMetrics* metrics) {
  const std::string learnt = std::exchange(saved, sync::WhatFits(spec, saved));
  if (saved.size() < learnt.size()) {
    Log(LogLevel::kInfo, "not all that the policy before had learnt is of use to this one",
        {{"bytes", std::to_string(learnt.size())}, {"kept", std::to_string(saved.size())}});
  }
  auto policy = sync::MakePolicy(spec, saved);
  PACELINE_CHECK(policy.ok(), "the spec was valid at the start: {}", Message(policy.status()));
  std::unique_ptr<sync::Policy> made = std::make_unique<sync::CheckedPolicy>(
      *std::move(policy), spec, [metrics](const std::string& violation) {
        metrics->PolicyBrokeContract();
        Log(LogLevel::kError, "policy broke its contract", {{"violation", violation}});
      });
  if (trace == nullptr) return made;
  return std::make_unique<sync::TraceRecorder>(
      std::move(made), spec, saved, [trace](std::string_view line) { trace->Append(line); });
}

Status WriteSummary(const std::string& path, const std::string& text) {
  return path.empty() ? OkStatus() : files::WriteFile(path, text + "\n");
}

// After success; without it they stay for whoever goes on.
void CloseCheckpoints(const Options& options, const job::TrainingJob& job) {
  if (options.checkpoint.empty()) return;
  const Status ended = EndCheckpoints(options, job);
  if (!ended.ok()) Log(LogLevel::kWarning, "end not recorded", {{"reason", Message(ended)}});
}

// One that serves its model has to have what opens it: found out now, not when all is trained.
Status CheckToken(const Options& options) {
  if (!options.serves_model) return OkStatus();
  return Annotate(telemetry::AccessToken(options.token_file).Read().status(),
                  "--serve-model needs --token-file");
}

// Its digest is of what can be read back.
Status WriteModel(const std::string& path, const store::Layout& layout,
                  const std::vector<std::byte>& bytes, ServedModel& model) {
  PACELINE_RETURN_IF_ERROR(WriteFinalModel(path, layout, bytes));
  PACELINE_ASSIGN_OR_RETURN(store::FileDigest digest, store::DigestFile(path));
  model.Written(std::move(digest));
  return OkStatus();
}

void Serve(ServedModel& model) {
  const store::FileDigest digest = model.digest().value_or(store::FileDigest{});
  Log(LogLevel::kInfo, "serving the model", {{"bytes", digest.bytes}, {"sha256", digest.sha256}});
  model.Serve();
  Log(LogLevel::kInfo, "serving ends", {{"fetched", model.is_fetched() ? "true" : "false"}});
}

// What this coordinator goes on from, said aloud.
StatusOr<FoundCheckpoints> LookForCheckpoints(const Options& options, const job::TrainingJob& job) {
  PACELINE_ASSIGN_OR_RETURN(FoundCheckpoints found,
                            FindCheckpoints(options.checkpoint, job,
                                            CheckpointOptionsFrom(options, job), options.resume));
  for (const std::string& problem : found.problems)
    Log(LogLevel::kError, "checkpoint is no good", {{"reason", problem}});
  if (!found.note.empty())
    Log(LogLevel::kWarning, "checkpoints were found", {{"what", found.note}});
  return found;
}

}  // namespace

Status RunCoordinator(const Options& options, const job::TrainingJob& job) {
  const sync::PolicySpec spec = job::PolicySpecFrom(job);
  PACELINE_ASSIGN_OR_RETURN(const JobTls tls, LoadJobTls(options.tls_folder, job, options.rank));
  LiveJob live(job, spec);
  std::unique_ptr<telemetry::TraceFile> trace;
  if (!options.trace.empty()) {
    auto opened = telemetry::TraceFile::Open(options.trace);
    if (!opened.ok()) Log(LogLevel::kWarning, "no trace", {{"reason", Message(opened.status())}});
    if (opened.ok()) trace = *std::move(opened);
  }
  std::unique_ptr<CommitLog> commit_log;
  if (!options.commit_log.empty()) {
    PACELINE_ASSIGN_OR_RETURN(commit_log, CommitLog::Open(options.commit_log));
  }
  telemetry::Metrics metrics;
  DriverMetrics driver_metrics(&metrics);
  coordination::CoordinatorOptions coordination =
      CoordinatorOptionsFrom(job, options.generation_start);
  coordination.hang.floor = options.hang_floor;
  PACELINE_RETURN_IF_ERROR(CheckToken(options));
  ServedModel model(options.output, telemetry::AccessToken(options.token_file));
  std::string note;
  if (job::HasCheckpoints(job.spec) && options.checkpoint.empty())
    return InvalidArgument("spec.checkpoint needs a folder: --checkpoint is missing");
  if (!options.checkpoint.empty()) {
    PACELINE_ASSIGN_OR_RETURN(FoundCheckpoints found, LookForCheckpoints(options, job));
    coordination.checkpoint = std::move(found.options);
    note = found.note;
  }
  if (options.waits_for_processes) {
    coordination.waits_for_workers = true;
    coordination.shards_timeout = std::chrono::hours(24);
  }
  Driver driver(
      {.coordination = std::move(coordination),
       .optimizer = job::OptimizerOptionsFrom(job),
       .fetch = [channel = tls.to_ps, idle = TransferIdleFrom(job)](
                    const Generation& generation, const auto& shards,
                    Version version) { return Fetch(channel, idle, generation, shards, version); },
       .save =
           [&](const store::Layout& layout, const std::vector<std::byte>& bytes) {
             return WriteModel(options.output, layout, bytes, model);
           },
       .make_policy =
           [&](uint32_t workers, Version version, const std::string& saved) {
             sync::PolicySpec now = live.policy();
             now.workers_expected = workers;
             now.first_version = version;
             return MakeServerPolicy(now, saved, trace.get(), &driver_metrics);
           },
       .complete_checkpoint =
           [&, run = RunOf(job)](const coordination::Checkpoint& checkpoint,
                                 const std::vector<std::string>& keep) {
             return CompleteCheckpoint(options.checkpoint, run, checkpoint, keep);
           },
       .forsake_checkpoint =
           [&](const std::string& name) { return ForsakeCheckpoint(options, job, name); },
       .checkpoint_note = note,
       .stragglers = StragglerOptionsFrom(job),
       .on_effect =
           [&](const coordination::Effect& effect) {
             if (commit_log != nullptr) commit_log->Note(effect);
           }},
      &driver_metrics);
  ShardMetrics shard_metrics(&metrics);
  ShardHost host(
      [&driver](protocol::ShardMessage message) {
        driver.ShardSaid(ShardId(0), std::move(message));
      },
      &shard_metrics, SlicePlaceFrom(options, job));

  CoordinatorService coordinator_service(driver, tls.peers);
  ShardService shard_service(host, tls.peers, TransferIdleFrom(job));
  PACELINE_ASSIGN_OR_RETURN(const std::unique_ptr<GrpcServer> server,
                            GrpcServer::Start({.address = options.listen,
                                               .services = {&coordinator_service, &shard_service},
                                               .credentials = tls.server,
                                               .keepalive_timeout = KeepaliveTimeoutFrom(job)}));
  PACELINE_ASSIGN_OR_RETURN(const std::string address,
                            AdvertisedAddress(options, server->address()));
  StatusOr<Endpoints> started = Endpoints::Start(options, tls, metrics, live, model, driver);
  // A port that was asked for and is taken stays so.
  if (!started.ok() && options.http_port != 0)
    return InvalidArgument("{}", Message(started.status()));
  PACELINE_RETURN_IF_ERROR(started.status());
  Endpoints endpoints = *std::move(started);
  Log(LogLevel::kInfo, "coordinating",
      {{"address", address},
       {"http_port", endpoints.plain->port()},
       {"tls", tls.server != nullptr}});
  (void)driver.ShardConnected({ShardId(0), address}, std::make_shared<OwnShard>(&host));

  const process::TerminationSignals signals([&] {
    driver.AskToStop("asked to stop", coordination::StopKind::kSuspend);
    model.StopServing();
  });
  std::optional<coordination::Finished> finished;
  while (!finished) {
    finished = driver.WaitFinished(kLookPeriod);
    // Its word of how it gets on; and the driver, which turns for it, is seen to turn.
    if (!finished) driver.ShardSaid(ShardId(0), host.Heartbeat());
  }
  JobView view = ViewOf(live, model, tls.server != nullptr);
  const Status summary =
      WriteSummary(options.summary, ProgressJson(driver.progress(), view, finished));
  if (!summary.ok()) Log(LogLevel::kWarning, "no summary", {{"reason", Message(summary)}});
  // Those that nobody asked for go when nothing writes them any more.
  if (finished->is_success && !options.has_default_checkpoints) CloseCheckpoints(options, job);
  if (options.serves_model && view.model && !finished->is_suspended) {
    server->Stop(std::chrono::seconds(2));  // Nobody trains any more.
    Serve(model);
    view = ViewOf(live, model, tls.server != nullptr);
  }
  process::SayLastWord(options.final_state, FinalStateJson(driver.progress(), view, *finished));
  endpoints.Stop();
  server->Stop(std::chrono::seconds(2));
  driver.Stop();  // The own shard goes first.
  if (finished->is_suspended) return Cancelled("{}", finished->reason);
  if (!finished->is_success) return Aborted("{}", finished->reason);
  if (options.has_default_checkpoints) CloseCheckpoints(options, job);
  return OkStatus();
}

}  // namespace paceline::ps

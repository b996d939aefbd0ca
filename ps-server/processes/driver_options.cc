#include "ps-server/processes/driver_options.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "lib/base/check.h"
#include "lib/files/disk.h"
#include "lib/files/room.h"
#include "lib/job/optimizer_options.h"
#include "lib/rpc/bulk/grpc_parameter_client.h"
#include "lib/store/checkpoints/checkpoint_folder.h"
#include "lib/sync/contract/checked_policy.h"
#include "lib/sync/schemes/policy_factory.h"
#include "lib/sync/trace/trace_recorder.h"
#include "lib/telemetry/log.h"
#include "ps-server/job_options.h"
#include "ps-server/model/final_model.h"

namespace paceline::ps {
namespace {

// Of a safetensors file, for hundreds of tensors.
constexpr uint64_t kHeaderBytes = 64 * 1024;

using telemetry::Log;
using telemetry::LogLevel;

StatusOr<std::vector<std::byte>> Fetch(const rpc::ChannelOptions& channel, Duration transfer_idle,
                                       const Generation& generation,
                                       const std::vector<protocol::ShardAddress>& shards,
                                       Version version, bool is_average) {
  PACELINE_ASSIGN_OR_RETURN(const auto client,
                            rpc::OpenParameterClient({.generation = generation,
                                                      .shards = shards,
                                                      .pulls_average = is_average,
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
                                               telemetry::TraceSegments* trace,
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
      std::move(made), spec, saved, [trace](std::string_view line) { trace->Append(line); },
      sync::TraceRecorder::Parts{
          [trace] { return trace->IsFull(); },
          [trace](const std::vector<std::string>& snapshot) { trace->Begin(snapshot); }});
}

bool AreOnOneDisk(const std::string& a, const std::string& b) {
  struct stat one {
  }, other{};
  return stat(a.c_str(), &one) == 0 && stat(b.c_str(), &other) == 0 && one.st_dev == other.st_dev;
}

std::string ReserveRoom(const DriverNeeds& needs, const store::Layout& layout) {
  if (needs.options.output.empty()) return "";
  StatusOr<files::Room> room =
      files::Room::Reserve(files::ParentOf(needs.options.output),
                           layout.total_bytes() + needs.frozen.bytes() + kHeaderBytes);
  if (!room.ok()) return Message(room.status());
  *needs.files.room = *std::move(room);
  return "";
}

// On a full disk the trace, which lies there, goes before the model does not come, and what workers
// have handed over before what was trained.
Status WriteModelBeforeTrace(const DriverNeeds& needs, const std::function<Status()>& write) {
  needs.files.room->Release();
  Status status = write();
  telemetry::TraceSegments* const trace = needs.files.trace.get();
  if (status.code() != StatusCode::kResourceExhausted) return status;
  if (trace != nullptr &&
      AreOnOneDisk(needs.options.trace, files::ParentOf(needs.options.output))) {
    Log(LogLevel::kWarning, "the policy's trace is removed, to have room for the final model",
        {{"reason", Message(status)}});
    trace->GiveRoom();
    status = write();
  }
  if (status.code() != StatusCode::kResourceExhausted || needs.frozen.path().empty()) return status;
  Log(LogLevel::kWarning,
      "frozen parameters are removed, to have room for what was trained: load them as the script "
      "does",
      {{"reason", Message(status)}});
  needs.frozen.Remove();
  return write();
}

// Its digest is of what can be read back.
Status WriteModel(const std::string& path, const store::Layout& layout,
                  const std::vector<std::byte>& bytes,
                  const std::vector<protocol::FrozenTensor>& frozen, FrozenFile& file,
                  ServedModel& model) {
  PACELINE_ASSIGN_OR_RETURN(const std::vector<std::string> left_out,
                            WriteFinalModel(path, layout, bytes, frozen, file.path()));
  if (!left_out.empty()) {
    Log(LogLevel::kWarning,
        "the model file does not hold all frozen parameters: load them as the script does",
        {{"left_out", left_out.size()}, {"first", left_out.front()}});
  }
  PACELINE_ASSIGN_OR_RETURN(store::FileDigest digest, store::DigestFile(path));
  file.Written();
  model.Written(std::move(digest), left_out.size());
  return OkStatus();
}

std::optional<double> AverageDecayOf(const job::TrainingJob& job) {
  const std::optional<job::Ema>& ema = job.spec.training.ema;
  return ema ? std::optional(ema->decay) : std::nullopt;
}

coordination::CoordinatorOptions CoordinationOf(const DriverNeeds& needs) {
  const Options& options = needs.options;
  coordination::CoordinatorOptions coordination =
      CoordinatorOptionsFrom(needs.job, options.generation_start);
  coordination.hang.floor = options.hang_floor;
  if (!options.checkpoint.empty()) coordination.checkpoint = needs.files.checkpoints.options;
  if (options.waits_for_processes) {
    coordination.waits_for_workers = true;
    coordination.shards_timeout = std::chrono::hours(24);
  }
  return coordination;
}

}  // namespace

DriverOptions DriverOptionsFrom(const DriverNeeds& needs) {
  return {.coordination = CoordinationOf(needs),
          .optimizer = job::OptimizerOptionsFrom(needs.job),
          .average_decay = AverageDecayOf(needs.job),
          .fetch =
              [channel = needs.tls.to_ps, idle = TransferIdleFrom(needs.job),
               is_average = needs.job.spec.training.ema.has_value()](
                  const Generation& generation, const auto& shards, Version version) {
                return Fetch(channel, idle, generation, shards, version, is_average);
              },
          .save =
              [needs](const store::Layout& layout, const std::vector<std::byte>& bytes,
                      const std::vector<protocol::FrozenTensor>& frozen) {
                return WriteModelBeforeTrace(needs, [&] {
                  return WriteModel(needs.options.output, layout, bytes, frozen, needs.frozen,
                                    needs.model);
                });
              },
          .reserve = [needs](const store::Layout& layout) { return ReserveRoom(needs, layout); },
          .make_policy =
              [needs](uint32_t workers, Version version, const std::string& saved) {
                sync::PolicySpec now = needs.live.policy();
                now.workers_expected = workers;
                now.first_version = version;
                return MakeServerPolicy(now, saved, needs.files.trace.get(), &needs.metrics);
              },
          .complete_checkpoint =
              [needs, run = RunOf(needs.job)](const coordination::Checkpoint& checkpoint,
                                              const std::vector<std::string>& keep) {
                return CompleteCheckpoint(needs.options.checkpoint, run, checkpoint, keep);
              },
          .forsake_checkpoint =
              [needs](const std::string& name) {
                return ForsakeCheckpoint(needs.options, needs.job, name);
              },
          .checkpoint_note = needs.files.checkpoints.note,
          .stragglers = StragglerOptionsFrom(needs.job),
          .on_effect =
              [needs](const coordination::Effect& effect) {
                if (needs.files.commit_log != nullptr) needs.files.commit_log->Note(effect);
              }};
}

}  // namespace paceline::ps

#include "cli/local/local_job.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/local/pod_template.h"
#include "cli/local/resume.h"
#include "lib/files/disk.h"
#include "lib/job/policy_spec.h"
#include "lib/job/state/checkpoint_place.h"
#include "lib/job/state/device.h"
#include "lib/job/worker_groups.h"

namespace paceline::local {
namespace {

// Only what was set: what holds its default was not asked for.
void IgnoreSetFields(const job::JobSpec& spec, std::vector<std::string>& ignored) {
  const job::RunPolicy usual;
  const job::RunPolicy& policy = spec.run_policy;
  const auto note = [&](bool is_set, const char* path) {
    if (is_set) ignored.emplace_back(path);
  };
  const auto& scheduling = policy.scheduling_policy;
  if (spec.checkpoint) {
    note(spec.checkpoint->claim_retention.has_value(),
         "spec.checkpoint.persistentVolumeClaimRetentionPolicy");
    // --resume and --fresh say it here.
    note(spec.checkpoint->resume != job::CheckpointResume::kOwn, "spec.checkpoint.resume");
  }
  // Its processes talk through sockets in a folder that is their user's alone.
  note(spec.security.mtls != job::Security().mtls, "spec.security.mtls");
  note(policy.ttl_seconds_after_finished.has_value(), "spec.runPolicy.ttlSecondsAfterFinished");
  note(policy.clean_pod_policy != usual.clean_pod_policy, "spec.runPolicy.cleanPodPolicy");
  note(policy.node_lost_seconds != usual.node_lost_seconds, "spec.runPolicy.nodeLostSeconds");
  note(policy.managed_by != usual.managed_by, "spec.runPolicy.managedBy");
  const auto has_conditions = [](const job::FailureRule& rule) {
    return !rule.on_pod_conditions.empty();
  };
  // There are no pods; rules about exit codes count.
  note(policy.failure_policy && std::ranges::any_of(policy.failure_policy->rules, has_conditions),
       "spec.runPolicy.failurePolicy.rules.onPodConditions");
  note(scheduling.min_available.has_value(), "spec.runPolicy.schedulingPolicy.minAvailable");
  note(scheduling.queue.has_value(), "spec.runPolicy.schedulingPolicy.queue");
  note(scheduling.priority_class.has_value(), "spec.runPolicy.schedulingPolicy.priorityClass");
  note(scheduling.scheduler_name.has_value(), "spec.runPolicy.schedulingPolicy.schedulerName");
  note(scheduling.min_resources.has_value(), "spec.runPolicy.schedulingPolicy.minResources");
}

struct VolumeFolder {
  std::string path;
  bool may_make = true;
};

// Nothing for an emptyDir. What one machine cannot give is told to `local`.
std::optional<VolumeFolder> FolderOf(const job::Volume& volume, const std::string& field,
                                     VolumeFolders& volumes, LocalJob& local) {
  const auto refuse = [&](const std::string& part, std::string message) {
    local.errors.push_back({field + "." + part, std::move(message), 0});
  };
  if (const auto& claim = volume.persistent_volume_claim)
    return VolumeFolder{volumes.FolderOf(claim->claim_name)};
  if (!volume.others.empty()) {
    refuse(volume.others.begin()->first,
           "must be persistentVolumeClaim, hostPath or emptyDir on one machine");
  } else if (const auto& host = volume.host_path) {
    const std::string type = host->type.value_or("");
    if (!host->path.starts_with('/'))
      refuse("hostPath.path", fmt::format("must be an absolute path: got \"{}\"", host->path));
    if (!type.empty() && type != "Directory" && type != "DirectoryOrCreate") {
      refuse("hostPath.type",
             fmt::format("must be Directory or DirectoryOrCreate: got \"{}\"", type));
    }
    return VolumeFolder{host->path, type != "Directory"};
  }
  return std::nullopt;
}

void AdaptOutput(const job::Output& output, VolumeFolders& volumes, LocalJob& local) {
  if (!output.volume) return;
  const auto folder = FolderOf(*output.volume, "spec.output.volume", volumes, local);
  if (!folder) return;
  local.output_folder = folder->path;
  local.may_make_output_folder = folder->may_make;
}

// Claims from a template, one a shard, become one folder: on one machine all shards share it.
void AdaptCheckpoint(const job::Checkpoint& checkpoint, const std::string& job_name,
                     const std::string& empty_dirs, VolumeFolders& volumes, LocalJob& local) {
  if (!checkpoint.volume) {
    local.checkpoint_folder = volumes.FolderOf(job_name + "-checkpoint");
    return;
  }
  const auto folder = FolderOf(*checkpoint.volume, "spec.checkpoint.volume", volumes, local);
  local.checkpoint_folder = folder ? folder->path : empty_dirs + "/checkpoint";
  local.may_make_checkpoint_folder = !folder || folder->may_make;
}

// Where memory is shared nothing travels, and nothing is rounded.
void NoteWireTypes(const job::Network& network, std::vector<std::string>& notes) {
  if (network.transport != job::Transport::kAuto) return;
  const auto note = [&](const char* field, job::NumberType type) {
    if (type == job::NumberType::kFloat32) return;
    notes.push_back(fmt::format(
        "spec.network.{}: {} is of sockets; numbers are Float32 where processes share memory "
        "(network.transport: Sockets has them travel)",
        field, job::ToWord(type)));
  };
  note("gradientType", network.gradient_type);
  note("parameterType", network.parameter_type);
}

// A machine without a GPU runs a cluster's manifest on its CPU, and says so; what the manifest
// names is used or refused.
std::string ChooseDevice(const job::JobSpec& spec, job::Role role, std::string_view group,
                         std::vector<std::string>& notes) {
  const job::DeviceChoice choice = job::DeviceOf(spec, role, group);
  if (choice.device == job::Computes::kCpu) return "cpu";
  if (choice.is_by_name) return "cuda";
  if (choice.device == job::Computes::kCudaIfUsable)
    return "cuda-if-usable";  // DeviceNotes says so.
  notes.push_back(
      fmt::format("{}: computed on a GPU if this machine has one that works, else on the "
                  "CPU (workers.device: CUDA insists on one)",
                  choice.why));
  return "cuda-if-usable";
}

// The workers' mounts and the evaluator's: both read the job's files.
class FileMounts {
 public:
  void Add(const std::vector<Mount>& mounts, std::vector<job::FieldError>& errors) {
    for (const Mount& mount : mounts) {
      const auto same = std::ranges::find(mounts_, mount.mount_path, &Mount::mount_path);
      if (same == mounts_.end()) {
        mounts_.push_back(mount);
      } else if (same->folder != mount.folder) {
        errors.push_back({mount.field,
                          fmt::format("must lead to the same folder as {}, {}, on one machine: got "
                                      "{}",
                                      same->field, same->folder, mount.folder),
                          mount.line});
      }
    }
  }

  void Apply(job::JobSpec& spec) const {
    const auto map = [&](std::optional<std::string>& path) {
      if (path) path = Mapped(*path, mounts_);
    };
    map(spec.model.torch_script);
    map(spec.workers.working_dir);
    map(spec.data.train);
    map(spec.model.init);
    map(spec.data.train_targets);
    map(spec.data.eval);
    map(spec.data.eval_targets);
    for (job::Delay& delay : spec.chaos.delays) map(delay.trace);
  }

 private:
  std::vector<Mount> mounts_;
};

}  // namespace

LocalJob AdaptJob(const job::TrainingJob& job, const std::string& run_folder,
                  VolumeFolders& volumes) {
  const std::string empty_dirs = run_folder + "/volumes";
  LocalJob local;
  local.job = job;
  job::JobSpec& spec = local.job.spec;
  FileMounts files;
  const auto adapt = [&](job::Role role, std::string_view group, const std::string& field,
                         const job::PodTemplate& pod_template) {
    if (!pod_template) return;
    TemplateReading reading = ReadTemplate(
        field, *pod_template, role,
        role != job::Role::kParameterServer && !spec.workers.command.empty(), empty_dirs, volumes);
    if (role != job::Role::kParameterServer) files.Add(reading.mounts, local.errors);
    ProcessExtras& extras = local.extras[job::IdOf(role, 0, group).group];
    extras.environment = std::move(reading.environment);
    extras.arguments = std::move(reading.arguments);
    local.ignored.insert(local.ignored.end(), reading.ignored.begin(), reading.ignored.end());
    local.errors.insert(local.errors.end(), reading.errors.begin(), reading.errors.end());
  };
  const auto choose = [&](job::Role role, std::string_view group) {
    local.extras[job::IdOf(role, 0, group).group].device =
        ChooseDevice(spec, role, group, local.notes);
  };
  adapt(job::Role::kParameterServer, "", "spec.parameterServer.template",
        spec.parameter_server.pod_template);
  for (const job::GroupView& group : job::GroupsOf(spec.workers)) {
    adapt(job::Role::kWorker, group.name, group.path + ".template", *group.pod_template);
    choose(job::Role::kWorker, group.name);
  }
  if (spec.evaluator)
    adapt(job::Role::kEvaluator, "", "spec.evaluator.template", spec.evaluator->pod_template);
  choose(job::Role::kEvaluator, "");
  files.Apply(spec);
  AdaptOutput(spec.output, volumes, local);
  if (job::MayHaveDefaultCheckpoints(spec)) {
    local.checkpoint_folder = DefaultCheckpointFolder(run_folder);
    local.has_default_checkpoints = true;
  } else if (job::HasCheckpoints(spec)) {
    AdaptCheckpoint(*spec.checkpoint, job.metadata.name, empty_dirs, volumes, local);
  }
  IgnoreSetFields(spec, local.ignored);
  for (const std::string& caution : job::CautionsOf(job))
    local.notes.push_back("caution: " + caution);
  for (std::string& note : job::DeviceNotes(spec)) local.notes.push_back(std::move(note));
  if (spec.workers.straggler_policy.action == job::StragglerAction::kReplace) {
    local.notes.emplace_back(
        "spec.workers.stragglerPolicy.action: Replace means on one machine that a straggler is "
        "started again");
  }
  NoteWireTypes(spec.network, local.notes);
  if (spec.run_policy.suspend) {
    local.errors.push_back(
        {"spec.runPolicy.suspend", "must be false on one machine: nothing would run", 0});
  }
  return local;
}

namespace {

Status PrepareFolder(const std::string& field, const std::string& folder, bool may_make) {
  namespace fs = std::filesystem;
  if (may_make) {
    const Status made = files::MakeFolders(folder);
    if (!made.ok())
      return InvalidArgument("{}: cannot make folder {}: {}", field, folder, Message(made));
  }
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return InvalidArgument("{}: there is no folder {}", field, folder);
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return InvalidArgument("{}: cannot write into folder {}: {}", field, folder,
                           std::strerror(errno));
  }
  return OkStatus();
}

}  // namespace

Status PrepareFolders(const LocalJob& job) {
  if (job.output_folder) {
    PACELINE_RETURN_IF_ERROR(
        PrepareFolder("spec.output.volume", *job.output_folder, job.may_make_output_folder));
  }
  // The run's own folder is not there yet.
  if (!job.checkpoint_folder || job.has_default_checkpoints) return OkStatus();
  return PrepareFolder("spec.checkpoint.volume", *job.checkpoint_folder,
                       job.may_make_checkpoint_folder);
}

}  // namespace paceline::local

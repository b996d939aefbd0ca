// Fields of spec.parameterServer, workers, evaluator, checkpoint, output and security.
#pragma once

#include "lib/job/manifest/note.h"
#include "lib/job/manifest/spec/processes.h"

namespace paceline::job {

inline constexpr std::string_view kTemplateText =
    "pod template, as Kubernetes knows it; without restartPolicy, restarts are Paceline's";

template <class V>
void Fields(V& visit, ParameterServer& server) {
  visit("shards", server.shards,
        Note{.text = "processes that share the parameters",
             .mutability = kImmutable,
             .min = 1,
             .max = 1000});
  visit("template", server.pod_template, Note{.text = kTemplateText});
}

template <class V>
void Fields(V& visit, StragglerPolicy& policy) {
  visit("slowdownPercent", policy.slowdown_percent,
        Note{.text = "time for a sample, in percent of the median worker's, that makes a straggler",
             .max = 100000,
             .above = 100});
  visit(
      "forSeconds", policy.for_seconds,
      Note{.text = "for at least this long", .max = kSecondsMax, .above = 0, .is_duration = true});
  visit("action", policy.action,
        Note{.text = "say so, or also start the worker anew elsewhere (on one machine: there)"});
  visit("hangFactor", policy.hang_factor,
        Note{.text = "a step without progress for so many times its expected duration, and 30 s at "
                     "least, hangs: its worker is expelled and replaced",
             .max = 100000,
             .above = 1});
  visit("firstStepSeconds", policy.first_step_seconds,
        Note{.text = "the same for a worker's first step, which may compile or load",
             .max = kSecondsMax,
             .above = 0,
             .is_duration = true});
  visit("userCodeSeconds", policy.user_code_seconds,
        Note{.text = "the same for what a worker's script does between its steps, such as an "
                     "evaluation of its own",
             .max = kSecondsMax,
             .above = 0,
             .is_duration = true});
}

inline constexpr std::string_view kDeviceText =
    "what they compute on; Auto: CUDA where the template's container worker asks for "
    "nvidia.com/gpu or nvidia.com/mig-...; CUDA if usable, which is tried, where it has a resource "
    "claim or asks for what may be another GPU; else the CPU";
inline constexpr std::string_view kThreadsText =
    "that one worker computes with on the CPU, and copies with where it shares memory with shards; "
    "default OMP_NUM_THREADS, which on a cluster is the container's CPU limit or else its request";

template <class V>
void Fields(V& visit, WorkerGroup& group) {
  visit("name", group.name,
        Note{.text = "lower case letters and digits, a letter first; names of its pods have it, as "
                     "digits-big-3; not ps, worker, evaluator or operator",
             .presence = kRequired,
             .min = 1,
             .max = kGroupNameMax});
  visit("replicas", group.replicas,
        Note{.text = "how many workers of the group are wanted; may change while the job runs",
             .min = 0,
             .max = kProcessesMax});
  visit("minReplicas", group.min_replicas,
        Note{.text = "of these enough to start after "
                     "runPolicy.schedulingPolicy.scheduleTimeoutSeconds; 0: it need not be there",
             .min = 0,
             .max = kProcessesMax});
  visit("maxReplicas", group.max_replicas,
        Note{.text = "most that its replicas may be raised to; default replicas",
             .min = 0,
             .max = kProcessesMax});
  visit("template", group.pod_template, Note{.text = kTemplateText});
  visit("device", group.device, Note{.text = kDeviceText});
  visit("threads", group.threads, Note{.text = kThreadsText, .min = 1, .max = kThreadsMax});
}

template <class V>
void Fields(V& visit, Workers& workers) {
  visit("replicas", workers.replicas,
        Note{.text = "how many workers are wanted; may change while the job runs",
             .min = 1,
             .max = kProcessesMax});
  visit("minReplicas", workers.min_replicas,
        Note{.text = "enough to start after runPolicy.schedulingPolicy.scheduleTimeoutSeconds",
             .min = 1,
             .max = kProcessesMax});
  visit("maxReplicas", workers.max_replicas,
        Note{.text = "most that replicas may be raised to; default replicas",
             .min = 1,
             .max = kProcessesMax});
  visit("template", workers.pod_template, Note{.text = kTemplateText});
  visit("device", workers.device, Note{.text = kDeviceText});
  visit("threads", workers.threads, Note{.text = kThreadsText, .min = 1, .max = kThreadsMax});
  visit("groups", workers.groups,
        Note{.text = "several kinds of workers, each with a name and with what stands above, which "
                     "is then left out; groups may come and go while the job runs",
             .items_max = kGroupsMax});
  visit("command", workers.command,
        Note{.text =
                 "a program of yours that trains through the Python package `paceline`, such as "
                 "[python, train.py], in the place of paceline-worker; the evaluator runs it too, "
                 "and pods need an image that has it; model and data are its own",
             .mutability = kImmutable,
             .max = kPathMax,
             .items_max = kCommandMax});
  visit(
      "workingDir", workers.working_dir,
      Note{.text = "folder that the command starts in; default: the manifest's folder, in pods the "
                   "image's",
           .mutability = kImmutable,
           .min = 1,
           .max = kPathMax});
  visit("stragglerPolicy", workers.straggler_policy,
        Note{.text = "who counts as a straggler, and what then"});
}

template <class V>
void Fields(V& visit, Evaluator& evaluator) {
  visit("periodSeconds", evaluator.period_seconds,
        Note{.text = "between two evaluations of published versions",
             .max = kSecondsMax,
             .above = 0,
             .is_duration = true});
  visit("metric", evaluator.metric,
        Note{.text = "held-out number that makes one version better than another, for "
                     "stop.patience, ReduceOnPlateau and output.keep: Loss, Accuracy, or the name "
                     "of a metric of the model's or script's own",
             .min = 1,
             .max = kMetricMax});
  visit("better", evaluator.better,
        Note{.text = "which way the metric gets better; absent: Lower of Loss, else Higher"});
  visit("minDelta", evaluator.min_delta,
        Note{.text = "how much better counts as better", .min = 0, .max = 1e9});
  visit("template", evaluator.pod_template, Note{.text = kTemplateText});
}

template <class V>
void Fields(V& visit, Claim& claim) {
  visit("claimName", claim.claim_name,
        Note{.text = "a PersistentVolumeClaim of the job's namespace",
             .presence = kRequired,
             .min = 1,
             .max = 253,
             .is_object_name = true});
  visit("readOnly", claim.read_only, Note{.text = "whether the claim is mounted read-only"});
}

template <class V>
void Fields(V& visit, HostPath& host_path) {
  visit("path", host_path.path,
        Note{.text = "a folder of the host", .presence = kRequired, .min = 1, .max = kPathMax});
  visit("type", host_path.type,
        Note{.text = "what must be there, as in Kubernetes: Directory, DirectoryOrCreate, ...",
             .max = 63});
}

template <class V>
void Fields(V& visit, Volume& volume) {
  visit("persistentVolumeClaim", volume.persistent_volume_claim,
        Note{.text = "a claim that exists"});
  visit("hostPath", volume.host_path, Note{.text = "a folder of the host"});
  visit("emptyDir", volume.empty_dir,
        Note{.text = "lives as long as the pod; as in Kubernetes, whose other sources may stand "
                     "here too"});
}

template <class V>
void Fields(V& visit, ClaimRetention& retention) {
  visit("whenDeleted", retention.when_deleted, Note{.text = "whether the claims go with the job"});
  visit("whenScaled", retention.when_scaled,
        Note{.text = "whether a claim goes with its shard; shards cannot be scaled so far"});
}

template <class V>
void Fields(V& visit, Checkpoint& checkpoint) {
  visit("enabled", checkpoint.enabled,
        Note{.text = "false: none, not even those that come by default; a lost parameter server "
                     "costs all progress; changes only while the job is suspended"});
  visit("periodSeconds", checkpoint.period_seconds,
        Note{.text = "time between two checkpoints",
             .max = kSecondsMax,
             .above = 0,
             .is_duration = true});
  visit("keep", checkpoint.keep,
        Note{.text = "checkpoints kept, the newest ones", .min = 1, .max = 1000});
  visit("volume", checkpoint.volume,
        Note{.text = "shared by all shards; this or volumeClaimTemplate; changes only while the "
                     "job is suspended"});
  visit("volumeClaimTemplate", checkpoint.volume_claim_template,
        Note{.text = "a claim for each shard, as in a StatefulSet; this or volume",
             .mutability = kImmutable});
  visit("persistentVolumeClaimRetentionPolicy", checkpoint.claim_retention,
        Note{.text = "of the claims of volumeClaimTemplate, as in a StatefulSet"});
  visit("resume", checkpoint.resume,
        Note{.text = "whose checkpoints the job goes on from: those of its own uid, or FromClaim, "
                     "where it has none, the newest on the volume",
             .mutability = kImmutable});
}

template <class V>
void Fields(V& visit, Output& output) {
  visit("keep", output.keep,
        Note{.text = "which version becomes the model: the last one, or the best that was "
                     "evaluated, by evaluator.metric; Best needs data.eval; changes only while the "
                     "job is suspended"});
  visit("volume", output.volume,
        Note{.text = "where the final model goes; absent: on a laptop the run's folder, on a "
                     "cluster the coordinator's pod, which serves it to `paceline fetch`; changes "
                     "only while the job is suspended"});
}

template <class V>
void Fields(V& visit, Network& network) {
  visit("transferIdleSeconds", network.transfer_idle_seconds,
        Note{.text = "a push, fill or pull of which no byte moves for so long is given up and "
                     "tried again; one that moves may take as long as it takes; processes that "
                     "start later take a change",
             .min = 1,
             .max = 86400,
             .is_duration = true});
  visit("transport", network.transport,
        Note{.text = "how gradients and parameters travel: Auto: through shared memory where a "
                     "worker and the parameter servers are processes of one user on one machine "
                     "(`paceline run`), through sockets elsewhere; Sockets: always; processes that "
                     "start later take a change"});
  visit(
      "gradientType", network.gradient_type,
      Note{.text = "how gradients travel through sockets: BFloat16 halves their bytes, and rounds "
                   "them to the nearest; shared memory, buffers and the deltas of local steps "
                   "keep Float32",
           .mutability = kImmutable});
  visit("parameterType", network.parameter_type,
        Note{.text = "how parameters travel through sockets to workers, which compute on what "
                     "arrives: as gradientType; the parameter servers, checkpoints, the evaluator "
                     "and the model have Float32 in any case",
             .mutability = kImmutable});
  visit("bucketBytes", network.bucket_bytes,
        Note{.text = "gradients travel through sockets while the backward pass goes on, as soon as "
                     "so many bytes of them are there; those of a model that is no larger travel "
                     "at its end; processes that start later take a change",
             .min = 65536,
             .max = 1099511627776.0});
}

template <class V>
void Fields(V& visit, Security& security) {
  visit("mtls", security.mtls,
        Note{.text = "encryption and mutual authentication between pods; a laptop needs none",
             .mutability = kImmutable});
}

}  // namespace paceline::job

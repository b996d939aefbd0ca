// Fields of status.
#pragma once

#include "lib/job/manifest/note.h"
#include "lib/job/state/status.h"

namespace paceline::job {

template <class V>
void Fields(V& visit, Condition& condition) {
  visit("type", condition.type, Note{.text = "what the condition is about", .presence = kRequired});
  visit("status", condition.status,
        Note{.text = "whether it holds: True, False or Unknown", .presence = kRequired});
  visit("reason", condition.reason, Note{.text = "one word for programs"});
  visit("message", condition.message, Note{.text = "one sentence for people"});
  visit("observedGeneration", condition.observed_generation,
        Note{.text = "metadata.generation it was judged on"});
  visit("lastTransitionTime", condition.last_transition_time,
        Note{.text = "when status last changed"});
}

template <class V>
void Fields(V& visit, ReplicaStatus& status) {
  visit("active", status.active, Note{.text = "that are pending or running"});
  visit("ready", status.ready, Note{.text = "that run and can be used"});
  visit("succeeded", status.succeeded, Note{.text = "that ended with exit code 0"});
  visit("failed", status.failed, Note{.text = "that ended otherwise and were not replaced yet"});
}

template <class V>
void Fields(V& visit, ReplicaStatuses& statuses) {
  visit("parameterServer", statuses.parameter_server,
        Note{.text = "of the parameter servers, the coordinator among them"});
  visit("worker", statuses.worker, Note{.text = "of the workers"});
  visit("evaluator", statuses.evaluator, Note{.text = "of the evaluator, if there is one"});
}

template <class V>
void Fields(V& visit, Progress& progress) {
  visit("step", progress.step,
        Note{.text = "commits so far, which is the version of the parameters"});
  visit("epoch", progress.epoch, Note{.text = "passes over the data so far"});
  visit(
      "percent", progress.percent,
      Note{.text = "how much of maxEpochs or maxSteps is done; a target may end training before"});
  visit("done", progress.done, Note{.text = "percent and step for people, as \"62%, step 230\""});
  visit("etaSeconds", progress.eta_seconds,
        Note{.text = "seconds that are left at the present pace"});
  visit("eta", progress.eta, Note{.text = "the same for people, as 1h20m"});
  visit("loss", progress.loss, Note{.text = "loss of the training samples, smoothed"});
  visit(
      "metric", progress.metric,
      Note{.text = "newest held-out value of the metric of training.stop.target; accuracy without "
                   "one"});
  visit("accuracy", progress.accuracy, Note{.text = "newest accuracy on the held-out samples"});
  visit("samplesPerSecond", progress.samples_per_second,
        Note{.text = "samples that were committed in a second, smoothed"});
  visit("slowest", progress.slowest,
        Note{.text = "the slowest worker and how many times the median worker's time it takes, as "
                     "\"digits-worker-3 1.8x\""});
  visit("lastUpdateTime", progress.last_update_time, Note{.text = "when the coordinator said so"});
}

template <class V>
void Fields(V& visit, SyncStatus& sync) {
  visit("scheme", sync.scheme, Note{.text = "the scheme that is in force now"});
  visit("waitingFor", sync.waiting_for, Note{.text = "workers whose pushes the next commit takes"});
  visit("backupWorkers", sync.backup_workers,
        Note{.text = "workers that the next commit does not wait for"});
  visit("summary", sync.summary,
        Note{.text = "scheme, parts and k for people, as \"DBW+EagerPull k=3\""});
}

template <class V>
void Fields(V& visit, WorkerStatus& worker) {
  visit("name", worker.name,
        Note{.text = "the worker, by the name of its pod", .presence = kRequired});
  visit("group", worker.group,
        Note{.text = "the group of workers that it is of: worker, where a job has no groups"});
  visit("index", worker.index, Note{.text = "which of its group, from 0 on"});
  visit("pod", worker.pod, Note{.text = "the pod that it runs in"});
  visit("node", worker.node, Note{.text = "the machine that it runs on"});
  visit("state", worker.state,
        Note{.text = "Training, Quarantined (its pushes do not count), or Gone"});
  visit("device", worker.device, Note{.text = "what it computes on, CPU or CUDA"});
  visit("threads", worker.threads, Note{.text = "threads that it computes with"});
  visit("batchSize", worker.batch_size, Note{.text = "samples that it computes in a step"});
  visit("computeSecondsP50", worker.compute_seconds_p50,
        Note{.text = "median time to compute a step"});
  visit("slowdownPercent", worker.slowdown_percent,
        Note{.text = "its time for a sample, in percent of the median worker's"});
}

template <class V>
void Fields(V& visit, GroupStatus& group) {
  visit("name", group.name,
        Note{.text = "the group, as spec.workers.groups has it", .presence = kRequired});
  visit(
      "device", group.device,
      Note{.text = "what its workers are to compute on: CPU, CUDA, or CUDA or CPU where what their "
                   "template holds may be a GPU"});
  visit("replicas", group.replicas, Note{.text = "how many of them are wanted"});
  visit("active", group.active, Note{.text = "that are pending or running"});
  visit("ready", group.ready, Note{.text = "that run and can be used"});
}

template <class V>
void Fields(V& visit, AvoidedNode& avoided) {
  visit("name", avoided.name,
        Note{.text = "the process, by the name of its pod", .presence = kRequired});
  visit("node", avoided.node,
        Note{.text = "where it was slow or stuck; its next starts are on others"});
  visit("hasNoOther", avoided.has_no_other,
        Note{.text = "no other machine had room in scheduleTimeoutSeconds: it may come back"});
}

template <class V>
void Fields(V& visit, CheckpointStatus& checkpoint) {
  visit("version", checkpoint.version, Note{.text = "of the newest complete checkpoint"});
  visit("completionTime", checkpoint.completion_time, Note{.text = "when it was complete"});
}

template <class V>
void Fields(V& visit, RecoveryStatus& recovery) {
  visit("rollBacks", recovery.roll_backs, Note{.text = "times that training went back, all told"});
  visit("lostSteps", recovery.lost_steps,
        Note{.text = "steps that were done and are void, by all of them"});
  visit("lostSeconds", recovery.lost_seconds,
        Note{.text = "training that is void, by all of them; the rest is about the last one"});
  visit("fromVersion", recovery.from_version, Note{.text = "newest step before it"});
  visit("toVersion", recovery.to_version, Note{.text = "step it went back to; 0: begun anew"});
  visit("message", recovery.message, Note{.text = "why and to where"});
  visit("time", recovery.time, Note{.text = "when it was heard of"});
  visit("coordinatorStart", recovery.coordinator_start,
        Note{.text = "which coordinator's, by coordinatorStarts"});
  visit("coordinatorRollBacks", recovery.coordinator_roll_backs,
        Note{.text = "that coordinator's so far"});
  visit("coordinatorLostSteps", recovery.coordinator_lost_steps,
        Note{.text = "what those cost in steps"});
  visit("coordinatorLostSeconds", recovery.coordinator_lost_seconds,
        Note{.text = "what those cost in training"});
}

template <class V>
void Fields(V& visit, FinishingStatus& finishing) {
  visit("coordinatorStart", finishing.coordinator_start,
        Note{.text = "which coordinator said so, by coordinatorStarts"});
  visit("modelVersion", finishing.model_version,
        Note{.text = "step of the final model, once it is written"});
}

template <class V>
void Fields(V& visit, ModelStatus& model) {
  visit("state", model.state,
        Note{.text = "what became of it: Available is served by its pod, for `paceline fetch`",
             .presence = kRequired});
  visit("where", model.where, Note{.text = "the pod that serves it, or the volume and the path"});
  visit("until", model.until, Note{.text = "when that pod goes, and the model with it"});
  visit("version", model.version, Note{.text = "the step that it is of"});
  visit("sizeBytes", model.size_bytes, Note{.text = "bytes that the file has"});
  visit("sha256", model.sha256, Note{.text = "SHA-256 of the file, in hexadecimal digits"});
  visit("message", model.message, Note{.text = "how to get at it, or why one cannot"});
}

template <class V>
void Fields(V& visit, Remembered& remembered) {
  visit("isRecovering", remembered.is_recovering,
        Note{.text = "a parameter server is on its way back, and training with it"});
  visit("wasResumed", remembered.was_resumed, Note{.text = "the job goes on after a suspension"});
  visit("isEvaluatorGone", remembered.is_evaluator_gone,
        Note{.text = "the evaluator is not started again; status.evaluatorGone says why"});
  visit("hasCoordinatorEnded", remembered.has_coordinator_ended,
        Note{.text = "the coordinator has ended the job, and its processes end by themselves"});
  visit("degraded", remembered.degraded,
        Note{.text = "what Degraded was said to hold for; empty: it does not hold"});
  visit("resources", remembered.resources, Note{.text = "what was said of ResourcesReady"});
  visit("noCheckpoints", remembered.no_checkpoints,
        Note{.text = "why it was said that there are none; empty: there are"});
  visit("noteOfStart", remembered.note_of_start,
        Note{.text = "which coordinator's checkpointNote was told, by coordinatorStarts"});
}

template <class V>
void Fields(V& visit, JobStatus& status) {
  visit("conditions", status.conditions, Note{.text = "what holds, by type", .items_max = 16});
  visit("observedGeneration", status.observed_generation,
        Note{.text = "metadata.generation of this status"});
  visit("startTime", status.start_time, Note{.text = "first start, or the newest resume"});
  visit("completionTime", status.completion_time, Note{.text = "when it succeeded or failed"});
  visit("state", status.state, Note{.text = "the conditions as one word"});
  visit("replicas", status.replicas, Note{.text = "workers that there are"});
  visit("readyWorkers", status.ready_workers,
        Note{.text = "workers that run, of those wanted, as 3/4"});
  visit("selector", status.selector, Note{.text = "labels of the workers' pods"});
  visit("replicaStatuses", status.replica_statuses,
        Note{.text = "how many processes there are of each role"});
  visit("progress", status.progress, Note{.text = "how far training is"});
  visit("sync", status.sync, Note{.text = "what the policy does now"});
  visit("workers", status.workers,
        Note{.text = "the slowest 20 at most, by name", .items_max = 20});
  visit("workerGroups", status.worker_groups,
        Note{.text = "how many workers there are of each of spec.workers.groups",
             .items_max = kGroupsMax});
  visit("avoidedNodes", status.avoided_nodes,
        Note{.text = "machines that processes were moved away from", .items_max = 20});
  visit("checkpoint", status.checkpoint, Note{.text = "the newest checkpoint that is complete"});
  visit("checkpointNote", status.checkpoint_note,
        Note{.text = "what was made of the checkpoints that were there before"});
  visit("recovery", status.recovery, Note{.text = "returns to an earlier version"});
  visit("finishing", status.finishing,
        Note{.text = "training has reached its stop; what is left is to write and to judge"});
  visit("standstill", status.standstill,
        Note{.text = "why training stands still: the parameter server, or the worker's script, "
                     "that others wait for"});
  visit("evaluatorGone", status.evaluator_gone,
        Note{.text = "why the evaluator is not started again"});
  visit("poisonedSamples", status.poisoned_samples,
        Note{.text = "samples left out because they made two workers ill, or ended them"});
  visit("model", status.model, Note{.text = "where the final model is, once it is written"});
  visit("restarts", status.restarts, Note{.text = "processes started again, all told"});
  visit("failures", status.failures,
        Note{.text = "of those, the ones that count against backoffLimit"});
  visit(
      "gaveWay", status.gave_way,
      Note{.text = "times in a row that the job found too few machines and made room for others"});
  visit("givesWayUntil", status.gives_way_until, Note{.text = "when it tries again"});
  visit("coordinatorStarts", status.coordinator_starts,
        Note{.text = "coordinators started, which fences older ones"});
  visit(
      "installation", status.installation,
      Note{.text = "which installation of Paceline has the job; its ConfigMap decides, not this"});
  visit("remembered", status.remembered,
        Note{.text = "what the planner decides by; all that people read is written, never read"});
}

}  // namespace paceline::job

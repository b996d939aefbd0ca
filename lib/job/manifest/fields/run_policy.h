// Fields of spec.runPolicy and spec.chaos.
#pragma once

#include "lib/job/manifest/note.h"
#include "lib/job/manifest/spec/run_policy.h"

namespace paceline::job {

// Workers that one delay or link can list: what the API server's rules can afford to look through.
inline constexpr size_t kListedWorkersMax = 1000;

template <class V>
void Fields(V& visit, SchedulingPolicy& policy) {
  visit("minAvailable", policy.min_available,
        Note{.text = "pods that must be schedulable together", .min = 1, .max = 2 * kProcessesMax});
  visit("queue", policy.queue,
        Note{.text = "of the cluster's batch scheduler",
             .min = 1,
             .max = 253,
             .is_object_name = true});
  visit("priorityClass", policy.priority_class,
        Note{.text = "the PriorityClass of the pods, where their template names none",
             .min = 1,
             .max = 253,
             .is_object_name = true});
  visit("schedulerName", policy.scheduler_name,
        Note{.text = "who places the pods, where their template names nobody; absent: the gang "
                     "scheduler for jobs that ask for one, else the cluster's own",
             .min = 1,
             .max = 253});
  visit("minResources", policy.min_resources,
        Note{.text = "what must be free in all before the first pod is placed, as in resource "
                     "requests: {cpu: 8, nvidia.com/gpu: 4}"});
  visit("scheduleTimeoutSeconds", policy.schedule_timeout_seconds,
        Note{.text = "after which workers.minReplicas are enough to start",
             .min = 1,
             .max = kSecondsMax,
             .is_duration = true});
}

template <class V>
void Fields(V& visit, ExitCodePattern& pattern) {
  visit("operator", pattern.op,
        Note{.text = "whether the exit code is one of values, or is none of them",
             .presence = kRequired});
  visit("values", pattern.values,
        Note{.text = "exit codes; 128 and a signal's number for one that ended the process",
             .presence = kRequired,
             .min = 1,
             .max = 255,
             .items_max = 255});
}

template <class V>
void Fields(V& visit, PodConditionPattern& pattern) {
  visit("type", pattern.type,
        Note{.text = "of a condition of the pod, such as DisruptionTarget",
             .presence = kRequired,
             .min = 1,
             .max = 316});
  visit("status", pattern.status, Note{.text = "that the condition has"});
}

template <class V>
void Fields(V& visit, FailureRule& rule) {
  visit("action", rule.action,
        Note{.text = "FailJob: the job fails at once; Ignore: no failure, as a disruption is none; "
                     "Count: a failure, for backoffLimit to count",
             .presence = kRequired});
  visit("onExitCodes", rule.on_exit_codes,
        Note{.text = "matches how the process ended; 0 never matches"});
  visit("onPodConditions", rule.on_pod_conditions,
        Note{.text = "matches if the pod has one of these conditions", .items_max = 20});
}

template <class V>
void Fields(V& visit, FailurePolicy& policy) {
  visit("rules", policy.rules,
        Note{.text = "tried in order; the first that matches decides, and without any the table in "
                     "docs/conditions.md",
             .presence = kRequired,
             .items_max = 20});
}

template <class V>
void Fields(V& visit, RunPolicy& policy) {
  visit("suspend", policy.suspend,
        Note{.text = "stop all processes, and start them again when false"});
  visit("activeDeadlineSeconds", policy.active_deadline_seconds,
        Note{.text = "the job fails when it runs longer; counts anew at each resume",
             .min = 1,
             .max = kSecondsMax,
             .is_duration = true});
  visit("backoffLimit", policy.backoff_limit,
        Note{.text = "failures of processes before the job fails; disruptions do not count",
             .min = 0,
             .max = 1e6});
  visit("failurePolicy", policy.failure_policy,
        Note{.text = "which ends of processes are failures, which are not, and which end the job"});
  visit("ttlSecondsAfterFinished", policy.ttl_seconds_after_finished,
        Note{.text = "when a finished job is deleted; absent: never",
             .min = 0,
             .max = kSecondsMax,
             .is_duration = true});
  visit("cleanPodPolicy", policy.clean_pod_policy,
        Note{.text = "which pods are deleted when the job is finished"});
  visit("nodeLostSeconds", policy.node_lost_seconds,
        Note{.text = "after which the pods of a dead node are replaced",
             .min = 1,
             .max = kSecondsMax,
             .is_duration = true});
  visit("managedBy", policy.managed_by,
        Note{.text = "the controller that runs the job",
             .mutability = kImmutable,
             .min = 1,
             .max = 63});
  visit("schedulingPolicy", policy.scheduling_policy,
        Note{.text = "how pods come onto the cluster"});
}

inline constexpr std::string_view kGroupText =
    "group of workers that it hits, of a job with groups; all that goes by index goes by the index "
    "in a worker's group; absent: all groups";

template <class V>
void Fields(V& visit, Delay& delay) {
  visit("kind", delay.kind, Note{.text = "what the delay is like", .presence = kRequired});
  visit("group", delay.group, Note{.text = kGroupText, .min = 1, .max = kGroupNameMax});
  visit("workers", delay.workers,
        Note{.text = "indices of the workers that it hits; absent: all",
             .min = 0,
             .max = kProcessesMax,
             .items_max = kListedWorkersMax});
  visit("seconds", delay.seconds,
        Note{.text = "Constant: added to each step", .max = 3600, .above = 0});
  visit("perWorker", delay.per_worker,
        Note{.text = "PerWorker: seconds added to each step, by index",
             .min = 0,
             .max = 3600,
             .items_max = kListedWorkersMax});
  visit("secondsPerSample", delay.seconds_per_sample,
        Note{.text = "PerSample: added for each sample of a step", .max = 3600, .above = 0});
  visit("scale", delay.scale,
        Note{.text = "ShiftedExponential: mean length of a step, seconds; the step is drawn out to "
                     "the length drawn",
             .max = 3600,
             .above = 0});
  visit("alpha", delay.alpha,
        Note{.text = "ShiftedExponential: share of a step that is random", .min = 0, .max = 1});
  visit("ratio", delay.ratio,
        Note{.text = "Ratio: capacity that is left, the step so far is divided by it",
             .max = 1,
             .above = 0});
  visit(
      "atStep", delay.at_step,
      Note{.text = "StepChange: first slow step of a worker's process, which counts its own from 0",
           .min = 0,
           .max = kCountMax});
  visit(
      "factor", delay.factor,
      Note{
          .text = "StepChange: by how much the step so far is drawn out", .max = 1000, .above = 1});
  visit("fraction", delay.fraction,
        Note{.text = "StepChange: share of the workers that it hits, spread evenly: 0.5 is every "
                     "second one",
             .max = 1,
             .above = 0});
  visit("trace", delay.trace,
        Note{.text = "Trace: CSV file of seconds added, one row a step, one column a worker, from "
                     "the start again at its end",
             .min = 1,
             .max = kPathMax});
}

template <class V>
void Fields(V& visit, LinkLimit& limit) {
  visit("group", limit.group, Note{.text = kGroupText, .min = 1, .max = kGroupNameMax});
  visit("workers", limit.workers,
        Note{.text = "indices of the workers; absent: all",
             .min = 0,
             .max = kProcessesMax,
             .items_max = kListedWorkersMax});
  visit(
      "bytesPerSecond", limit.bytes_per_second,
      Note{
          .text = "what the link carries, each way", .presence = kRequired, .min = 1, .max = 1e15});
  visit("latencySeconds", limit.latency_seconds,
        Note{.text = "added to each push and each pull", .min = 0, .max = 60});
}

template <class V>
void Fields(V& visit, Chaos& chaos) {
  visit("enabled", chaos.enabled,
        Note{.text = "inject what follows, which is refused otherwise; never for production"});
  visit("seed", chaos.seed, Note{.text = "equal seeds give equal delays", .min = 0});
  visit("delays", chaos.delays,
        Note{.text = "in the compute phase, one after the other; Ratio and StepChange stretch what "
                     "those before them left",
             .items_max = 32});
  visit("links", chaos.links,
        Note{.text = "links that are slower than they would be", .items_max = 32});
}

}  // namespace paceline::job

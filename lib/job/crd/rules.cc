#include "lib/job/crd/rules.h"

namespace paceline::job {
namespace {

// Most workers that there may be, of a spec.
#define MOST_WORKERS(spec) \
  "(has(" spec ".workers.maxReplicas) ? " spec ".workers.maxReplicas : " spec ".workers.replicas)"
#define HOLDS_TARGETS(field) "(" field ".endsWith('.safetensors') || " field ".endsWith('.bin'))"
#define KNOB(kind, knob)                                                          \
  "spec.chaos.delays[]", knob, "(self.kind == '" kind "') == has(self." knob ")", \
      knob " is required with kind " kind " and is for that kind only", "'kind ' + self.kind"

// In the order of the manifest. Optional fields need has(); all others have defaults. An API server
// tries them at each write, a status' too, and walks over all neighbours of a field to find it:
// what settles a rule for most jobs comes first in it, and a rule stands as deep as its fields
// allow.
constexpr Rule kRules[] = {
    // Rules may look at the name, but not at the length of a number's text.
    {"", "", "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
     "metadata.name must be lower case letters, digits and '-', beginning with a letter and ending "
     "with a letter or digit: a Service gets that name"},
    {"", "",
     "size(self.metadata.name) <= 51 || size(self.metadata.name) <= (" MOST_WORKERS(
         "self.spec") " > 1000 ? 51 : " MOST_WORKERS("self.spec") " > 100 ? 52 : 53)",
     "metadata.name must leave room for the names of pods, which add -worker- and a number and may "
     "have 63 characters"},

    {"spec.model", "", "has(self.torchScript) != has(self.builtIn)",
     "must have torchScript (a file) or builtIn (Softmax, Mlp, Cnn), and not both"},
    {"spec.model", "inputShape",
     "has(self.torchScript) ? !has(self.inputShape) || size(self.inputShape) == 0 : "
     "has(self.inputShape) && size(self.inputShape) > 0",
     "inputShape is required with builtIn, the shape of one sample, and is for builtIn only"},
    {"spec.model", "inputShape",
     "!has(self.builtIn) || self.builtIn != 'Cnn' || !has(self.inputShape) || "
     "size(self.inputShape) == 3",
     "inputShape must have 3 numbers with builtIn Cnn, [channels, height, width]"},
    {"spec.model", "classes", "has(self.torchScript) != has(self.classes)",
     "classes is required with builtIn, the length of the output, and is for builtIn only"},
    {"spec.model", "hidden", "!has(self.hidden) || has(self.builtIn) && self.builtIn != 'Softmax'",
     "hidden is for builtIn Mlp and Cnn only"},
    {"spec.model", "loss", "!has(self.builtIn) || self.loss != 'Model'",
     "loss Model needs a torchScript file with a method loss"},

    {"spec.data", "trainTargets", HOLDS_TARGETS("self.train") " != has(self.trainTargets)",
     "trainTargets is required unless train is .safetensors or .bin, which hold inputs and targets",
     "'train ' + self.train"},
    {"spec.data", "evalTargets",
     "has(self.eval) ? " HOLDS_TARGETS("self.eval") " != has(self.evalTargets) : "
                                                    "!has(self.evalTargets)",
     "evalTargets goes with eval, and is required unless that is .safetensors or .bin, which hold "
     "inputs and targets"},
    {"spec.data", "sequenceLength",
     "(self.train.endsWith('.bin') || has(self.eval) && self.eval.endsWith('.bin')) == "
     "has(self.sequenceLength)",
     "sequenceLength is required with .bin files, the tokens of one sample, and is for those only"},

    {"spec.training", "microBatchSize",
     "!has(self.microBatchSize) || self.microBatchSize <= self.globalBatchSize",
     "microBatchSize must be at most globalBatchSize"},
    // Rules of a field are not tried where it comes or goes.
    {"spec.training", "",
     "has(self.microBatchSize) == has(oldSelf.microBatchSize) && has(self.gradientClipNorm) == "
     "has(oldSelf.gradientClipNorm) && has(self.nonFinite) == has(oldSelf.nonFinite)",
     "microBatchSize, gradientClipNorm and nonFinite cannot change once the job exists"},
    {"spec.training.stop", "target", "has(self.target) == has(oldSelf.target)",
     "target cannot change once the job exists"},
    {"spec.training.optimizer", "sgd",
     "self.type != 'SGD' || !has(self.sgd) || !self.sgd.nesterov || self.sgd.momentum > 0.0 && "
     "self.sgd.dampening == 0.0",
     "sgd.nesterov needs sgd.momentum more than 0 and sgd.dampening 0"},
    {"spec.training", "learningRate",
     "has(self.stop.maxEpochs) || has(self.stop.maxSteps) || "
     "!(self.learningRate.schedule in ['Cosine', 'Linear'])",
     "learningRate.schedule Cosine or Linear needs stop.maxEpochs or stop.maxSteps, where it ends"},
    {"spec.training.learningRate", "final",
     "!(self.schedule in ['Cosine', 'Linear']) || self.final <= self.base",
     "final must be at most base"},
    {"spec.training", "learningRate",
     "!has(self.stop.maxSteps) || self.learningRate.warmupSteps < self.stop.maxSteps",
     "learningRate.warmupSteps must be less than stop.maxSteps"},
    {"spec.training.stop", "", "has(self.maxEpochs) || has(self.maxSteps) || has(self.target)",
     "must have maxEpochs, maxSteps or target"},
    {"spec.training.stop.target", "value", "self.metric != 'Accuracy' || self.value <= 1.0",
     "value must be at most 1, a share of the samples, with metric Accuracy"},
    {"spec", "training", "!has(self.training.stop.target) || has(self.data.eval)",
     "training.stop.target needs data.eval, the held-out samples that it is measured on"},
    {"spec", "training",
     "!has(self.training.stop.target) || self.training.stop.target.metric != 'Accuracy' || "
     "self.model.loss != 'MeanSquaredError'",
     "training.stop.target.metric must be Loss with model.loss MeanSquaredError, which has no "
     "classes"},
    {"spec", "training",
     "!self.training.deterministic || self.sync.scheme == 'BSP' && "
     "(!has(self.sync.batchSizing) || self.sync.batchSizing.strategy == 'Equal')",
     "training.deterministic needs sync.scheme BSP and sync.batchSizing.strategy Equal",
     "self.sync.scheme + ' and ' + "
     "(has(self.sync.batchSizing) ? self.sync.batchSizing.strategy : 'Equal')"},
    {"spec", "training", "self.workers.replicas <= self.training.globalBatchSize",
     "training.globalBatchSize must be at least workers.replicas, so that each worker has a "
     "sample"},
    {"spec", "workers",
     "!has(self.workers.maxReplicas) || self.workers.maxReplicas <= self.training.globalBatchSize",
     "workers.maxReplicas must be at most training.globalBatchSize, so that each worker has a "
     "sample"},

    {"spec", "sync",
     "self.sync.scheme != 'BackupWorkers' || (has(self.sync.backupWorkers) ? "
     "self.sync.backupWorkers.count : 1) < self.workers.replicas",
     "sync.backupWorkers.count must be less than workers.replicas"},
    {"spec", "sync",
     "!has(self.sync.dbw) || self.sync.scheme != 'DBW' || "
     "self.sync.dbw.minWorkers <= self.workers.replicas",
     "sync.dbw.minWorkers must be at most workers.replicas"},
    {"spec.sync", "dbw",
     "!has(self.dbw) || self.scheme != 'DBW' || (self.dbw.learningRateRule == 'Table') == "
     "(has(self.dbw.learningRateFactors) && size(self.dbw.learningRateFactors) > 0)",
     "dbw.learningRateFactors is required with learningRateRule Table and is for that rule only"},
    {"spec", "sync",
     "self.sync.scheme != 'DBW' || has(self.sync.dbw) && self.sync.dbw.method != 'Gain' || "
     "self.training.optimizer.type != 'AdamW'",
     "sync.dbw.method must be Blind or AdaSync with optimizer AdamW, whose steps are not the "
     "gradient's that the gain is worked out for"},
    {"spec.sync.batchSizing", "maxBatchSize",
     "!has(self.maxBatchSize) || self.maxBatchSize >= self.minBatchSize",
     "maxBatchSize must be at least minBatchSize"},
    {"spec.sync.batchSizing", "rapidPercent", "self.rapidPercent > self.deadBandPercent",
     "rapidPercent must be more than deadBandPercent"},
    {"spec.sync", "batchSizing",
     "!has(self.batchSizing) || self.batchSizing.strategy == 'Equal' || "
     "self.scheme in ['BSP', 'BackupWorkers', 'DBW']",
     "batchSizing.strategy must be Equal with a scheme that has no barrier to arrive at together",
     "self.batchSizing.strategy + ' with ' + self.scheme"},
    {"spec", "sync",
     "!has(self.sync.batchSizing) || self.sync.batchSizing.strategy == 'Equal' || "
     "self.sync.batchSizing.minBatchSize * self.workers.replicas <= self.training.globalBatchSize",
     "sync.batchSizing.minBatchSize must leave workers.replicas x minBatchSize within "
     "training.globalBatchSize"},
    {"spec", "sync",
     "!has(self.sync.batchSizing) || self.sync.batchSizing.strategy == 'Equal' || "
     "!has(self.sync.batchSizing.maxBatchSize) || self.sync.batchSizing.maxBatchSize * "
     "self.workers.replicas >= self.training.globalBatchSize",
     "sync.batchSizing.maxBatchSize must let workers.replicas x maxBatchSize reach "
     "training.globalBatchSize"},

    {"spec.parameterServer.template.metadata", "labels",
     "!has(self.labels) || !('kueue.x-k8s.io/pod-group-name' in self.labels)",
     "labels must not have kueue.x-k8s.io/pod-group-name, Kueue keeps the names of a group's lost "
     "pods; kueue.x-k8s.io/queue-name queues each pod"},
    {"spec.parameterServer.template.spec", "restartPolicy", "!has(self.restartPolicy)",
     "restartPolicy must be absent, since restarts are Paceline's (runPolicy.backoffLimit)"},
    {"spec.workers", "minReplicas", "self.minReplicas <= self.replicas",
     "minReplicas must be at most replicas"},
    {"spec.workers", "maxReplicas", "!has(self.maxReplicas) || self.maxReplicas >= self.replicas",
     "maxReplicas must be at least replicas"},
    {"spec.workers.template.metadata", "labels",
     "!has(self.labels) || !('kueue.x-k8s.io/pod-group-name' in self.labels)",
     "labels must not have kueue.x-k8s.io/pod-group-name, Kueue keeps the names of a group's lost "
     "pods; kueue.x-k8s.io/queue-name queues each pod"},
    {"spec.workers.template.spec", "restartPolicy", "!has(self.restartPolicy)",
     "restartPolicy must be absent, since restarts are Paceline's (runPolicy.backoffLimit)"},
    {"spec", "evaluator", "!has(self.evaluator) || has(self.data.eval)",
     "evaluator needs data.eval, the held-out samples that it evaluates on"},
    {"spec.evaluator.template.metadata", "labels",
     "!has(self.labels) || !('kueue.x-k8s.io/pod-group-name' in self.labels)",
     "labels must not have kueue.x-k8s.io/pod-group-name, Kueue keeps the names of a group's lost "
     "pods; kueue.x-k8s.io/queue-name queues each pod"},
    {"spec.evaluator.template.spec", "restartPolicy", "!has(self.restartPolicy)",
     "restartPolicy must be absent, since restarts are Paceline's (runPolicy.backoffLimit)"},
    {"spec.checkpoint", "",
     "has(self.volume) != has(self.volumeClaimTemplate) || !self.enabled && !has(self.volume)",
     "must have volume or volumeClaimTemplate, and not both"},
    {"spec.checkpoint", "volume",
     "!has(self.volume) || !has(self.volume.persistentVolumeClaim) || "
     "!self.volume.persistentVolumeClaim.readOnly",
     "volume.persistentVolumeClaim.readOnly must be false, checkpoints are written there"},
    {"spec.checkpoint", "persistentVolumeClaimRetentionPolicy",
     "!has(self.persistentVolumeClaimRetentionPolicy) || !has(self.volume)",
     "persistentVolumeClaimRetentionPolicy is for the claims that volumeClaimTemplate makes; a "
     "volume of yours is never deleted: leave it out"},
    {"spec.output", "volume",
     "!has(self.volume) || !has(self.volume.persistentVolumeClaim) || "
     "!self.volume.persistentVolumeClaim.readOnly",
     "volume.persistentVolumeClaim.readOnly must be false, the model is written there"},
    // Of changes: what runs keeps the volumes that it was started with, what is started again would
    // get others.
    {"spec", "checkpoint",
     "oldSelf.runPolicy.suspend || has(self.checkpoint) == has(oldSelf.checkpoint) && "
     "(!has(self.checkpoint) || self.checkpoint.enabled == oldSelf.checkpoint.enabled && "
     "has(self.checkpoint.volume) == has(oldSelf.checkpoint.volume) && "
     "(!has(self.checkpoint.volume) || self.checkpoint.volume == oldSelf.checkpoint.volume))",
     "checkpoint may come, go and get another volume only while runPolicy.suspend is true"},
    {"spec", "output", "oldSelf.runPolicy.suspend || self.output == oldSelf.output",
     "output.volume may change only while runPolicy.suspend is true"},
    {"spec.runPolicy", "managedBy", "self.managedBy.matches('^[^/]+/[^/]+$')",
     "managedBy must be a domain, a slash and a name, such as paceline.dev/operator",
     "self.managedBy"},
    {"spec", "runPolicy",
     "!has(self.runPolicy.schedulingPolicy.minAvailable) || "
     "self.runPolicy.schedulingPolicy.minAvailable <= self.parameterServer.shards + "
     "self.workers.replicas + (has(self.evaluator) || has(self.data.eval) ? 1 : 0)",
     "runPolicy.schedulingPolicy.minAvailable must be at most the job's processes"},

    {"spec.runPolicy.failurePolicy.rules[]", "",
     "has(self.onExitCodes) != (has(self.onPodConditions) && size(self.onPodConditions) > 0)",
     "must have onExitCodes or onPodConditions, and not both"},
    {"spec.runPolicy.failurePolicy.rules[].onExitCodes", "values", "size(self.values) > 0",
     "values must have an exit code"},

    {"spec.chaos", "enabled",
     "!self.enabled || has(self.delays) && size(self.delays) > 0 || has(self.links) && "
     "size(self.links) > 0",
     "enabled needs delays or links to inject"},
    {"spec.chaos", "enabled",
     "self.enabled || (!has(self.delays) || size(self.delays) == 0) && (!has(self.links) || "
     "size(self.links) == 0)",
     "enabled must be true with delays or links, which are injected only then; set it, or remove "
     "them: got false"},
    {KNOB("Constant", "seconds")},
    {"spec.chaos.delays[]", "perWorker",
     "(self.kind == 'PerWorker') == (has(self.perWorker) && size(self.perWorker) > 0)",
     "perWorker is required with kind PerWorker and is for that kind only", "'kind ' + self.kind"},
    {KNOB("PerSample", "secondsPerSample")},
    {KNOB("ShiftedExponential", "scale")},
    {KNOB("ShiftedExponential", "alpha")},
    {KNOB("Ratio", "ratio")},
    {KNOB("StepChange", "atStep")},
    {KNOB("StepChange", "factor")},
    {KNOB("StepChange", "fraction")},
    {KNOB("Trace", "trace")},
    {"spec", "chaos",
     "!has(self.chaos) || !has(self.chaos.delays) || "
     "self.chaos.delays.all(delay, !has(delay.workers) || delay.workers.all(worker, worker "
     "< " MOST_WORKERS("self") "))",
     "workers of chaos.delays must be less than workers.maxReplicas, since indices count from 0"},
    {"spec", "chaos",
     "!has(self.chaos) || !has(self.chaos.links) || "
     "self.chaos.links.all(link, !has(link.workers) || link.workers.all(worker, worker "
     "< " MOST_WORKERS("self") "))",
     "workers of chaos.links must be less than workers.maxReplicas, since indices count from 0"},
};

#undef KNOB
#undef HOLDS_TARGETS
#undef MOST_WORKERS

}  // namespace

std::span<const Rule> Rules() { return kRules; }

}  // namespace paceline::job

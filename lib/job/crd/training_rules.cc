#include "lib/job/crd/training_rules.h"

namespace paceline::job {
namespace {

#define HOLDS_TARGETS(field) "(" field ".endsWith('.safetensors') || " field ".endsWith('.bin'))"
#define SAYS_NO_KIND(field) field ".matches('[*?/]$')"
#define MAY_END_IN(ending)                                                                  \
  "(has(self.train) && (self.train.endsWith('" ending                                       \
  "') || " SAYS_NO_KIND("self.train") ") || has(self.eval) && (self.eval.endsWith('" ending \
                                      "') || " SAYS_NO_KIND("self.eval") "))"
// Of an object with `metric` and `better`.
#define METRIC_RULES(path)                                                                       \
  {path, "metric", "self.metric.matches('^[A-Za-z_][A-Za-z0-9_./-]*$')",                         \
   "metric must be Accuracy, Loss or a name, a letter or _ and then letters, digits, _ . / and " \
   "-",                                                                                          \
   "self.metric"},                                                                               \
      {path, "metric", "!(self.metric in ['accuracy', 'loss'])",                                 \
       "metric must be Accuracy or Loss, as they are spelled here", "self.metric"},              \
  {                                                                                              \
    path, "better",                                                                              \
        "!has(self.better) || !(self.metric in ['Accuracy', 'Loss']) || (self.metric == "        \
        "'Accuracy') == (self.better == 'Higher')",                                              \
        "better must be Higher with metric Accuracy and Lower with Loss"                         \
  }

constexpr Rule kTrainingRules[] = {
    {"spec", "model",
     "$HAS_COMMAND ? !has(self.model) || !has(self.model.torchScript) && !has(self.model.builtIn) "
     "&& !has(self.model.init) && self.model.loss == 'CrossEntropy' : has(self.model) && "
     "has(self.model.torchScript) != has(self.model.builtIn)",
     "model must have torchScript (a file) or builtIn (Softmax, Mlp, Cnn), and not both; with "
     "workers.command, which has its own model, it must be absent"},
    {"spec.model", "inputShape",
     "has(self.torchScript) && has(self.builtIn) || has(self.builtIn) == "
     "(has(self.inputShape) && size(self.inputShape) > 0)",
     "inputShape is required with builtIn, the shape of one sample, and is for builtIn only"},
    {"spec.model", "inputShape",
     "!has(self.builtIn) || self.builtIn != 'Cnn' || !has(self.inputShape) || "
     "size(self.inputShape) == 3",
     "inputShape must have 3 numbers with builtIn Cnn, [channels, height, width]"},
    {"spec.model", "classes",
     "has(self.torchScript) && has(self.builtIn) || has(self.builtIn) == has(self.classes)",
     "classes is required with builtIn, the length of the output, and is for builtIn only"},
    {"spec.model", "hidden", "!has(self.hidden) || has(self.builtIn) && self.builtIn != 'Softmax'",
     "hidden is for builtIn Mlp and Cnn only"},
    {"spec.model", "loss", "!has(self.builtIn) || self.loss != 'Model'",
     "loss Model needs a torchScript file with a method loss"},
    {"spec.model", "init", "!has(self.init) || self.init.endsWith('.safetensors')",
     "init must be a .safetensors file", "self.init"},

    {"spec", "data",
     "$HAS_COMMAND ? !has(self.data) || !has(self.data.train) && !has(self.data.eval) : "
     "has(self.data) && has(self.data.train)",
     "data.train is required: the samples to train on; with workers.command, which reads its own "
     "data, only data.onDrop may be set"},
    {"spec.data", "trainTargets",
     "has(self.train) ? " SAYS_NO_KIND("self.train") " || " HOLDS_TARGETS(
         "self.train") " != has(self.trainTargets) : !has(self.trainTargets)",
     "trainTargets is required unless train is .safetensors or .bin, which hold inputs and "
     "targets; a folder's name ends in /"},
    {"spec.data", "evalTargets",
     "has(self.eval) ? " SAYS_NO_KIND("self.eval") " || " HOLDS_TARGETS(
         "self.eval") " != has(self.evalTargets) : !has(self.evalTargets)",
     "evalTargets goes with eval, and is required unless that is .safetensors or .bin, which hold "
     "inputs and targets; a folder's name ends in /"},
    {"spec.data", "sequenceLength",
     "has(self.train) && self.train.endsWith('.bin') || has(self.eval) && "
     "self.eval.endsWith('.bin') ? has(self.sequenceLength) : !has(self.sequenceLength) "
     "|| " MAY_END_IN(".bin"),
     "sequenceLength is required with .bin files, the tokens of one sample, and is for those only"},

    {"spec.data", "tokenType", "self.tokenType == 'UInt16' || " MAY_END_IN(".bin"),
     "tokenType is for .bin files only, which hold tokens", "self.tokenType"},
    {"spec.data", "inputs",
     "!has(self.inputs) || size(self.inputs) == 0 || has(self.train) && "
     "(self.train.endsWith('.safetensors') || " SAYS_NO_KIND(
         "self.train") ") && (!has(self.eval) || self.eval.endsWith('.safetensors') "
                       "|| " SAYS_NO_KIND("self.eval") ")",
     "inputs is for .safetensors files only, whose tensors have names"},
    {"spec.data", "inputs",
     "!has(self.inputs) || self.inputs.all(one, self.inputs.exists_one(other, other == one))",
     "inputs must not name a tensor twice"},
    {"spec", "data",
     "!has(self.data) || !has(self.data.inputs) || size(self.data.inputs) == 0 || "
     "has(self.model) && has(self.model.torchScript)",
     "data.inputs needs model.torchScript, whose forward takes them"},

    {"spec.training", "microBatchSize",
     "!has(self.microBatchSize) || self.microBatchSize <= self.globalBatchSize",
     "microBatchSize must be at most globalBatchSize"},
    // Rules of a field are not tried where it comes or goes.
    {"spec.training", "",
     "has(self.microBatchSize) == has(oldSelf.microBatchSize) && has(self.gradientClipNorm) == "
     "has(oldSelf.gradientClipNorm) && has(self.nonFinite) == has(oldSelf.nonFinite) && "
     "has(self.parameterGroups) == has(oldSelf.parameterGroups) && has(self.ema) == "
     "has(oldSelf.ema)",
     "microBatchSize, gradientClipNorm, nonFinite, parameterGroups and ema cannot change once the "
     "job exists"},
    {"spec.training.learningRate", "",
     "has(self.polynomial) == has(oldSelf.polynomial) && has(self.wsd) == has(oldSelf.wsd) && "
     "has(self.oneCycle) == has(oldSelf.oneCycle) && has(self.cosineRestarts) == "
     "has(oldSelf.cosineRestarts) && has(self.plateau) == has(oldSelf.plateau)",
     "polynomial, wsd, oneCycle, cosineRestarts and plateau cannot change once the job exists"},
    {"spec.training.parameterGroups[]", "match", "size(self.match) > 0",
     "match must have a pattern, such as *.bias"},
    {"spec.training.parameterGroups[]", "frozen",
     "!self.frozen || !has(self.weightDecay) && self.learningRateScale == 1.0",
     "frozen must be false with weightDecay or learningRateScale: what is frozen stays as it is"},
    {"spec.training.stop", "target", "has(self.target) == has(oldSelf.target)",
     "target cannot change once the job exists"},
    {"spec.training.stop", "patience", "has(self.patience) == has(oldSelf.patience)",
     "patience cannot change once the job exists"},
    {"spec.training.optimizer", "sgd",
     "self.type != 'SGD' || !has(self.sgd) || !self.sgd.nesterov || self.sgd.momentum > 0.0 && "
     "self.sgd.dampening == 0.0",
     "sgd.nesterov needs sgd.momentum more than 0 and sgd.dampening 0"},
    {"spec.training", "learningRate",
     "has(self.stop.maxEpochs) || has(self.stop.maxSteps) || "
     "!(self.learningRate.schedule in ['Cosine', 'Linear', 'Polynomial', 'WSD', 'OneCycle'])",
     "learningRate.schedule must be Constant, Step, CosineRestarts or ReduceOnPlateau without "
     "stop.maxEpochs or stop.maxSteps, where others end",
     "self.learningRate.schedule"},
    {"spec.training.learningRate", "final",
     "!(self.schedule in ['Cosine', 'Linear', 'Polynomial', 'WSD', 'CosineRestarts', "
     "'ReduceOnPlateau']) || "
     "self.final <= self.base",
     "final must be at most base"},
    {"spec.training.learningRate", "warmupSteps",
     "self.schedule != 'OneCycle' || self.warmupSteps == 0",
     "warmupSteps must be 0 with schedule OneCycle, whose warm-up is oneCycle.peakShare"},
    {"spec.training", "learningRate",
     "!has(self.stop.maxSteps) || self.learningRate.warmupSteps < self.stop.maxSteps",
     "learningRate.warmupSteps must be less than stop.maxSteps"},
    {"spec.training.stop", "",
     "has(self.maxEpochs) || has(self.maxSteps) || has(self.target) || has(self.patience)",
     "must have maxEpochs, maxSteps, target or patience"},
    METRIC_RULES("spec.training.stop.target"),
    {"spec.training.stop.target", "value",
     "self.metric != 'Accuracy' || self.value >= 0.0 && self.value <= 1.0",
     "value must be 0 to 1, a share of the samples, with metric Accuracy"},
    {"spec", "training", "!has(self.training.stop.target) || $IS_JUDGED",
     "training.stop.target needs data.eval, the held-out samples that it is measured on; with "
     "workers.command it needs evaluator"},
    {"spec", "training", "!has(self.training.stop.patience) || $IS_JUDGED",
     "training.stop.patience needs data.eval, the held-out samples that it is measured on; with "
     "workers.command it needs evaluator"},
    {"spec", "training", "self.training.learningRate.schedule != 'ReduceOnPlateau' || $IS_JUDGED",
     "training.learningRate.schedule ReduceOnPlateau needs data.eval, the held-out samples that it "
     "is measured on; with workers.command it needs evaluator"},
    {"spec", "training",
     "!has(self.training.stop.target) || self.training.stop.target.metric != 'Accuracy' || "
     "!has(self.model) || self.model.loss != 'MeanSquaredError'",
     "training.stop.target.metric must be Loss with model.loss MeanSquaredError, which has no "
     "classes"},

    METRIC_RULES("spec.evaluator"),
    {"spec", "evaluator",
     "!has(self.evaluator) || self.evaluator.metric != 'Accuracy' || !has(self.model) || "
     "self.model.loss != 'MeanSquaredError'",
     "evaluator.metric must be Loss with model.loss MeanSquaredError, which has no classes"},
    {"spec", "output", "self.output.keep != 'Best' || $IS_JUDGED",
     "output.keep Best needs data.eval, the held-out samples that it is measured on; with "
     "workers.command it needs evaluator"},
};

#undef METRIC_RULES
#undef MAY_END_IN
#undef SAYS_NO_KIND
#undef HOLDS_TARGETS

}  // namespace

std::span<const Rule> TrainingRules() { return kTrainingRules; }

}  // namespace paceline::job

// Fields of spec.training.
#pragma once

#include "lib/job/manifest/note.h"
#include "lib/job/manifest/spec/training.h"

namespace paceline::job {

template <class V>
void Fields(V& visit, Sgd& sgd) {
  visit("momentum", sgd.momentum,
        Note{.text = "share of the last update that is kept", .min = 0, .below = 1});
  visit("dampening", sgd.dampening,
        Note{.text = "share of the gradient kept out of the momentum", .min = 0, .max = 1});
  visit("weightDecay", sgd.weight_decay,
        Note{.text = "L2 penalty, added to the gradient", .min = 0, .max = 1});
  visit("nesterov", sgd.nesterov,
        Note{.text = "Nesterov's momentum; needs momentum and no dampening"});
}

template <class V>
void Fields(V& visit, AdamW& adam_w) {
  visit("beta1", adam_w.beta1, Note{.text = "decay of the mean gradient", .min = 0, .below = 1});
  visit("beta2", adam_w.beta2,
        Note{.text = "decay of the mean squared gradient", .min = 0, .below = 1});
  visit("epsilon", adam_w.epsilon,
        Note{.text = "keeps the denominator from zero", .max = 1, .above = 0});
  visit(
      "weightDecay", adam_w.weight_decay,
      Note{.text = "decoupled weight decay, as a share of the learning rate", .min = 0, .max = 1});
}

template <class V>
void Fields(V& visit, Adagrad& adagrad) {
  visit("learningRateDecay", adagrad.learning_rate_decay,
        Note{.text = "step n, counted from 0, has the rate by 1 + n times this",
             .min = 0,
             .max = 1000});
  visit("initialAccumulator", adagrad.initial_accumulator,
        Note{.text = "sum of squared gradients to begin with", .min = 0, .max = 1e9});
  visit("epsilon", adagrad.epsilon,
        Note{.text = "keeps the denominator from zero", .max = 1, .above = 0});
  visit("weightDecay", adagrad.weight_decay,
        Note{.text = "L2 penalty, added to the gradient", .min = 0, .max = 1});
}

template <class V>
void Fields(V& visit, Lion& lion) {
  visit(
      "beta1", lion.beta1,
      Note{.text = "share of the momentum in the update, whose sign counts", .min = 0, .below = 1});
  visit("beta2", lion.beta2, Note{.text = "decay of the momentum", .min = 0, .below = 1});
  visit(
      "weightDecay", lion.weight_decay,
      Note{.text = "decoupled weight decay, as a share of the learning rate", .min = 0, .max = 1});
}

template <class V>
void Fields(V& visit, Lamb& lamb) {
  visit("beta1", lamb.beta1, Note{.text = "decay of the mean gradient", .min = 0, .below = 1});
  visit("beta2", lamb.beta2,
        Note{.text = "decay of the mean squared gradient", .min = 0, .below = 1});
  visit("epsilon", lamb.epsilon,
        Note{.text = "keeps the denominator from zero", .max = 1, .above = 0});
  visit("weightDecay", lamb.weight_decay,
        Note{.text = "decay that is part of the step whose length each tensor's norm sets",
             .min = 0,
             .max = 1});
}

template <class V>
void Fields(V& visit, Optimizer& optimizer) {
  visit("type", optimizer.type, Note{.text = "the rule; blocks of others are kept and ignored"});
  visit("sgd", optimizer.sgd, Note{.text = "knobs of SGD", .stays_absent = true});
  visit("adamW", optimizer.adam_w, Note{.text = "knobs of AdamW", .stays_absent = true});
  visit("adagrad", optimizer.adagrad, Note{.text = "knobs of Adagrad", .stays_absent = true});
  visit("lion", optimizer.lion, Note{.text = "knobs of Lion", .stays_absent = true});
  visit("lamb", optimizer.lamb, Note{.text = "knobs of LAMB", .stays_absent = true});
}

template <class V>
void Fields(V& visit, ParameterGroup& group) {
  visit("match", group.match,
        Note{.text = "names of its parameters, with * for any characters and ? for one, such as "
                     "*.bias; of several groups that fit, the first has the parameter",
             .presence = kRequired,
             .min = 1,
             .max = kPatternMax,
             .items_max = kPatternsMax});
  visit("weightDecay", group.weight_decay,
        Note{.text = "instead of the optimizer's", .min = 0, .max = 1});
  visit("learningRateScale", group.learning_rate_scale,
        Note{.text = "times the learning rate", .max = 1000, .above = 0});
  visit("frozen", group.frozen,
        Note{.text = "its parameters keep their values: no step, no decay, no momentum; a script's "
                     "worker has them by itself, and they do not travel"});
}

template <class V>
void Fields(V& visit, Ema& ema) {
  visit("decay", ema.decay,
        Note{.text = "what each version leaves of the average before it; the version has the rest",
             .above = 0,
             .below = 1});
}

template <class V>
void Fields(V& visit, Polynomial& polynomial) {
  visit(
      "power", polynomial.power,
      Note{.text = "of what is left of training, by which the rate falls", .max = 100, .above = 0});
}

template <class V>
void Fields(V& visit, WarmupStableDecay& wsd) {
  visit("decayShare", wsd.decay_share,
        Note{.text = "share of all training, its end, in which the rate falls linearly",
             .max = 1,
             .above = 0});
}

template <class V>
void Fields(V& visit, OneCycle& one_cycle) {
  visit(
      "peakShare", one_cycle.peak_share,
      Note{
          .text = "share of all training in which the rate rises to base", .above = 0, .below = 1});
  visit("startDivisor", one_cycle.start_divisor,
        Note{.text = "base by this is the first rate", .min = 1, .max = 1e9});
  visit("finalDivisor", one_cycle.final_divisor,
        Note{.text = "the first rate by this is the last one", .min = 1, .max = 1e9});
}

template <class V>
void Fields(V& visit, CosineRestarts& restarts) {
  visit("periodEpochs", restarts.period_epochs,
        Note{.text = "epochs after warm-up until the first restart", .min = 1, .max = kCountMax});
  visit(
      "periodFactor", restarts.period_factor,
      Note{
          .text = "each period is so many times as long as the one before", .min = 1, .max = 1000});
}

template <class V>
void Fields(V& visit, Plateau& plateau) {
  visit("factor", plateau.factor,
        Note{.text = "what each cut leaves of the rate", .above = 0, .below = 1});
  visit("patience", plateau.patience,
        Note{.text = "evaluations in a row without a better one, after which the rate is cut",
             .min = 1,
             .max = kCountMax});
}

template <class V>
void Fields(V& visit, LearningRate& rate) {
  visit("base", rate.base,
        Note{.text = "the rate after warm-up; may change while the job runs",
             .presence = kRequired,
             .max = 1000,
             .above = 0});
  visit("warmupSteps", rate.warmup_steps,
        Note{.text = "steps that raise the rate from 0 to base",
             .mutability = kImmutable,
             .min = 0,
             .max = kCountMax});
  visit("schedule", rate.schedule,
        Note{.text = "how the rate changes after warm-up, by committed samples",
             .mutability = kImmutable});
  visit("final", rate.final,
        Note{.text = "the rate at the end of training, or before a restart: Cosine, Linear, "
                     "Polynomial, WSD, CosineRestarts; the lowest one of ReduceOnPlateau",
             .mutability = kImmutable,
             .min = 0,
             .max = 1000});
  visit("stepEpochs", rate.step_epochs,
        Note{.text = "Step: epochs between two cuts",
             .mutability = kImmutable,
             .min = 1,
             .max = kCountMax});
  visit("factor", rate.factor,
        Note{.text = "Step: what each cut leaves of the rate",
             .mutability = kImmutable,
             .max = 1,
             .above = 0});
  visit("polynomial", rate.polynomial,
        Note{.text = "knobs of Polynomial", .mutability = kImmutable, .stays_absent = true});
  visit("wsd", rate.wsd,
        Note{.text = "knobs of WSD: warm-up, a stable rate, and decay",
             .mutability = kImmutable,
             .stays_absent = true});
  visit("oneCycle", rate.one_cycle,
        Note{.text = "knobs of OneCycle: up to base and down again, along cosines",
             .mutability = kImmutable,
             .stays_absent = true});
  visit("cosineRestarts", rate.cosine_restarts,
        Note{.text = "knobs of CosineRestarts: Cosine, again and again",
             .mutability = kImmutable,
             .stays_absent = true});
  visit("plateau", rate.plateau,
        Note{.text = "knobs of ReduceOnPlateau: cuts whenever the held-out samples say that "
                     "training stands still, by evaluator.metric",
             .mutability = kImmutable,
             .stays_absent = true});
}

template <class V>
void Fields(V& visit, Target& target) {
  visit("metric", target.metric,
        Note{.text = "held-out number: Accuracy (to reach), Loss (to fall to), or the name of a "
                     "metric of the model's or script's own",
             .min = 1,
             .max = kMetricMax});
  visit("value", target.value,
        Note{.text = "accuracy as a share of 1, loss, or what the metric is to come to",
             .presence = kRequired,
             .min = -1e9,
             .max = 1e9});
  visit("better", target.better,
        Note{.text = "which way the metric gets better; absent: Lower of Loss, else Higher"});
}

template <class V>
void Fields(V& visit, StopRule& stop) {
  visit("maxEpochs", stop.max_epochs,
        Note{.text = "passes over the training data; may change while the job runs",
             .min = 1,
             .max = kCountMax});
  visit("maxSteps", stop.max_steps,
        Note{.text = "commits after which training ends (pushes that a scheme has taken in by then "
                     "become one more); "
                     "may change while the job runs",
             .min = 1,
             .max = kCountMax});
  visit("target", stop.target,
        Note{.text = "stop when the held-out data says so; needs data.eval",
             .mutability = kImmutable});
  visit("patience", stop.patience,
        Note{.text = "evaluations in a row without a better one, by evaluator.metric, after which "
                     "training ends; needs data.eval",
             .mutability = kImmutable,
             .min = 1,
             .max = kCountMax});
}

template <class V>
void Fields(V& visit, NonFinite& non_finite) {
  visit("action", non_finite.action,
        Note{.text = "back to the newest checkpoint, from the second time in a row one further; or "
                     "the job fails"});
  visit(
      "learningRateFactor", non_finite.learning_rate_factor,
      Note{.text = "RollBack: what is left of the learning rate each time", .max = 1, .above = 0});
  visit("limit", non_finite.limit,
        Note{.text = "RollBack: times in the life of the job; the next one fails it",
             .min = 0,
             .max = 1000});
}

template <class V>
void Fields(V& visit, Training& training) {
  visit("globalBatchSize", training.global_batch_size,
        Note{.text = "samples of one step, all workers together",
             .presence = kRequired,
             .mutability = kImmutable,
             .min = 1,
             .max = kCountMax});
  visit("microBatchSize", training.micro_batch_size,
        Note{.text = "samples that a worker computes at once; absent: all of its share",
             .mutability = kImmutable,
             .min = 1,
             .max = kCountMax});
  visit("precision", training.precision,
        Note{.text = "what forward passes and losses compute in, by PyTorch's autocast; parameters "
                     "and gradients stay float32; Float16 with loss scaling",
             .mutability = kImmutable});
  visit("optimizer", training.optimizer,
        Note{.text = "the rule by which a gradient changes the parameters",
             .mutability = kImmutable});
  visit("parameterGroups", training.parameter_groups,
        Note{.text = "parameters, by their names, that have a rate or a decay of their own or stay "
                     "as they are",
             .mutability = kImmutable,
             .items_max = kGroupsMax});
  visit("learningRate", training.learning_rate,
        Note{.text = "how far a step goes", .presence = kRequired});
  visit("ema", training.ema,
        Note{.text = "an exponential moving average of the weights, which the evaluator judges and "
                     "which is written as the model; checkpoints hold it beside the weights "
                     "themselves. Absent: there is none",
             .mutability = kImmutable});
  visit("gradientClipNorm", training.gradient_clip_norm,
        Note{.text = "largest norm of the mean gradient; absent: no limit",
             .mutability = kImmutable,
             .max = 1e9,
             .above = 0});
  visit("nonFinite", training.non_finite,
        Note{.text = "when more than half of the workers have gradients that are not finite; fewer "
                     "are ill themselves",
             .mutability = kImmutable,
             .stays_absent = true});
  visit("stop", training.stop,
        Note{.text = "when training is done: whatever comes first", .presence = kRequired});
  visit("seed", training.seed,
        Note{.text = "of initial values of built-in models and of the order of samples",
             .mutability = kImmutable,
             .min = 0});
  visit("deterministic", training.deterministic,
        Note{.text = "equal runs give equal bits; only with BSP and equal batches",
             .mutability = kImmutable});
}

}  // namespace paceline::job

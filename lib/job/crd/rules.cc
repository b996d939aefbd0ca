#include "lib/job/crd/rules.h"

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/job/crd/group_rules.h"
#include "lib/job/crd/training_rules.h"
#include "lib/job/manifest/enums.h"
#include "lib/sync/schemes/presets.h"

namespace paceline::job {
namespace {

// Most workers that there may be, of a spec.
#define MOST_WORKERS(spec) \
  "(has(" spec ".workers.maxReplicas) ? " spec ".workers.maxReplicas : " spec ".workers.replicas)"
#define KNOB(kind, knob)                                                          \
  "spec.chaos.delays[]", knob, "(self.kind == '" kind "') == has(self." knob ")", \
      knob " is required with kind " kind " and is for that kind only", "'kind ' + self.kind"
// Of spec.sync, whose parts are the scheme's where they are absent: written out from the table of
// schemes (Expanded).
#define MEANWHILE "$MEANWHILE"
#define EVERY_PUSH_COUNTS "$EVERY_PUSH_COUNTS"
#define EACH_COUNTS "$EACH_COUNTS"  // Schemes in which every push does.
#define NEEDS_K "$NEEDS_K"
#define EACH_MAKES_A_VERSION "$EACH_MAKES_A_VERSION"
#define PUSHES_LOCAL_STEPS "(" MEANWHILE " in ['LocalSteps', 'EagerPull'])"
#define USES_DBW(sync) \
  "(has(" sync ".quorum) ? " sync ".quorum == 'DBW' : " sync ".scheme == 'DBW')"

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
     "size(self.metadata.name) <= 51 || has(self.spec.workers.groups) && "
     "size(self.spec.workers.groups) > 0 || size(self.metadata.name) <= (" MOST_WORKERS(
         "self.spec") " > 1000 ? 51 : " MOST_WORKERS("self.spec") " > 100 ? 52 : 53)",
     "metadata.name must leave room for the names of pods, which add -worker- and a number and may "
     "have 63 characters"},

    {"spec", "training",
     "!self.training.deterministic || self.sync.scheme == 'BSP' && "
     "(!has(self.sync.batchSizing) || self.sync.batchSizing.strategy == 'Equal')",
     "training.deterministic needs sync.scheme BSP and sync.batchSizing.strategy Equal",
     "self.sync.scheme + ' and ' + "
     "(has(self.sync.batchSizing) ? self.sync.batchSizing.strategy : 'Equal')"},
    {"spec", "sync",
     "!self.training.deterministic || self.sync.scheme != 'BSP' || (!has(self.sync.quorum) || "
     "self.sync.quorum == 'All') && (!has(self.sync.meanwhile) || self.sync.meanwhile == 'Wait') "
     "&& (!has(self.sync.late) || self.sync.late == 'Drop') && (!has(self.sync.reach) || "
     "self.sync.reach == 0) && !has(self.sync.updateScale)",
     "sync.meanwhile must be Wait in deterministic training, with quorum All, late Drop and reach "
     "0: what counts must not depend on who is first"},
    {"spec", "training", "$WORKERS <= self.training.globalBatchSize",
     "training.globalBatchSize must be at least workers.replicas, so that each worker has a "
     "sample"},
    {"spec", "workers", "$MOST_WORKERS <= self.training.globalBatchSize",
     "workers.maxReplicas, of all groups, must be at most training.globalBatchSize, so that each "
     "worker has a sample"},

    {"spec", "sync",
     "self.sync.scheme != 'BackupWorkers' || (has(self.sync.backupWorkers) ? "
     "self.sync.backupWorkers.count : 1) < $WORKERS",
     "sync.backupWorkers.count must be less than workers.replicas"},
    {"spec", "sync",
     "!has(self.sync.quorum) || type(self.sync.quorum) != int || self.sync.scheme == "
     "'KBatchAsync' || self.sync.quorum <= $WORKERS",
     "sync.quorum must be at most workers.replicas"},
    {"spec.sync", "scheme",
     "self.scheme != 'Auto' || !has(self.quorum) && !has(self.reach) && !has(self.late) && "
     "!has(self.staleness) && !has(self.meanwhile) && !has(self.modulation) && !has(self.outer) && "
     "!has(self.updateScale)",
     "scheme Auto chooses what is best: quorum, reach, late, staleness, meanwhile, modulation, "
     "outer and updateScale must be absent"},
    {"spec.sync", "scheme",
     "self.scheme != 'Auto' || !has(self.batchSizing) || self.batchSizing.strategy == 'Equal'",
     "batchSizing.strategy must be Equal with scheme Auto: with fewer pushes than workers small "
     "batches come first, and the batch shrinks"},
    {"spec.sync", "quorum",
     "!(self.scheme in " NEEDS_K ") || has(self.quorum) && type(self.quorum) == int",
     "quorum must be a number with a scheme that has no other K", "self.scheme"},
    {"spec.sync", "quorum", "self.scheme != 'BackupWorkers' || !has(self.quorum)",
     "quorum must be absent with scheme BackupWorkers: all but backupWorkers.count are waited for"},
    {"spec.sync", "quorum", "self.scheme != 'DBW' || !has(self.quorum) || self.quorum == 'DBW'",
     "quorum must be DBW or absent with scheme DBW; scheme BSP takes any"},
    {"spec.sync", "reach", "!has(self.reach) || !has(self.late) || self.late != 'Weigh'",
     "reach must be absent with late Weigh: every push counts, however old"},
    {"spec.sync", "reach",
     "!has(self.reach) || has(self.late) || !(self.scheme in " EACH_COUNTS ")",
     "reach needs late Drop with a scheme in which every push counts, however old", "self.scheme"},
    {"spec.sync", "staleness",
     EVERY_PUSH_COUNTS
     " || !has(self.staleness) && self.scheme != 'SSP' && (self.scheme != 'PSPlus' || "
     "!has(self.psPlus) || !has(self.psPlus.staleness))",
     "staleness must be absent where late pushes are dropped: it bounds the lead over the slowest, "
     "whose late pushes have to count"},
    {"spec.sync", "reach", MEANWHILE " != 'EagerPull' || !has(self.reach) || self.reach >= 1",
     "reach must be at least 1 with meanwhile EagerPull, whose pushes are that many versions old"},
    {"spec.sync", "reach",
     MEANWHILE " != 'EagerPull' || self.scheme != 'PSPlus' || !has(self.reach) || self.reach >= "
               "(has(self.psPlus) && has(self.psPlus.depth) ? self.psPlus.depth : 2)",
     "reach must be at least psPlus.depth, which is 2 unless it is set: pushes are that many "
     "versions old"},
    {"spec.sync", "modulation",
     "!has(self.modulation) || self.modulation.rule == 'None' || " EVERY_PUSH_COUNTS,
     "modulation needs late Weigh: what is within reach counts in full, what is older is dropped"},
    {"spec.sync", "meanwhile", MEANWHILE " != 'LocalSteps' || !" EVERY_PUSH_COUNTS,
     "meanwhile must not be LocalSteps where every push counts, however old: they are made until a "
     "round ends, and none does; set late Drop"},
    {"spec.sync", "outer", "!has(self.outer) || " MEANWHILE " == 'LocalSteps'",
     "outer must be absent without meanwhile LocalSteps, whose mean it moves the model by"},
    {"spec.sync.outer", "nesterov", "!self.nesterov || self.momentum > 0.0",
     "nesterov must be false with momentum 0"},
    {"spec.observability.trace", "maxBytes",
     "!has(self.maxBytes) || self.maxBytes == 0 || self.maxBytes >= 1048576",
     "observability.trace.maxBytes must be 0, for no trace, or at least 1048576"},
    {"spec.sync", "lateWorker",
     "(has(self.lateWorker) ? self.lateWorker : " USES_DBW(
         "self") " && has(self.dbw) ? self.dbw.lateWorker : 'Finish') != 'Interrupt' || " MEANWHILE
                 " == 'Wait' && !" EVERY_PUSH_COUNTS " && (!has(self.reach) || self.reach == 0)",
     "lateWorker must not be Interrupt where a late push counts or local steps would be lost: only "
     "with meanwhile Wait, late Drop and reach 0"},
    {"spec.sync", "quorum",
     "!has(self.wbsp) || self.wbsp.trigger != 'Designated' || " MEANWHILE
     " != 'LocalSteps' || (has(self.quorum) ? self.quorum == 'All' : self.scheme in ['BSP', "
     "'WBSP'] || self.scheme == 'BackupWorkers' && has(self.backupWorkers) && "
     "self.backupWorkers.count == 0)",
     "quorum must be All with wbsp.trigger Designated: two rules would end a round"},
    {"spec.sync", "updateScale",
     "(has(self.updateScale) ? self.updateScale : self.scheme == 'SSP' && has(self.ssp) ? "
     "self.ssp.updateScale : self.scheme == 'ASP' && has(self.asp) ? self.asp.updateScale : "
     "self.scheme == 'PSPlus' && has(self.psPlus) ? self.psPlus.updateScale : 'PerWorker') != "
     "'Full' || !" PUSHES_LOCAL_STEPS " || " EVERY_PUSH_COUNTS
     " && (has(self.quorum) ? self.quorum == 1 : self.scheme in " EACH_MAKES_A_VERSION ")",
     "updateScale must be PerWorker where several pushes make a version: local steps of several "
     "would be added up, not averaged"},
    {"spec.sync", "dbw",
     "!" USES_DBW("self") " || !" PUSHES_LOCAL_STEPS
                          " || has(self.dbw) && self.dbw.method in ['Blind', 'AdaSync']",
     "dbw.method must be Blind or AdaSync where workers push local steps: the gain is worked out "
     "for gradients"},
    {"spec.sync", "dbw",
     "!" USES_DBW("self") " || !" PUSHES_LOCAL_STEPS
                          " || !has(self.dbw) || self.dbw.learningRateRule == 'Constant'",
     "dbw.learningRateRule must be Constant where workers push local steps, which were made with "
     "the learning rate already"},
    {"spec", "sync",
     "!has(self.sync.dbw) || !" USES_DBW("self.sync") " || "
                                                      "self.sync.dbw.minWorkers <= $WORKERS",
     "sync.dbw.minWorkers must be at most workers.replicas"},
    {"spec.sync", "dbw",
     "!has(self.dbw) || !" USES_DBW(
         "self") " || (self.dbw.learningRateRule == 'Table') == "
                 "(has(self.dbw.learningRateFactors) && size(self.dbw.learningRateFactors) > 0)",
     "dbw.learningRateFactors is required with learningRateRule Table and is for that rule only"},
    {"spec", "sync",
     "!" USES_DBW(
         "self.sync") " || has(self.sync.dbw) && self.sync.dbw.method in ['Blind', 'AdaSync'] || "
                      "self.training.optimizer.type == 'SGD'",
     "sync.dbw.method must be Blind or AdaSync with an optimizer other than SGD, whose steps are "
     "not the gradient's that the gain is worked out for",
     "self.training.optimizer.type"},
    {"spec.sync.batchSizing", "maxBatchSize",
     "!has(self.maxBatchSize) || self.maxBatchSize >= self.minBatchSize",
     "maxBatchSize must be at least minBatchSize"},
    {"spec.sync.batchSizing", "rapidPercent", "self.rapidPercent > self.deadBandPercent",
     "rapidPercent must be more than deadBandPercent"},
    {"spec", "sync",
     "!has(self.sync.batchSizing) || self.sync.batchSizing.strategy == 'Equal' || "
     "self.sync.batchSizing.minBatchSize * $WORKERS <= self.training.globalBatchSize",
     "sync.batchSizing.minBatchSize must leave workers.replicas x minBatchSize within "
     "training.globalBatchSize"},
    {"spec", "sync",
     "!has(self.sync.batchSizing) || self.sync.batchSizing.strategy == 'Equal' || "
     "!has(self.sync.batchSizing.maxBatchSize) || self.sync.batchSizing.maxBatchSize * "
     "$WORKERS >= self.training.globalBatchSize",
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
    {"spec", "evaluator",
     "!has(self.evaluator) || $HAS_COMMAND || has(self.data) && has(self.data.eval)",
     "evaluator needs data.eval, the held-out samples that it evaluates on"},
    {"spec", "workers",
     "!$HAS_COMMAND || self.training.precision == 'Float32' && !has(self.training.microBatchSize)",
     "workers.command computes as it likes: training.precision and microBatchSize must be absent"},
    {"spec.workers", "command",
     "!has(self.command) || size(self.command) == 0 || self.command[0] != ''",
     "command must begin with a program"},
    {"spec.workers", "workingDir",
     "!has(self.workingDir) || has(self.command) && size(self.command) > 0",
     "workingDir is of command, the program that starts there"},
    {"spec.workers", "",
     "(has(self.command) && size(self.command) > 0) == (has(oldSelf.command) && "
     "size(oldSelf.command) > 0) && has(self.workingDir) == has(oldSelf.workingDir)",
     "command and workingDir cannot change once the job exists"},
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
     "output may change only while runPolicy.suspend is true"},
    {"spec.runPolicy", "managedBy", "self.managedBy.matches('^[^/]+/[^/]+$')",
     "managedBy must be a domain, a slash and a name, such as paceline.dev/operator",
     "self.managedBy"},
    {"spec", "runPolicy",
     "!has(self.runPolicy.schedulingPolicy.minAvailable) || "
     "self.runPolicy.schedulingPolicy.minAvailable <= self.parameterServer.shards + "
     "$WORKERS + (has(self.evaluator) || has(self.data) && has(self.data.eval) ? 1 : 0)",
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
     "self.chaos.delays.all(delay, !has(delay.workers) || has(delay.group) || "
     "delay.workers.all(worker, worker "
     "< " MOST_WORKERS("self") "))",
     "workers of chaos.delays must be less than workers.maxReplicas, since indices count from 0"},
    {"spec", "chaos",
     "!has(self.chaos) || !has(self.chaos.links) || "
     "self.chaos.links.all(link, !has(link.workers) || has(link.group) || link.workers.all(worker, "
     "worker "
     "< " MOST_WORKERS("self") "))",
     "workers of chaos.links must be less than workers.maxReplicas, since indices count from 0"},
};

#undef USES_DBW
#undef PUSHES_LOCAL_STEPS
#undef EVERY_PUSH_COUNTS
#undef EACH_COUNTS
#undef NEEDS_K
#undef EACH_MAKES_A_VERSION
#undef MEANWHILE
#undef KNOB
#undef MOST_WORKERS

template <class Predicate>
std::string SchemesWhere(Predicate is_one) {
  std::vector<std::string> found;
  for (const auto& [scheme, word] : sync::WordsOf(sync::Scheme{})) {
    if (is_one(scheme, sync::PresetOf({.scheme = scheme})))
      found.push_back(fmt::format("'{}'", word));
  }
  return fmt::format("[{}]", fmt::join(found, ", "));
}

// What a scheme that names no meanwhile does.
std::string MeanwhileOfSchemes() {
  std::string text;
  for (const sync::Meanwhile meanwhile :
       {sync::Meanwhile::kLocalSteps, sync::Meanwhile::kEagerPull, sync::Meanwhile::kGoOn}) {
    const std::string schemes = SchemesWhere(
        [&](sync::Scheme, const sync::Coordinates& at) { return at.meanwhile == meanwhile; });
    text += fmt::format("self.scheme in {} ? '{}' : ", schemes,
                        ToWord(static_cast<Meanwhile>(static_cast<int>(meanwhile))));
  }
  return fmt::format("(has(self.meanwhile) ? self.meanwhile : {}'Wait')", text);
}

std::string Expanded(std::string text) {
  static const std::string kEachCounts =
      SchemesWhere([](sync::Scheme, const sync::Coordinates& at) { return !at.reach; });
  static const std::pair<std::string_view, std::string> kTokens[] = {
      {"$MEANWHILE", MeanwhileOfSchemes()},
      {"$EVERY_PUSH_COUNTS",
       fmt::format(
           "(has(self.late) ? self.late == 'Weigh' : !has(self.reach) && self.scheme in {})",
           kEachCounts)},
      {"$EACH_COUNTS", kEachCounts},
      {"$NEEDS_K", SchemesWhere([](sync::Scheme scheme, const sync::Coordinates&) {
         return sync::IsKToBeSaid(scheme);
       })},
      {"$EACH_MAKES_A_VERSION",
       SchemesWhere([](sync::Scheme, const sync::Coordinates& at) { return at.IsOneByOne(); })},
  };
  const auto expand = [&](std::string_view token, std::string_view meaning) {
    for (size_t at = 0; (at = text.find(token, at)) != std::string::npos; at += meaning.size())
      text.replace(at, token.size(), meaning);
  };
  for (const auto& [token, meaning] : kTokens) expand(token, meaning);
  for (const auto& [token, meaning] : GroupWords()) expand(token, meaning);
  return text;
}

std::vector<Rule> AllExpanded() {
  static std::deque<std::string> texts;  // Where it is, a text stays.
  std::vector<Rule> rules(std::begin(kRules), std::end(kRules));
  rules.insert(rules.end(), TrainingRules().begin(), TrainingRules().end());
  rules.insert(rules.end(), GroupRules().begin(), GroupRules().end());
  for (Rule& rule : rules) rule.rule = texts.emplace_back(Expanded(std::string(rule.rule)));
  return rules;
}

}  // namespace

std::span<const Rule> Rules() {
  static const std::vector<Rule> rules = AllExpanded();
  return rules;
}

}  // namespace paceline::job

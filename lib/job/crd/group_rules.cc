#include "lib/job/crd/group_rules.h"

namespace paceline::job {
namespace {

constexpr std::pair<std::string_view, std::string_view> kWords[] = {
    {"$IS_JUDGED", "($HAS_COMMAND ? has(self.evaluator) : has(self.data) && has(self.data.eval))"},
    {"$HAS_COMMAND", "(has(self.workers.command) && size(self.workers.command) > 0)"},
    {"$HAS_GROUPS", "(has(self.groups) && size(self.groups) > 0)"},
    {"$WORKERS",
     "(has(self.workers.groups) && size(self.workers.groups) > 0 ? "
     "self.workers.groups.map(group, group.replicas).sum() : self.workers.replicas)"},
    {"$MOST_WORKERS",
     "(has(self.workers.groups) && size(self.workers.groups) > 0 ? "
     "self.workers.groups.map(group, has(group.maxReplicas) ? group.maxReplicas : "
     "group.replicas).sum() : has(self.workers.maxReplicas) ? self.workers.maxReplicas : "
     "self.workers.replicas)"},
};

#define OF_NO_GROUPS(field, is_usual)                 \
  "spec.workers", field, "!$HAS_GROUPS || " is_usual, \
      field " is of a job without groups: set groups[]." field " of each"

constexpr Rule kGroupRules[] = {
    {"", "",
     "!has(self.spec.workers.groups) || self.spec.workers.groups.all(group, "
     "[group].map(one, has(one.maxReplicas) ? one.maxReplicas : one.replicas).all(most, "
     "size(self.metadata.name) + size(group.name) + "
     "(most > 1000 ? 4 : most > 100 ? 3 : most > 10 ? 2 : 1) <= 61))",
     "metadata.name must leave room for the names of pods, which add the name of a group of "
     "workers and a number, as in -big-3, and may have 63 characters"},
    {OF_NO_GROUPS("replicas", "self.replicas == 1")},
    {OF_NO_GROUPS("minReplicas", "self.minReplicas == 1")},
    {OF_NO_GROUPS("maxReplicas", "!has(self.maxReplicas)")},
    {OF_NO_GROUPS("template", "!has(self.template)")},
    {OF_NO_GROUPS("device", "self.device == 'Auto'")},
    {OF_NO_GROUPS("threads", "!has(self.threads)")},
    {"spec.workers.groups[]", "name",
     "self.name.matches('^[a-z][a-z0-9]*$') && "
     "!(self.name in ['ps', 'worker', 'evaluator', 'operator'])",
     "name must be lower case letters and digits, a letter first, and none of ps, worker, "
     "evaluator and operator",
     "self.name"},
    {"spec.workers.groups[]", "minReplicas",
     "self.replicas == 0 || self.minReplicas <= self.replicas",
     "minReplicas must be at most the group's replicas"},
    {"spec.workers.groups[]", "maxReplicas",
     "!has(self.maxReplicas) || self.maxReplicas >= self.replicas",
     "maxReplicas must be at least the group's replicas"},
    {"spec", "workers", "$WORKERS > 0",
     "workers.groups must have a worker: replicas are 0 in all of them"},
    {"spec", "workers", "$MOST_WORKERS <= 10000",
     "workers.groups must have at most 10000 workers together, by maxReplicas"},
    {"spec.workers", "groups", "$HAS_GROUPS == (has(oldSelf.groups) && size(oldSelf.groups) > 0)",
     "groups cannot come to a job without groups, nor the last one go: groups of a job that has "
     "some may come and go"},
    {"spec.workers.groups[].template.metadata", "labels",
     "!has(self.labels) || !('kueue.x-k8s.io/pod-group-name' in self.labels)",
     "labels must not have kueue.x-k8s.io/pod-group-name, Kueue keeps the names of a group's lost "
     "pods; kueue.x-k8s.io/queue-name queues each pod"},
    {"spec.workers.groups[].template.spec", "restartPolicy", "!has(self.restartPolicy)",
     "restartPolicy must be absent, since restarts are Paceline's (runPolicy.backoffLimit)"},
    {"spec", "chaos",
     "!has(self.chaos) || !has(self.chaos.delays) || self.chaos.delays.all(one, has(one.group) ? "
     "has(self.workers.groups) && self.workers.groups.exists(group, group.name == one.group) : "
     "!has(self.workers.groups) || size(self.workers.groups) == 0 || !has(one.workers) || "
     "size(one.workers) == 0)",
     "group of chaos.delays must be one of workers.groups, and is required with workers, whose "
     "indices count in a group each"},
    {"spec", "chaos",
     "!has(self.chaos) || !has(self.chaos.links) || self.chaos.links.all(one, has(one.group) ? "
     "has(self.workers.groups) && self.workers.groups.exists(group, group.name == one.group) : "
     "!has(self.workers.groups) || size(self.workers.groups) == 0 || !has(one.workers) || "
     "size(one.workers) == 0)",
     "group of chaos.links must be one of workers.groups, and is required with workers, whose "
     "indices count in a group each"},
    {"spec", "chaos",
     "!has(self.chaos) || !has(self.chaos.delays) || self.chaos.delays.all(one, "
     "!has(one.group) || !has(one.workers) || size(one.workers) == 0 || "
     "!has(self.workers.groups) || [one.workers.max()].all(last, "
     "self.workers.groups.all(group, group.name != one.group || "
     "last < (has(group.maxReplicas) ? group.maxReplicas : group.replicas))))",
     "workers of chaos.delays must be less than maxReplicas of their group, since indices count "
     "from 0"},
    {"spec", "chaos",
     "!has(self.chaos) || !has(self.chaos.links) || self.chaos.links.all(one, "
     "!has(one.group) || !has(one.workers) || size(one.workers) == 0 || "
     "!has(self.workers.groups) || [one.workers.max()].all(last, "
     "self.workers.groups.all(group, group.name != one.group || "
     "last < (has(group.maxReplicas) ? group.maxReplicas : group.replicas))))",
     "workers of chaos.links must be less than maxReplicas of their group, since indices count "
     "from 0"},
};

#undef OF_NO_GROUPS

}  // namespace

std::span<const Rule> GroupRules() { return kGroupRules; }

std::span<const std::pair<std::string_view, std::string_view>> GroupWords() { return kWords; }

}  // namespace paceline::job

// Names of objects within pod templates and claim templates, which are opaque but for these: one
// that no object can have would be found out only by the pod that waits for it, and on one machine
// such a name becomes a folder's.
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "lib/job/checks/checks.h"
#include "lib/job/checks/object_name.h"
#include "lib/job/worker_groups.h"

namespace paceline::job {
namespace {

// Below a pod's spec; [] are the elements of a list. What is empty is Kubernetes' to judge, which
// in some of them takes it for absent. schedulerName is none: it is compared, and looked for
// nowhere.
constexpr std::string_view kPodNames[] = {
    "serviceAccountName",
    "serviceAccount",
    "priorityClassName",
    "runtimeClassName",
    "nodeName",
    "imagePullSecrets[].name",
    "resourceClaims[].resourceClaimName",
    "resourceClaims[].resourceClaimTemplateName",
    "volumes[].persistentVolumeClaim.claimName",
    "volumes[].secret.secretName",
    "volumes[].configMap.name",
    "volumes[].csi.nodePublishSecretRef.name",
    "volumes[].projected.sources[].secret.name",
    "volumes[].projected.sources[].configMap.name",
    "volumes[].ephemeral.volumeClaimTemplate.spec.storageClassName",
    "initContainers[].envFrom[].secretRef.name",
    "initContainers[].envFrom[].configMapRef.name",
    "initContainers[].env[].valueFrom.secretKeyRef.name",
    "initContainers[].env[].valueFrom.configMapKeyRef.name",
    "containers[].envFrom[].secretRef.name",
    "containers[].envFrom[].configMapRef.name",
    "containers[].env[].valueFrom.secretKeyRef.name",
    "containers[].env[].valueFrom.configMapKeyRef.name",
};
// Within the pod, and without dots.
constexpr std::string_view kPodLabels[] = {"volumes[].name"};

constexpr std::string_view kClaimNames[] = {"storageClassName", "volumeName", "dataSource.name",
                                            "dataSourceRef.name"};

using Rule = bool (*)(std::string_view);

// `node` is at `path`; `below` leads on from there to what `is_right` judges.
void CheckAt(const std::string& path, const Node& node, std::string_view below, Rule is_right,
             std::string_view rule, Findings& findings) {
  if (below.empty()) {
    if (node.kind == Node::Kind::kString && !node.text.empty() && !is_right(node.text))
      findings.Add(path, fmt::format("{}: got {}", rule, Describe(node)));
    return;
  }
  if (below.starts_with("[]")) {
    below.remove_prefix(below.starts_with("[].") ? 3 : 2);
    for (size_t i = 0; i < node.elements.size(); ++i)
      CheckAt(fmt::format("{}[{}]", path, i), node.elements[i], below, is_right, rule, findings);
    return;
  }
  const size_t end = below.find_first_of(".[");
  const std::string_view key = below.substr(0, end);
  const Node* const found = node.Find(key);
  if (found == nullptr) return;
  below.remove_prefix(end == std::string_view::npos ? below.size() : end);
  if (below.starts_with('.')) below.remove_prefix(1);
  CheckAt(fmt::format("{}.{}", path, key), *found, below, is_right, rule, findings);
}

const Node* SpecOf(const std::optional<Node>& of) { return of ? of->Find("spec") : nullptr; }

void CheckPod(const std::string& path, const PodTemplate& pod_template, Findings& findings) {
  const Node* const spec = SpecOf(pod_template);
  if (spec == nullptr) return;
  for (const std::string_view name : kPodNames)
    CheckAt(path + ".spec", *spec, name, IsObjectName, kObjectNameRule, findings);
  for (const std::string_view name : kPodLabels)
    CheckAt(path + ".spec", *spec, name, IsDnsLabel, kLabelRule, findings);
}

}  // namespace

void CheckTemplateNames(const TrainingJob& job, Findings& findings) {
  const JobSpec& spec = job.spec;
  CheckPod("spec.parameterServer.template", spec.parameter_server.pod_template, findings);
  for (const GroupView& group : GroupsOf(spec.workers))
    CheckPod(group.path + ".template", *group.pod_template, findings);
  if (spec.evaluator) CheckPod("spec.evaluator.template", spec.evaluator->pod_template, findings);
  if (!spec.checkpoint) return;
  const Node* const claim = SpecOf(spec.checkpoint->volume_claim_template);
  if (claim == nullptr) return;
  for (const std::string_view name : kClaimNames) {
    CheckAt("spec.checkpoint.volumeClaimTemplate.spec", *claim, name, IsObjectName, kObjectNameRule,
            findings);
  }
}

}  // namespace paceline::job

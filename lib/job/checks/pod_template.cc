// What Paceline itself relies on in a pod template; the real check is the API server's.
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/job/checks/checks.h"
#include "lib/job/manifest/decode.h"
#include "lib/job/worker_groups.h"

namespace paceline::job {
namespace {

// Kueue keeps a lost pod of a group under its name until a pod of another name has replaced it, and
// does so when its job is deleted too. A job's pods come back under their own names.
constexpr const char* kPodGroupLabel = "kueue.x-k8s.io/pod-group-name";

void CheckLabels(const std::string& path, const Node& node, Findings& findings) {
  if (node.kind == Node::Kind::kNull) return;
  std::vector<FieldError> errors;
  const StringMap labels = DecodeTexts(node, path, errors);
  for (FieldError& error : errors) findings.Add(std::move(error.path), std::move(error.message));
  const auto group = labels.find(kPodGroupLabel);
  if (group == labels.end()) return;
  findings.Add(path, fmt::format("must not have {}, Kueue keeps the names of a group's lost pods; "
                                 "kueue.x-k8s.io/queue-name queues each pod: got \"{}\"",
                                 kPodGroupLabel, group->second));
}

void CheckTemplate(const std::string& path, const PodTemplate& pod_template, Findings& findings) {
  if (!pod_template) return;
  for (const Node::Member& member : pod_template->members) {
    if (member.key != "metadata" && member.key != "spec") {
      findings.Add(path + "." + member.key,
                   fmt::format("is not known; known in {}: metadata, spec", path));
    } else if (member.value.kind != Node::Kind::kMap && member.value.kind != Node::Kind::kNull) {
      findings.Add(path + "." + member.key,
                   fmt::format("must be an object: got {}", Describe(member.value)));
    }
  }
  if (const Node* metadata = pod_template->Find("metadata")) {
    if (const Node* labels = metadata->Find("labels"))
      CheckLabels(path + ".metadata.labels", *labels, findings);
  }
  const Node* spec = pod_template->Find("spec");
  if (spec == nullptr) return;
  if (const Node* restart = spec->Find("restartPolicy")) {
    findings.Add(
        path + ".spec.restartPolicy",
        fmt::format(
            "must be absent, since restarts are Paceline's (runPolicy.backoffLimit): got {}",
            Describe(*restart)));
  }
  const Node* containers = spec->Find("containers");
  if (containers == nullptr) return;
  if (containers->kind != Node::Kind::kList) {
    findings.Add(path + ".spec.containers",
                 fmt::format("must be a list: got {}", Describe(*containers)));
  }
  for (size_t i = 0; i < containers->elements.size(); ++i) {
    const Node* name = containers->elements[i].Find("name");
    if (name == nullptr || name->kind != Node::Kind::kString) {
      findings.Add(fmt::format("{}.spec.containers[{}].name", path, i),
                   "is required: ps, worker and evaluator are Paceline's, others are yours");
    }
  }
}

}  // namespace

void CheckPodTemplates(const TrainingJob& job, Findings& findings) {
  const JobSpec& spec = job.spec;
  CheckTemplate("spec.parameterServer.template", spec.parameter_server.pod_template, findings);
  for (const GroupView& group : GroupsOf(spec.workers))
    CheckTemplate(group.path + ".template", *group.pod_template, findings);
  if (spec.evaluator)
    CheckTemplate("spec.evaluator.template", spec.evaluator->pod_template, findings);
}

}  // namespace paceline::job

#include "operator/objects/pods/pod_labels.h"

#include <charconv>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "lib/job/process_name.h"
#include "lib/kube/core/metadata.h"
#include "operator/objects/names.h"

namespace paceline::controller {
namespace {

void Add(std::string& list, const std::string& one) { list += (list.empty() ? "" : ", ") + one; }

std::string ChangedLabels(const job::TrainingJob& job, const Json& pod,
                          const job::SeenProcess& process) {
  const kube::StringMap labels = kube::Labels(pod);
  std::string changed;
  const auto compare = [&](std::string_view label, std::string_view wanted) {
    const auto found = labels.find(std::string(label));
    if (found == labels.end())
      Add(changed, fmt::format("label {} is gone", label));
    else if (found->second != wanted)
      Add(changed, fmt::format("label {} is {} instead of {}", label, found->second, wanted));
  };
  const job::ProcessId id = job::IdOf(process.role, process.index, process.group);
  compare(kJobLabel, job.metadata.name);
  compare(kRoleLabel, ContainerName(process.role));
  if (labels.contains(std::string(kGroupLabel))) compare(kGroupLabel, id.group);
  compare(kIndexLabel, std::to_string(id.index));
  return changed;
}

bool IsNumber(const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// Of those that every pod is made with.
std::string ChangedAnnotations(const Json& pod) {
  std::string changed;
  for (const std::string_view name :
       {kGenerationAnnotation, kAttemptAnnotation, kFailuresAnnotation}) {
    const std::string value = kube::Annotation(pod, std::string(name));
    if (value.empty())
      Add(changed, fmt::format("annotation {} is gone", name));
    else if (!IsNumber(value))
      Add(changed, fmt::format("annotation {} is {}, which is no number", name, value));
  }
  return changed;
}

}  // namespace

LabelsVerdict JudgeLabels(const job::TrainingJob& job, const Json& pod,
                          const job::SeenProcess& process) {
  if (process.is_stopping) return {};
  const std::string labels = ChangedLabels(job, pod, process);
  const std::string annotations = ChangedAnnotations(pod);
  if (labels.empty() && annotations.empty()) return {};
  LabelsVerdict verdict{.must_go = !labels.empty() && process.state != job::ProcessState::kExited};
  std::string_view outcome = "what it counted is taken for 0";
  if (!labels.empty())
    outcome =
        verdict.must_go ? "it is deleted and made anew" : "it has ended, and counts as it did";
  std::string changed = labels;
  if (!annotations.empty()) Add(changed, annotations);
  verdict.text = fmt::format("pod {}: {}; {}", process.name, changed, outcome);
  return verdict;
}

}  // namespace paceline::controller

#include "operator/objects/ownership.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include <fmt/format.h>

#include "lib/kube/core/metadata.h"
#include "lib/kube/core/owner_reference.h"
#include "operator/objects/names.h"

namespace paceline::controller {
namespace {

constexpr size_t kNamesMax = 10;

std::string Listed(const std::set<std::string>& names) {
  std::string list;
  size_t count = 0;
  for (const std::string& name : names) {
    if (++count > kNamesMax) break;
    list += (list.empty() ? "" : ", ") + name;
  }
  if (names.size() > kNamesMax) list += fmt::format(" and {} more", names.size() - kNamesMax);
  return list;
}

// A policy engine may have put another value into the label.
bool HasMarkOfOurs(const Json& object) {
  if (kube::Label(object, std::string(kManagerLabel)) == kManager) return true;
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{kWantedAnnotation, kSealAnnotation,
                                              kGenerationAnnotation},
      [&](std::string_view annotation) {
        return !kube::Annotation(object, std::string(annotation)).empty();
      });
}

}  // namespace

Ownership OwnershipOf(const job::TrainingJob& job, const Json& object) {
  const auto controller = kube::ControllerOf(object);
  const bool is_labelled = kube::Label(object, std::string(kJobLabel)) == job.metadata.name;
  if (!controller) {
    return is_labelled && HasMarkOfOurs(object) ? Ownership::kOrphaned : Ownership::kForeign;
  }
  const std::string uid = job.metadata.uid.value_or("");
  if (!uid.empty() && controller->uid == uid) return Ownership::kOurs;
  // Of pods in the view only the kind was read, and they are there for their labels.
  const bool is_of_that_name =
      controller->name.empty()
          ? is_labelled
          : controller->name == job.metadata.name && controller->api_version == job::kApiVersion;
  return controller->kind == job::kKind && is_of_that_name ? Ownership::kFormer
                                                           : Ownership::kForeign;
}

void AddPod(FormerJob& former, const job::TrainingJob& job, const Json& pod) {
  if (OwnershipOf(job, pod) == Ownership::kFormer) {
    former.pods.insert(kube::Name(pod));
  } else if (!kube::ControllerOf(pod) &&
             !kube::Annotation(pod, std::string(kGenerationAnnotation)).empty()) {
    former.orphans.insert(kube::Name(pod));
  }
}

std::string Describe(const FormerJob& former) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (!former.pods.empty()) add("pods " + Listed(former.pods));
  if (!former.orphans.empty())
    add("pods that belong to nobody and have to be deleted: " + Listed(former.orphans));
  if (!former.others.empty()) add(Listed(former.others));
  return text;
}

}  // namespace paceline::controller

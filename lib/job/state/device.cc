#include "lib/job/state/device.h"

#include <optional>

#include <fmt/format.h>

#include "lib/job/worker_groups.h"

namespace paceline::job {
namespace {

bool IsGpu(const std::string& resource) {
  return resource == "nvidia.com/gpu" || resource == "nvidia.com/gpu.shared" ||
         resource.starts_with("nvidia.com/mig-");
}

bool IsSome(const Node& quantity) {
  if (quantity.kind == Node::Kind::kInteger) return quantity.integer > 0;
  return quantity.kind == Node::Kind::kString && quantity.text != "0" && !quantity.text.empty();
}

// The container of that name in a template; null if there is none.
const Node* FindContainer(const Node& pod_template, std::string_view name) {
  const Node* spec = pod_template.Find("spec");
  const Node* containers = spec == nullptr ? nullptr : spec->Find("containers");
  if (containers == nullptr) return nullptr;
  for (const Node& container : containers->elements) {
    const Node* own = container.Find("name");
    if (own != nullptr && own->text == name) return &container;
  }
  return nullptr;
}

// Which GPU resource the container of that name asks for.
std::optional<std::string> GpuOf(const PodTemplate& pod_template, std::string_view name) {
  if (!pod_template) return std::nullopt;
  const Node* container = FindContainer(*pod_template, name);
  const Node* resources = container == nullptr ? nullptr : container->Find("resources");
  if (resources == nullptr) return std::nullopt;
  for (const char* const kind : {"limits", "requests"}) {
    const Node* list = resources->Find(kind);
    if (list == nullptr) continue;
    for (const Node::Member& member : list->members) {
      if (IsGpu(member.key) && IsSome(member.value)) return member.key;
    }
  }
  return std::nullopt;
}

DeviceChoice ByTemplate(const PodTemplate& pod_template, const std::string& path, Role role) {
  const auto gpu = GpuOf(pod_template, ToWord(role));
  if (!gpu) return {};
  return {Computes::kCuda, false, fmt::format("{} asks for {}", path, *gpu)};
}

}  // namespace

DeviceChoice DeviceOf(const JobSpec& spec, Role role, std::string_view name) {
  if (role == Role::kParameterServer) return {};
  if (role == Role::kEvaluator) {
    if (!spec.evaluator) return {};
    return ByTemplate(spec.evaluator->pod_template, "spec.evaluator.template", role);
  }
  const std::optional<GroupView> group = FindGroup(spec.workers, name);
  if (!group) return {};
  switch (group->device) {
    case Device::kCpu:
      return {Computes::kCpu, true, group->path + ".device is CPU"};
    case Device::kCuda:
      return {Computes::kCuda, true, group->path + ".device is CUDA"};
    case Device::kAuto:
      break;
  }
  return ByTemplate(*group->pod_template, group->path + ".template", role);
}

}  // namespace paceline::job

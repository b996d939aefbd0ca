#include "lib/job/state/device.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "lib/job/worker_groups.h"

namespace paceline::job {
namespace {

constexpr std::string_view kOfDeviceClass = "deviceclass.resource.kubernetes.io/";

bool IsCuda(std::string_view resource) {
  return resource == "nvidia.com/gpu" || resource == "nvidia.com/gpu.shared" ||
         resource.starts_with("nvidia.com/mig-");
}

// One that a device plugin or a driver has named, as rdma/hca; not cpu, memory, hugepages-2Mi.
bool IsDevice(std::string_view resource) {
  if (resource.starts_with(kOfDeviceClass)) return true;
  const size_t slash = resource.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view domain = resource.substr(0, slash);
  return domain != "kubernetes.io" && !domain.ends_with(".kubernetes.io");
}

bool MayBeCuda(std::string_view resource) {
  constexpr std::string_view kGpu = "gpu";
  const auto is_alike = [](char a, char b) { return (a | 0x20) == b; };
  return resource.starts_with("nvidia.com/") || resource.starts_with(kOfDeviceClass) ||
         !std::ranges::search(resource, kGpu, is_alike).empty();
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

// The resources that `container` asks for, as limits or requests.
std::vector<std::string> AskedFor(const Node& resources) {
  std::vector<std::string> asked;
  for (const char* const kind : {"limits", "requests"}) {
    const Node* list = resources.Find(kind);
    if (list == nullptr) continue;
    for (const Node::Member& member : list->members) {
      if (IsSome(member.value)) asked.push_back(member.key);
    }
  }
  return asked;
}

// The first claim of `resources`, by its name in the pod; empty if there is none.
std::string ClaimOf(const Node& resources) {
  const Node* claims = resources.Find("claims");
  if (claims == nullptr || claims->elements.empty()) return "";
  const Node* name = claims->elements.front().Find("name");
  return name == nullptr ? "" : name->text;
}

DeviceChoice ByTemplate(const PodTemplate& pod_template, const std::string& path, Role role) {
  if (!pod_template) return {};
  const Node* container = FindContainer(*pod_template, ToWord(role));
  const Node* resources = container == nullptr ? nullptr : container->Find("resources");
  if (resources == nullptr) return {};
  const std::vector<std::string> asked = AskedFor(*resources);
  const auto asks_for = [&](const std::string& resource) {
    return fmt::format("{} asks for {}", path, resource);
  };
  if (const auto found = std::ranges::find_if(asked, IsCuda); found != asked.end())
    return {Computes::kCuda, false, asks_for(*found)};
  if (const std::string claim = ClaimOf(*resources); !claim.empty())
    return {Computes::kCudaIfUsable, false, fmt::format("{} has resource claim {}", path, claim)};
  if (const auto found = std::ranges::find_if(asked, MayBeCuda); found != asked.end())
    return {Computes::kCudaIfUsable, false, asks_for(*found)};
  if (const auto found = std::ranges::find_if(asked, IsDevice); found != asked.end())
    return {Computes::kCpu, false, asks_for(*found)};
  return {};
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

std::vector<std::string> DeviceNotes(const JobSpec& spec) {
  std::vector<std::string> notes;
  const auto note = [&](const DeviceChoice& choice, const std::string& field) {
    if (choice.is_by_name || choice.why.empty()) return;
    if (choice.device == Computes::kCudaIfUsable) {
      notes.push_back(fmt::format(
          "{}: computed on it if it is a GPU that CUDA can use, else on the CPU{}", choice.why,
          field.empty() ? "" : fmt::format(" ({}: CUDA insists on one, CPU wants none)", field)));
    } else if (choice.device == Computes::kCpu) {
      notes.push_back(fmt::format(
          "{}, and nothing of Paceline's computes on that: computed on the CPU{}", choice.why,
          field.empty() ? "" : fmt::format(" ({}: CPU says that this is meant)", field)));
    }
  };
  for (const GroupView& group : GroupsOf(spec.workers))
    note(DeviceOf(spec, Role::kWorker, group.name), group.path + ".device");
  note(DeviceOf(spec, Role::kEvaluator), "");
  return notes;
}

}  // namespace paceline::job

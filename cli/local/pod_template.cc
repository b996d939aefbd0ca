#include "cli/local/pod_template.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/local/references.h"

namespace paceline::local {
namespace {

using job::Node;
using Names = std::span<const std::string_view>;

constexpr std::string_view kPodUsed[] = {"containers", "volumes"};
constexpr std::string_view kPodIgnored[] = {"affinity",
                                            "automountServiceAccountToken",
                                            "dnsConfig",
                                            "dnsPolicy",
                                            "enableServiceLinks",
                                            "hostIPC",
                                            "hostNetwork",
                                            "hostPID",
                                            "hostUsers",
                                            "hostname",
                                            "imagePullSecrets",
                                            "nodeName",
                                            "nodeSelector",
                                            "os",
                                            "overhead",
                                            "preemptionPolicy",
                                            "priority",
                                            "priorityClassName",
                                            "readinessGates",
                                            "resourceClaims",
                                            "resources",
                                            "runtimeClassName",
                                            "schedulerName",
                                            "schedulingGates",
                                            "securityContext",
                                            "serviceAccount",
                                            "serviceAccountName",
                                            "setHostnameAsFQDN",
                                            "shareProcessNamespace",
                                            "subdomain",
                                            "terminationGracePeriodSeconds",
                                            "tolerations",
                                            "topologySpreadConstraints"};
constexpr std::string_view kContainerUsed[] = {"name", "args", "env", "volumeMounts"};
constexpr std::string_view kContainerIgnored[] = {"image",
                                                  "imagePullPolicy",
                                                  "livenessProbe",
                                                  "ports",
                                                  "readinessProbe",
                                                  "resizePolicy",
                                                  "resources",
                                                  "restartPolicy",
                                                  "securityContext",
                                                  "startupProbe",
                                                  "stdin",
                                                  "stdinOnce",
                                                  "terminationMessagePath",
                                                  "terminationMessagePolicy",
                                                  "tty"};
constexpr std::string_view kMountUsed[] = {"name", "mountPath", "subPath"};
constexpr std::string_view kMountIgnored[] = {"mountPropagation", "readOnly", "recursiveReadOnly"};
constexpr std::string_view kVariableUsed[] = {"name", "value"};

// Of Paceline's programs; the others are set by the planner's shell.
constexpr std::string_view kServerFlags[] = {"--default-checkpoint-seconds", "--hang-floor-seconds",
                                             "--http-host", "--log-format"};
constexpr std::string_view kWorkerFlags[] = {"--log-format"};

Names FlagsOf(job::Role role) {
  return role == job::Role::kParameterServer ? Names(kServerFlags) : Names(kWorkerFlags);
}

bool Contains(Names names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Kubernetes refuses a subPath that leads out of the volume.
bool IsWithin(const std::string& path) {
  return !path.starts_with('/') &&
         std::ranges::none_of(std::filesystem::path(path),
                              [](const auto& part) { return part == ".."; });
}

// What only a cluster has. `what` is the member's key.
std::string WhyNot(std::string_view what) {
  if (what == "command") return "must be absent, paceline run starts its own program: use args";
  if (what == "valueFrom" || what == "envFrom")
    return "needs a cluster: on one machine, give the value itself";
  return "needs a cluster: paceline run cannot do it on one machine";
}

class Reader {
 public:
  Reader(job::Role role, bool is_own, std::string empty_dirs, VolumeFolders& volumes)
      : role_(role), is_own_(is_own), empty_dirs_(std::move(empty_dirs)), volumes_(volumes) {}

  TemplateReading Read(const std::string& field, const Node& pod_template) {
    if (pod_template.Find("metadata") != nullptr) reading_.ignored.push_back(field + ".metadata");
    const Node* spec = pod_template.Find("spec");
    if (spec != nullptr && spec->kind == Node::Kind::kMap) ReadPod(field + ".spec", *spec);
    return std::move(reading_);
  }

 private:
  void Refuse(std::string field, std::string message, int line) {
    reading_.errors.push_back({std::move(field), std::move(message), line});
  }

  // Notes what of `map` is ignored, refuses what is neither that nor used.
  void Sort(const std::string& field, const Node& map, Names used, Names ignored) {
    for (const Node::Member& member : map.members) {
      if (Contains(used, member.key) || member.value.kind == Node::Kind::kNull) continue;
      if (Contains(ignored, member.key))
        reading_.ignored.push_back(field + "." + member.key);
      else
        Refuse(field + "." + member.key, WhyNot(member.key), member.line);
    }
  }

  // The elements of the list at `key`, each with its path; a list of anything but maps is refused.
  template <class Use>
  void ForEachMap(const std::string& field, const Node& map, std::string_view key, Use use) {
    const Node* list = map.Find(key);
    if (list == nullptr || list->kind == Node::Kind::kNull) return;
    const std::string path = fmt::format("{}.{}", field, key);
    if (list->kind != Node::Kind::kList) {
      return Refuse(path, fmt::format("must be a list: got {}", job::Describe(*list)), list->line);
    }
    for (size_t i = 0; i < list->elements.size(); ++i) {
      const Node& element = list->elements[i];
      const std::string at = fmt::format("{}[{}]", path, i);
      if (element.kind == Node::Kind::kMap)
        use(at, element);
      else
        Refuse(at, fmt::format("must be an object: got {}", job::Describe(element)), element.line);
    }
  }

  // Nothing, and an error, if it is not there or no text.
  std::optional<std::string> Text(const std::string& field, const Node& map, std::string_view key) {
    const Node* text = map.Find(key);
    if (text != nullptr && text->kind == Node::Kind::kString && !text->text.empty())
      return text->text;
    Refuse(fmt::format("{}.{}", field, key),
           text == nullptr
               ? "is required"
               : fmt::format("must be a string, not empty: got {}", job::Describe(*text)),
           text == nullptr ? map.line : text->line);
    return std::nullopt;
  }

  void ReadPod(const std::string& field, const Node& spec) {
    Sort(field, spec, kPodUsed, kPodIgnored);
    ForEachMap(field, spec, "volumes",
               [&](const std::string& at, const Node& volume) { ReadVolume(at, volume); });
    ForEachMap(field, spec, "containers", [&](const std::string& at, const Node& container) {
      const std::string_view own = job::ToWord(role_);
      if (const Node* name = container.Find("name"); name != nullptr && name->text != own) {
        return Refuse(at + ".name",
                      fmt::format("must be {} on one machine, other containers need a cluster: got "
                                  "{}",
                                  own, job::Describe(*name)),
                      name->line);
      }
      ReadContainer(at, container);
    });
  }

  void ReadVolume(const std::string& field, const Node& volume) {
    const std::optional<std::string> name = Text(field, volume, "name");
    static constexpr std::string_view kSources[] = {"name", "persistentVolumeClaim", "hostPath",
                                                    "emptyDir"};
    Sort(field, volume, kSources, {});
    if (!name) return;
    known_.insert(*name);
    const auto source = [&](std::string_view key, std::string_view part) {
      const Node* found = volume.Find(key);
      return found == nullptr ? std::nullopt : Text(fmt::format("{}.{}", field, key), *found, part);
    };
    if (const auto claim = source("persistentVolumeClaim", "claimName")) {
      folders_[*name] = volumes_.FolderOf(*claim);
    } else if (const auto path = source("hostPath", "path")) {
      folders_[*name] = *path;
    } else if (volume.Find("emptyDir") != nullptr) {
      folders_[*name] = fmt::format("{}/{}-{}", empty_dirs_, job::ToWord(role_), *name);
    }
  }

  void ReadContainer(const std::string& field, const Node& container) {
    Sort(field, container, kContainerUsed, kContainerIgnored);
    ForEachMap(field, container, "volumeMounts",
               [&](const std::string& at, const Node& mount) { ReadMount(at, mount); });
    ForEachMap(field, container, "env",
               [&](const std::string& at, const Node& variable) { ReadVariable(at, variable); });
    ReadArguments(field + ".args", container.Find("args"));
  }

  void ReadMount(const std::string& field, const Node& mount) {
    Sort(field, mount, kMountUsed, kMountIgnored);
    const std::optional<std::string> name = Text(field, mount, "name");
    std::optional<std::string> path = Text(field, mount, "mountPath");
    if (!name || !path) return;
    if (!path->starts_with('/')) {
      return Refuse(field + ".mountPath",
                    fmt::format("must be an absolute path: got \"{}\"", *path), mount.line);
    }
    while (path->size() > 1 && path->back() == '/') path->pop_back();
    const auto folder = folders_.find(*name);
    if (folder == folders_.end()) {
      if (known_.contains(*name)) return;  // Its source has been refused.
      return Refuse(field + ".name",
                    fmt::format("must be one of the template's volumes, {}: got \"{}\"",
                                known_.empty() ? "of which it has none"
                                               : fmt::format("{}", fmt::join(known_, ", ")),
                                *name),
                    mount.line);
    }
    const Node* sub_path = mount.Find("subPath");
    const bool is_part = sub_path != nullptr && !sub_path->text.empty();
    if (is_part && !IsWithin(sub_path->text)) {
      return Refuse(field + ".subPath",
                    fmt::format("must be a path within the volume, without .. and not absolute: "
                                "got \"{}\"",
                                sub_path->text),
                    sub_path->line);
    }
    reading_.mounts.push_back({*path,
                               is_part ? folder->second + "/" + sub_path->text : folder->second,
                               field + ".mountPath", mount.line});
  }

  void ReadVariable(const std::string& field, const Node& variable) {
    Sort(field, variable, kVariableUsed, {});
    const std::optional<std::string> name = Text(field, variable, "name");
    if (!name || variable.Find("valueFrom") != nullptr) return;
    const Node* value = variable.Find("value");
    if (value != nullptr && value->kind != Node::Kind::kString &&
        value->kind != Node::Kind::kNull) {
      return Refuse(
          field + ".value",
          fmt::format("must be a string, put it in quotes: got {}", job::Describe(*value)),
          value->line);
    }
    reading_.environment.emplace_back(*name, value == nullptr ? "" : Resolve(value->text));
  }

  void ReadArguments(const std::string& field, const Node* arguments) {
    if (arguments == nullptr || arguments->kind == Node::Kind::kNull) return;
    if (arguments->kind != Node::Kind::kList) {
      return Refuse(field, fmt::format("must be a list: got {}", job::Describe(*arguments)),
                    arguments->line);
    }
    for (size_t i = 0; i < arguments->elements.size(); ++i) {
      const Node& argument = arguments->elements[i];
      const std::string at = fmt::format("{}[{}]", field, i);
      if (argument.kind != Node::Kind::kString) {
        Refuse(at,
               fmt::format("must be a string, put it in quotes: got {}", job::Describe(argument)),
               argument.line);
        continue;
      }
      const std::string text = Resolve(argument.text);
      const std::string flag = text.substr(0, text.find('='));
      if (!is_own_ && text.starts_with('-') && !Contains(FlagsOf(role_), flag)) {
        Refuse(at,
               fmt::format("must be one of {}, paceline run sets the others: got {}",
                           fmt::join(FlagsOf(role_), ", "), flag),
               argument.line);
        continue;
      }
      reading_.arguments.push_back(text);
    }
  }

  std::string Resolve(const std::string& text) const {
    return Mapped(ExpandReferences(text, reading_.environment), reading_.mounts);
  }

  const job::Role role_;
  const bool is_own_;  // The program is the job's own, and its arguments are no business of ours.
  const std::string empty_dirs_;
  VolumeFolders& volumes_;
  std::set<std::string> known_;                 // The template's volumes by name...
  std::map<std::string, std::string> folders_;  // ...and where they are.
  TemplateReading reading_;
};

}  // namespace

std::string Mapped(const std::string& path, const std::vector<Mount>& mounts) {
  const Mount* best = nullptr;
  for (const Mount& mount : mounts) {
    const size_t size = mount.mount_path == "/" ? 0 : mount.mount_path.size();
    const bool is_under =
        path.starts_with(mount.mount_path) && (path.size() == size || path[size] == '/');
    if (is_under && (best == nullptr || mount.mount_path.size() > best->mount_path.size()))
      best = &mount;
  }
  if (best == nullptr) return path;
  return best->folder + path.substr(best->mount_path == "/" ? 0 : best->mount_path.size());
}

TemplateReading ReadTemplate(const std::string& field, const Node& pod_template, job::Role role,
                             bool is_own_program, const std::string& empty_dirs,
                             VolumeFolders& volumes) {
  return Reader(role, is_own_program, empty_dirs, volumes).Read(field, pod_template);
}

}  // namespace paceline::local

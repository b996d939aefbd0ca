#include "lib/job/checks/change.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "lib/job/manifest/encode.h"
#include "lib/job/manifest/fields.h"
#include "lib/job/manifest/shape.h"

namespace paceline::job {
namespace {

// The paths of what is immutable; nothing below those.
class ImmutablePaths {
 public:
  ImmutablePaths(std::string around, std::vector<std::string>& paths)
      : around_(std::move(around)), paths_(paths) {}

  template <class T>
  void operator()(std::string_view name, T& value, const Note& note) {
    const std::string path = around_ + "." + std::string(name);
    if (note.mutability == kImmutable) {
      paths_.push_back(path);
    } else {
      Below<T>(path);
    }
  }

 private:
  template <class T>
  void Below(const std::string& path) {
    if constexpr (kIsOptional<T>) {
      Below<typename OptionalOf<T>::Type>(path);
    } else if constexpr (!kIsLeaf<T> && !kIsList<T>) {
      T value{};
      ImmutablePaths below(path, paths_);
      Fields(below, value);
    }
  }

  const std::string around_;
  std::vector<std::string>& paths_;
};

template <class T>
std::vector<std::string> ImmutableBelow(const char* name) {
  std::vector<std::string> paths;
  ImmutablePaths collect(name, paths);
  T value{};
  Fields(collect, value);
  return paths;
}

const Node* At(const Node& root, std::string_view path) {
  const Node* node = &root;
  for (const PathStep& step : SplitPath(path)) {
    node = node == nullptr ? nullptr : node->Find(step.key);
  }
  return node;
}

std::map<std::string_view, const Node*> ByKey(const Node& map) {
  std::map<std::string_view, const Node*> values;
  for (const Node::Member& member : map.members) values.emplace(member.key, &member.value);
  return values;
}

// The first difference below `path`, as deep as there are objects.
FieldError Difference(const Node& before, const Node& after, const std::string& path) {
  if (before.kind == Node::Kind::kMap && after.kind == Node::Kind::kMap) {
    for (const auto& [one, other] : {std::pair(&before, &after), std::pair(&after, &before)}) {
      const std::map<std::string_view, const Node*> others = ByKey(*other);
      for (const Node::Member& member : one->members) {
        const auto found = others.find(member.key);
        const Node* const held = found == others.end() ? nullptr : found->second;
        if (held != nullptr && *held == member.value) continue;
        const Node absent;
        const Node& old_value = one == &before ? member.value : held != nullptr ? *held : absent;
        const Node& new_value = one == &after ? member.value : held != nullptr ? *held : absent;
        return Difference(old_value, new_value, path + "." + member.key);
      }
    }
  }
  return {path,
          fmt::format("cannot change once the job exists: from {} to {}", Describe(before),
                      Describe(after)),
          0};
}

// Optional fields of spec.training: without one, another model is trained.
constexpr const char* kFixedOptions[] = {
    "spec.training.microBatchSize", "spec.training.gradientClipNorm", "spec.training.ema",
    "spec.training.stop.target", "spec.training.stop.patience"};

void CheckOptions(const Node& before, const Node& after, std::vector<FieldError>& errors) {
  const Node absent;
  for (const char* const path : kFixedOptions) {
    const Node* const old_value = At(before, path);
    const Node* const new_value = At(after, path);
    if ((old_value == nullptr) == (new_value == nullptr)) continue;
    errors.push_back(Difference(old_value == nullptr ? absent : *old_value,
                                new_value == nullptr ? absent : *new_value, path));
  }
}

void CheckVolumes(const JobSpec& from, const JobSpec& to, std::vector<FieldError>& errors) {
  if (from.run_policy.suspend) return;
  const auto volume = [](const JobSpec& spec) {
    return spec.checkpoint ? spec.checkpoint->volume : std::nullopt;
  };
  const auto is_enabled = [](const JobSpec& spec) {
    return spec.checkpoint && spec.checkpoint->enabled;
  };
  if (from.checkpoint.has_value() != to.checkpoint.has_value() || volume(from) != volume(to) ||
      is_enabled(from) != is_enabled(to)) {
    errors.push_back({"spec.checkpoint",
                      "may come, go and get another volume only while runPolicy.suspend is true",
                      0});
  }
  const auto fix = [&](bool is_changed, const char* path) {
    if (is_changed) errors.push_back({path, "may change only while runPolicy.suspend is true", 0});
  };
  fix(from.output.keep != to.output.keep, "spec.output.keep");
  fix(from.output.volume != to.output.volume, "spec.output.volume");
}

// All names of workers would be others.
void CheckForm(const Workers& from, const Workers& to, std::vector<FieldError>& errors) {
  if (from.groups.empty() == to.groups.empty()) return;
  errors.push_back({"spec.workers.groups",
                    "cannot come to a job without groups, nor the last one go: groups of a job "
                    "that has some may come and go",
                    0});
}

}  // namespace

std::vector<FieldError> ValidateChange(const TrainingJob& from, const TrainingJob& to) {
  std::vector<FieldError> errors;
  const Node before = ToNode(from);
  const Node after = ToNode(to);
  std::vector<std::string> paths = ImmutableBelow<Metadata>("metadata");
  for (std::string& path : ImmutableBelow<JobSpec>("spec")) paths.push_back(std::move(path));
  for (const std::string& path : paths) {
    const Node* const old_value = At(before, path);
    const Node* const new_value = At(after, path);
    // What comes or goes is another rule's matter, as for the API server.
    if (old_value == nullptr || new_value == nullptr || *old_value == *new_value) continue;
    errors.push_back(Difference(*old_value, *new_value, path));
  }
  CheckOptions(before, after, errors);
  CheckVolumes(from.spec, to.spec, errors);
  CheckForm(from.spec.workers, to.spec.workers, errors);
  return errors;
}

}  // namespace paceline::job

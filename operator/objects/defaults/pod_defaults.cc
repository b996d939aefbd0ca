#include "operator/objects/defaults/pod_defaults.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "lib/base/json_text.h"
#include "lib/job/manifest/encode.h"
#include "lib/kube/core/metadata.h"
#include "operator/objects/defaults/read_pod_defaults.h"
#include "operator/objects/json_at.h"
#include "operator/objects/names.h"
#include "operator/objects/pods/lay.h"

namespace paceline::controller {
namespace {

constexpr const char* kImages = "images";  // In the record alone.

// Of a toleration, what says which taints it is about.
Json TaintsOf(const Json& toleration) {
  const std::string how = TextAt(toleration, "operator");
  return {TextAt(toleration, "key"), how.empty() ? "Equal" : how, TextAt(toleration, "value"),
          TextAt(toleration, "effect")};
}

Json NameOf(const Json& element) { return TextAt(element, "name"); }

// Members of `below` that `above` does not speak of.
void MergeMembers(Json& above, const Json& below) {
  for (const auto& [key, value] : below.items()) {
    if (!above.contains(key)) above[key] = value;
  }
}

// Elements of `below` that are told apart from all of `above` go before them: what is there may
// refer to an environment variable before it.
void MergeElements(Json& above, const Json& below, Json (*identity)(const Json&)) {
  Json merged = Json::array();
  for (const Json& element : below) {
    const bool is_theirs = std::any_of(above.begin(), above.end(), [&](const Json& other) {
      return identity(other) == identity(element);
    });
    if (!is_theirs) merged.push_back(element);
  }
  merged.insert(merged.end(), above.begin(), above.end());
  above = std::move(merged);
}

// A resource is one side's as a whole: a request of the one may be more than a limit of the other.
void MergeResources(Json& above, const Json& below) {
  const auto is_named = [named = above](std::string_view resource) {
    return At(named, "limits").contains(resource) || At(named, "requests").contains(resource);
  };
  for (const char* const kind : {"limits", "requests"}) {
    if (above.contains(kind) && !above[kind].is_object()) continue;
    for (const auto& [resource, quantity] : At(below, kind).items()) {
      if (!is_named(resource)) above[kind][resource] = quantity;
    }
  }
}

void MergeField(std::string_view field, Json& above, const Json& below) {
  if (field == "resources" && above.is_object() && below.is_object())
    return MergeResources(above, below);
  if (above.is_object() && below.is_object()) return MergeMembers(above, below);
  if (above.is_array() && below.is_array())
    MergeElements(above, below, field == "tolerations" ? TaintsOf : NameOf);
}

// Lays `fields` of `defaults` under those of `object`.
void LayFields(Json& object, const Json& defaults, std::initializer_list<const char*> fields) {
  for (const char* const field : fields) {
    const auto found = defaults.find(field);
    if (found == defaults.end()) continue;
    if (!object.contains(field)) {
      object[field] = *found;
    } else {
      MergeField(field, object[field], *found);
    }
  }
}

void LayDefaults(job::PodTemplate& pod_template, Json defaults, job::Role role) {
  if (defaults.empty()) return;
  Json pod = pod_template ? job::ToJson(*pod_template) : Json::object();
  if (!pod.is_object()) return;  // Nothing that is valid.
  LayFields(ObjectAt(pod, "metadata"), defaults, {"labels", "annotations"});
  Json& spec = ObjectAt(pod, "spec");
  LayFields(spec, defaults,
            {"imagePullSecrets", "nodeSelector", "tolerations", "runtimeClassName",
             "priorityClassName", "securityContext"});
  LayFields(Named(ListAt(spec, "containers"), "name", ContainerName(role)), defaults,
            {"env", "imagePullPolicy", "resources"});
  pod_template = job::ToNode(pod);
}

// "registry.example.com/team/ps:1" is in registry.example.com, "paceline/ps:1" in the default one.
bool NamesRegistry(std::string_view first_part) {
  return first_part == "localhost" || first_part.find_first_of(".:") != std::string_view::npos;
}

void MoveTo(const std::string& registry, std::string& image) {
  if (image.empty()) return;
  const size_t slash = image.find('/');
  const bool has_registry = slash != std::string::npos && NamesRegistry(image.substr(0, slash));
  image = registry + "/" + (has_registry ? image.substr(slash + 1) : image);
}

}  // namespace

Json DefaultsOf(const PodDefaults& defaults, job::Role role) {
  const char* const section = role == job::Role::kParameterServer ? "parameterServer"
                              : role == job::Role::kWorker        ? "workers"
                                                                  : "evaluator";
  Json merged = Json::object();
  if (const Json& own = At(defaults.sections, section); own.is_object()) merged = own;
  for (const auto& [field, value] : At(defaults.sections, "all").items()) {
    if (merged.contains(field)) {
      MergeField(field, merged[field], value);
    } else {
      merged[field] = value;
    }
  }
  return merged;
}

job::PodTemplate WithDefaults(const job::PodTemplate& pod_template, const PodDefaults& defaults,
                              job::Role role) {
  job::PodTemplate merged = pod_template;
  LayDefaults(merged, DefaultsOf(defaults, role), role);
  return merged;
}

job::TrainingJob WithDefaults(job::TrainingJob job, const PodDefaults& defaults) {
  if (defaults.IsEmpty()) return job;
  const bool has_priority = job.spec.run_policy.scheduling_policy.priority_class.has_value();
  const auto lay = [&](job::PodTemplate& pod_template, job::Role role) {
    Json of_role = DefaultsOf(defaults, role);
    if (has_priority) of_role.erase("priorityClassName");
    LayDefaults(pod_template, std::move(of_role), role);
  };
  lay(job.spec.parameter_server.pod_template, job::Role::kParameterServer);
  job::Workers& workers = job.spec.workers;
  if (workers.groups.empty()) lay(workers.pod_template, job::Role::kWorker);
  for (job::WorkerGroup& group : workers.groups) lay(group.pod_template, job::Role::kWorker);
  if (job.spec.evaluator) lay(job.spec.evaluator->pod_template, job::Role::kEvaluator);
  return job;
}

Json ImagesOf(const ObjectOptions& options) {
  return {{"ps", options.server_image},
          {"worker", options.worker_image},
          {"workerCuda", options.worker_cuda_image}};
}

ObjectOptions WithDefaults(ObjectOptions options, const PodDefaults& defaults, job::Role role) {
  const auto take = [&](const char* name, std::string& image) {
    if (defaults.images.contains(name)) image = TextAt(defaults.images, name);
  };
  take("ps", options.server_image);
  take("worker", options.worker_image);
  take("workerCuda", options.worker_cuda_image);
  const std::string registry = TextAt(DefaultsOf(defaults, role), "imageRegistry");
  if (registry.empty()) return options;
  for (std::string* const image :
       {&options.server_image, &options.worker_image, &options.worker_cuda_image})
    MoveTo(registry, *image);
  return options;
}

void LayUnder(Json& child, const PodDefaults& defaults) {
  const Json& all = At(defaults.sections, "all");
  Json& metadata = child["metadata"];
  bool is_changed = false;
  for (const char* const field : {"labels", "annotations"}) {
    for (const auto& [key, value] : At(all, field).items()) {
      if (value.is_null() || At(metadata, field).contains(key)) continue;
      metadata[field][key] = value;
      is_changed = true;
    }
  }
  if (!is_changed) return;
  if (!kube::Annotation(child, std::string(kWantedAnnotation)).empty()) return MarkWanted(child);
  Json laid = {{"labels", At(all, "labels")}, {"annotations", At(all, "annotations")}};
  Json marked = {{"laid", std::move(laid)}};
  MarkWanted(marked);
  metadata["annotations"].update(marked["metadata"]["annotations"]);
}

void RecordDefaults(Json& config_map, const PodDefaults& defaults) {
  Json record = defaults.sections;
  if (!defaults.images.empty()) record[kImages] = defaults.images;
  if (record.empty()) return;
  config_map["metadata"]["annotations"][std::string(kDefaultsAnnotation)] = JsonText(record);
  MarkWanted(config_map);
}

std::vector<job::FieldError> ReadRecord(const Json& config_map, PodDefaults& defaults) {
  defaults = {};
  const std::string text = kube::Annotation(config_map, std::string(kDefaultsAnnotation));
  Json record = JsonOrNone(text);
  if (!record.is_object()) return {};
  if (const Json& images = At(record, kImages); images.is_object()) defaults.images = images;
  record.erase(kImages);
  ReadDefaults read = ReadPodDefaults(JsonText(record));
  defaults.sections = std::move(read.defaults.sections);
  return std::move(read.errors);
}

}  // namespace paceline::controller

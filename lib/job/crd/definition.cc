#include "lib/job/crd/definition.h"

#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/job/crd/schema.h"
#include "lib/job/crd/yaml_text.h"
#include "lib/job/manifest/training_job.h"

namespace paceline::job {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kIntroduction =
    "# Generated from lib/job (fields/ and crd/) by `make crd`; a test compares.\n";

// What `kubectl get tj` prints. All of them are fields that the planner computes: a list's last
// element says nothing about what holds.
struct Column {
  std::string_view name;
  std::string_view type;
  std::string_view path;
  std::string_view description;
  bool is_wide = false;  // Printed with -o wide alone.
};

constexpr Column kColumns[] = {
    {"State", "string", ".status.state", "the conditions as one word"},
    {"Progress", "string", ".status.progress.done", "percent and step"},
    {"ETA", "string", ".status.progress.eta", "left at the present pace"},
    {"Accuracy", "number", ".status.progress.accuracy", "newest, on the held-out samples"},
    {"Workers", "string", ".status.readyWorkers", "workers that run, of those wanted"},
    {"Scheme", "string", ".status.sync.summary",
     "the synchronisation scheme in force, and k: workers whose pushes the next commit takes"},
    {"Slowest", "string", ".status.progress.slowest",
     "the slowest worker, in times of the median worker's"},
    {"Age", "date", ".metadata.creationTimestamp", "since it was created"},
    {"Standstill", "string", ".status.standstill", "why training stands still"},
    {"Step", "integer", ".status.progress.step", "commits so far", true},
    {"Epoch", "number", ".status.progress.epoch", "passes over the data so far", true},
    {"Loss", "number", ".status.progress.loss", "of training, smoothed", true},
    {"Metric", "number", ".status.progress.metric", "newest held-out, of the target", true},
    {"Samples/s", "number", ".status.progress.samplesPerSecond", "committed, smoothed", true},
    {"Restarts", "integer", ".status.restarts", "processes started again, all told", true},
    {"Queue", "string", ".spec.runPolicy.schedulingPolicy.queue", "of the batch scheduler", true},
};

Json Columns() {
  Json columns = Json::array();
  for (const Column& column : kColumns) {
    Json json = {{"name", column.name},
                 {"type", column.type},
                 {"jsonPath", column.path},
                 {"description", column.description}};
    if (column.is_wide) json["priority"] = 1;
    columns.push_back(std::move(json));
  }
  return columns;
}

}  // namespace

Json CustomResourceDefinition() {
  const std::string_view group = kApiVersion.substr(0, kApiVersion.find('/'));
  const std::string_view version = kApiVersion.substr(group.size() + 1);
  const Json subresources = {{"status", Json::object()},
                             {"scale",
                              {{"specReplicasPath", ".spec.workers.replicas"},
                               {"statusReplicasPath", ".status.replicas"},
                               {"labelSelectorPath", ".status.selector"}}}};
  const Json versions = Json::array({{{"name", version},
                                      {"served", true},
                                      {"storage", true},
                                      {"additionalPrinterColumns", Columns()},
                                      {"subresources", subresources},
                                      {"schema", {{"openAPIV3Schema", OpenApiSchema()}}}}});
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata",
           {{"name", "trainingjobs." + std::string(group)},
            {"labels", {{"app.kubernetes.io/name", "paceline"}}}}},
          {"spec",
           {{"group", group},
            {"scope", "Namespaced"},
            {"names",
             {{"kind", kKind},
              {"listKind", std::string(kKind) + "List"},
              {"plural", "trainingjobs"},
              {"singular", "trainingjob"},
              {"shortNames", {"tj"}},
              {"categories", {"all", "paceline"}}}},
            {"versions", versions}}}};
}

std::string CustomResourceDefinitionFile() {
  return std::string(kIntroduction) + ToYamlText(CustomResourceDefinition());
}

}  // namespace paceline::job

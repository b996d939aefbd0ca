// Reads what a pod template means on one machine: the environment, the arguments and the mounts of
// Paceline's own container.
//
// Fields that only matter to a cluster (image, resources, nodeSelector, ...) are collected as
// ignored; what a process of this machine cannot have (a sidecar, a ConfigMap, ...) is an error
// with its path.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/local/volumes.h"
#include "lib/job/manifest/field_error.h"
#include "lib/job/manifest/node.h"
#include "lib/job/process_name.h"

namespace paceline::local {

// What a container sees at `mount_path` lies at `folder`.
struct Mount {
  std::string mount_path;  // Absolute, without a slash at its end.
  std::string folder;      // Absolute.
  std::string field;       // That says so.
  int line = 0;
};

// `path` as it is on this machine; the longest mount that it lies under counts.
std::string Mapped(const std::string& path, const std::vector<Mount>& mounts);

struct TemplateReading {
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> arguments;
  std::vector<Mount> mounts;
  std::vector<std::string> ignored;  // Paths.
  std::vector<job::FieldError> errors;
};

// `field` is the template's own path, such as spec.workers.template. The template has passed
// lib/job's checks. An emptyDir becomes a folder below `empty_dirs`, shared by the processes of the
// role. `is_own_program`: spec.workers.command runs there, and takes any arguments.
TemplateReading ReadTemplate(const std::string& field, const job::Node& pod_template,
                             job::Role role, bool is_own_program, const std::string& empty_dirs,
                             VolumeFolders& volumes);

}  // namespace paceline::local

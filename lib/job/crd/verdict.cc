#include "lib/job/crd/verdict.h"

#include <algorithm>
#include <string_view>

namespace paceline::job {
namespace {

// Of a pod template, what its schema knows (schema.cc).
bool IsKnownOfTemplate(std::string_view path) {
  const size_t spec = path.find(".template.spec.");
  if (spec == std::string_view::npos) return true;
  const std::string_view field = path.substr(spec + std::string_view(".template.spec.").size());
  return field == "restartPolicy" || field == "containers" ||
         (field.starts_with("containers[") && field.find('.') == field.rfind(".name") &&
          field.ends_with("].name"));
}

bool IsOpaque(std::string_view path) {
  if (!IsKnownOfTemplate(path) || path.starts_with("spec.checkpoint.volumeClaimTemplate."))
    return true;
  for (std::string_view volume : {"spec.output.volume.", "spec.checkpoint.volume."}) {
    if (!path.starts_with(volume)) continue;
    const std::string_view source = path.substr(volume.size());
    const auto is_known = [&](std::string_view name) {
      return source == name || (source.starts_with(name) && source[name.size()] == '.');
    };
    return !is_known("persistentVolumeClaim") && !is_known("hostPath") && !is_known("emptyDir");
  }
  return false;
}

}  // namespace

std::vector<FieldError> ApiServerErrors(const Decoded& loaded) {
  std::vector<FieldError> errors = loaded.errors;
  std::erase_if(errors, [](const FieldError& error) {
    return error.path.starts_with("status.") || IsOpaque(error.path);
  });
  return errors;
}

}  // namespace paceline::job

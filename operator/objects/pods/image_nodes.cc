#include "operator/objects/pods/image_nodes.h"

#include <algorithm>

#include "operator/objects/json_at.h"

namespace paceline::controller {
namespace {

constexpr const char* kOs = "kubernetes.io/os";
constexpr const char* kArchitecture = "kubernetes.io/arch";

bool IsOurs(const ObjectOptions& options, const std::string& image) {
  return !image.empty() && (image == options.server_image || image == options.worker_image ||
                            image == options.worker_cuda_image);
}

// Whether a list of objects has one whose "key" is that.
bool HasKey(const Json& list, std::string_view key) {
  return list.is_array() && std::any_of(list.begin(), list.end(), [&](const Json& requirement) {
           return TextAt(requirement, "key") == key;
         });
}

bool IsTheirs(const Json& spec, const char* key) {
  if (spec.contains("nodeSelector") && spec["nodeSelector"].is_null()) return true;  // None, then.
  if (const Json& selector = At(spec, "nodeSelector");
      selector.is_object() && selector.contains(key))
    return true;
  const Json& terms = At(At(At(At(spec, "affinity"), "nodeAffinity"),
                            "requiredDuringSchedulingIgnoredDuringExecution"),
                         "nodeSelectorTerms");
  return terms.is_array() && std::any_of(terms.begin(), terms.end(), [&](const Json& term) {
           return HasKey(At(term, "matchExpressions"), key);
         });
}

void Select(Json& spec, const char* key, std::string_view value) {
  if (IsTheirs(spec, key)) return;
  if (!At(spec, "nodeSelector").is_object()) spec["nodeSelector"] = Json::object();
  spec["nodeSelector"][key] = value;
}

}  // namespace

std::string_view OwnArchitecture() {
#if defined(__x86_64__)
  return "amd64";
#elif defined(__aarch64__)
  return "arm64";
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
  return "ppc64le";
#elif defined(__s390x__)
  return "s390x";
#else
  return "";
#endif
}

void LayImageNodes(const ObjectOptions& options, std::string_view container, Json& spec) {
  if (!IsOurs(options, TextAt(Among(At(spec, "containers"), "name", container), "image"))) return;
  if (!TextAt(spec, "nodeName").empty()) return;
  Select(spec, kOs, "linux");
  if (!options.image_architecture.empty()) Select(spec, kArchitecture, options.image_architecture);
}

}  // namespace paceline::controller

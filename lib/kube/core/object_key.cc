#include "lib/kube/core/object_key.h"

namespace paceline::kube {

StatusOr<ObjectKey> ObjectKey::Parse(std::string_view text) {
  const size_t slash = text.find('/');
  ObjectKey key;
  if (slash != std::string_view::npos) key.name_space = text.substr(0, slash);
  key.name = slash == std::string_view::npos ? text : text.substr(slash + 1);
  if (key.name.empty() || slash == 0 || key.name.find('/') != std::string::npos) {
    return InvalidArgument("key is not namespace/name or name: \"{}\"", text);
  }
  return key;
}

std::string ToString(const ObjectKey& key) {
  return key.name_space.empty() ? key.name : key.name_space + "/" + key.name;
}

}  // namespace paceline::kube

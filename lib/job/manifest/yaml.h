// Reads YAML, of which JSON is a part, into Nodes.
#pragma once

#include <string_view>
#include <vector>

#include "lib/job/manifest/field_error.h"
#include "lib/job/manifest/node.h"

namespace paceline::job {

struct Parsed {
  Node root;
  std::vector<FieldError> errors;  // Not empty: `root` holds what could be read.
};

// Plain scalars get the types that kubectl gives them (YAML 1.1: yes and on are true); quoted ones
// are strings. Exactly one document; keys that come twice are errors; anchors and aliases are
// followed, up to a bounded size.
Parsed ParseYaml(std::string_view text);

}  // namespace paceline::job

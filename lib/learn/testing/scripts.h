// Declares what lib/learn's tests write TorchScript files with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace paceline::learn::testing {

enum class ScriptKind { kTrained, kFrozen, kBuffer };

struct ScriptTensor {
  std::string name;
  ScriptKind kind = ScriptKind::kTrained;
  std::string type = "float";  // Or "double", "long", "bool".
  std::vector<int64_t> shape;
  double value = 0;     // Of every element.
  std::string tied_to;  // The same tensor as the one of this name.
};

// Saves a module with these tensors and the methods that `source` defines, at `path`.
void SaveScript(const std::string& path, const std::vector<ScriptTensor>& tensors,
                const std::string& source);

}  // namespace paceline::learn::testing

// Computes JSON merge patches (RFC 7386).
//
// Example:
//   const Json patch = MergePatchBetween(seen, wanted);
//   if (!IsEmptyPatch(patch)) client.Call(MergePatch(Pods(), key, patch));
#pragma once

#include "lib/kube/core/json.h"

namespace paceline::kube {

// What turns `before` into `after`: null removes a field, arrays are replaced whole. Fields that
// are null in `after` cannot be told from absent ones.
Json MergePatchBetween(const Json& before, const Json& after);

bool IsEmptyPatch(const Json& patch);

}  // namespace paceline::kube

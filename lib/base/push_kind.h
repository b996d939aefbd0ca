// Defines PushKind: what the parameters' part of a push is, and so how a commit uses it.
#pragma once

namespace paceline {

enum class PushKind {
  kGradient,  // A mean gradient: the server's optimizer applies it.
  kDelta,     // What local steps changed: added plainly; the optimizer ran in the worker.
};

}  // namespace paceline

// Defines CatchTorch, the border at which the exceptions of LibTorch become a Status.
//
// Every call into LibTorch that may fail stands inside one.
//
// Example:
//   Status Model::Run(...) {
//     return CatchTorch([&]() -> Status { net->Forward(inputs); return OkStatus(); });
//   }
#pragma once

#include <type_traits>
#include <utility>

#include "lib/base/status.h"

namespace paceline::learn {

// Call inside a catch block only. ResourceExhausted where memory was short, InvalidArgument where
// an index or a value was wrong, Internal("libtorch: ...") otherwise; the message is LibTorch's own
// without stack traces. Of LostRows (data/columns.h) Internal with its words alone.
Status CurrentTorchError();

// The result of `call`, a Status or StatusOr, or the Status of what it threw.
template <class Call>
std::invoke_result_t<Call> CatchTorch(Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (...) {
    return CurrentTorchError();
  }
}

}  // namespace paceline::learn

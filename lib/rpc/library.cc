#include "lib/rpc/library.h"

#include <grpc/grpc.h>

namespace paceline::rpc {

void KeepLibraryStarted() {
  static const bool is_started = [] {
    grpc_init();
    return true;
  }();
  (void)is_started;
}

}  // namespace paceline::rpc

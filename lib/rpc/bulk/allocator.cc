#include "lib/rpc/bulk/allocator.h"

#include <cstdlib>  // Says whether this is the GNU C library.

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace paceline::rpc {

void TuneAllocator() {
#ifdef __GLIBC__
  // Both: setting one alone turns off the other's self-adjustment.
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
#endif
}

}  // namespace paceline::rpc

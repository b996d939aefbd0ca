// How jemalloc, which the operator is linked with, keeps the heap. It reads this before main.

// One heap for all threads, which allocate little at a time; pages that were not used for a fifth
// of a second go back to the kernel. MALLOC_CONF in the environment adds to it.
extern "C" {
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): jemalloc wants it so.
const char* malloc_conf = "narenas:1,dirty_decay_ms:200,muzzy_decay_ms:0";
}

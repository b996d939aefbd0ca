// How jemalloc, which the simulator is linked with, keeps the heap. It reads this before main.

// Huge pages: what is known of 10,000 workers lies in tens of megabytes, and a push looks at a
// dozen places of them (docs/performance.md, "The simulator"). MALLOC_CONF in the environment adds
// to it.
extern "C" {
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): jemalloc wants it so.
const char* malloc_conf = "thp:always";
}

// Keeps the resident memory of a small, long-lived process small.
//
// Example:
//   KeepHeapCompact();                 // first thing in main
//   while (runs) { ...; KeepToWhatIsUsed(); }   // every ten seconds, say
#pragma once

namespace paceline::process {

// One heap for all threads, for programs whose threads allocate little at a time: by default each
// has its own, which keeps what it has once had. Before the first other thread.
void KeepHeapCompact();

// Gives the kernel back what the heap does not use, and unmaps pages of code and constants: those
// that are needed come back from the page cache, those that only starting needed, which is most of
// what dozens of shared libraries hold, do not. Thread-safe; a few milliseconds.
void KeepToWhatIsUsed();

}  // namespace paceline::process

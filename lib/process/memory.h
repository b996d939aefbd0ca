// Keeps the resident memory of a small, long-lived process small.
//
// Example:
//   while (runs) { ...; KeepToWhatIsUsed(); }   // every ten seconds, say
#pragma once

namespace paceline::process {

// Unmaps pages of code and constants: those that are needed come back from the page cache, those
// that only starting needed, which is most of what dozens of shared libraries hold, do not.
// Thread-safe; a few milliseconds.
void KeepToWhatIsUsed();

}  // namespace paceline::process

// Defines ReportCrashes: a process that dies of a signal says where.
#pragma once

namespace paceline::process {

// From now on SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP and SIGABRT (which std::terminate and failed
// checks end in) write the signal, its time and the stack of the thread that met it to stderr: by
// names of functions, then by places in files. The process ends by that signal, as it would have.
// Call once, first thing in main, with its argv[0]. Nothing is done under a sanitizer, whose own
// report says more.
void ReportCrashes(const char* program_path);

}  // namespace paceline::process

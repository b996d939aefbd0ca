// Defines how a process ends, or does not begin, where the system gives it too little.
#pragma once

#include <string>

#include "lib/base/status.h"

namespace paceline::process {

// Descriptors without which none of our programs can do its work.
inline constexpr int kDescriptorsMin = 64;

// Lets this process have as many descriptors as it may: container runtimes and shells often start
// it with 1,024, while a coordinator has a connection of each worker. Programs that use select()
// must not.
void RaiseDescriptorLimit();

// CannotWorkHere, with the limit, if this process may have less than kDescriptorsMin: it would wait
// for connections that nobody can accept.
Status CheckDescriptorLimit();

// From now on an exception that nobody catches, of a thread that could not be started, of memory or
// a descriptor that there is not, ends the process with kExitCannotWorkHere and `path` (as
// SayLastWord's) saying which limit it was. Others end it as before.
void SayWhichLimit(const std::string& path);

// Of the exception that is being handled: which limit it is of, in words, as above; empty if of
// none.
std::string WhichLimit();

// Ends the process as one that could not start a thread (SayWhichLimit).
[[noreturn]] void EndForThreads();

}  // namespace paceline::process

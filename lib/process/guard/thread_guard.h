// Ends a process for which a library could not start a thread.
#pragma once

namespace paceline::process {

// A program that calls this has a pthread_create of its own, which all its libraries use. From now
// on, where no thread can be started for some seconds, and whoever wants one is not prepared for
// that (StartThread), the process ends as SayWhichLimit has it: gRPC goes on without the thread,
// and what was meant for it never comes; OpenMP ends the process without a last word.
//
// For programs alone: a test that stands in for pthread_create itself must not link it.
void EndWhereNoThreadStarts();

}  // namespace paceline::process

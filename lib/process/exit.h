// Defines how our processes end: exit codes, and a last word where whoever started them looks for
// it.
#pragma once

#include <string>

#include "lib/base/status.h"

namespace paceline::process {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;  // Starting again may help.
inline constexpr int kExitCannotWork =
    2;  // Command line, manifest, model or data are wrong: starting again is of no use.

inline constexpr int kExitCannotWorkHere =
    3;  // This machine cannot do the work (no CUDA, hung): elsewhere or later it may be done.

inline constexpr int kExitTerminated = 143;  // As a shell says of SIGTERM: asked to go before the
                                             // work was done, and gone in good order.

// An error that is this machine's: ExitCodeFor gives kExitCannotWorkHere for it, whatever its code.
Status CannotWorkHere(const Status& error);

// kExitDone for OK, kExitTerminated for Cancelled, kExitCannotWork for InvalidArgument, NotFound,
// PermissionDenied, OutOfRange and Unimplemented, else kExitFailed.
int ExitCodeFor(const Status& status);

// Writes a process's last word to `path` (Kubernetes' terminationMessagePath; empty: nowhere). The
// first word stays: of two calls for one path the second does nothing. Where that cannot be done,
// the reason goes to standard error.
void SayLastWord(const std::string& path, const std::string& word);

// Ends the process. What is buffered for files goes out; but static objects are not destroyed and
// functions of atexit not called: threads of gRPC, which nobody stops, would meet what is left of
// them, ours, OpenSSL's and gRPC's own.
[[noreturn]] void LeaveProcess(int exit_code);

// Logs why the process ends, writes it to `path` as its last word and leaves with the exit code.
// Nothing is written for OK.
[[noreturn]] void EndProcess(const Status& status, const std::string& program,
                             const std::string& path);

}  // namespace paceline::process

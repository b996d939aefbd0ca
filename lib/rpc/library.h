// Defines KeepLibraryStarted, for whatever makes the first object of gRPC in a process.
#pragma once

namespace paceline::rpc {

// Starts gRPC and never stops it. Otherwise it stops with the last channel or server, and that
// waits, up to ten seconds, for a thread of its own that watches connections whose peer was slow to
// read. Thread-safe; again: nothing.
void KeepLibraryStarted();

}  // namespace paceline::rpc

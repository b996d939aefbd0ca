// Defines TuneAllocator, for the first line of main in every program that sends or receives bulk
// bytes.
#pragma once

namespace paceline::rpc {

// Tells the C library's malloc to keep freed memory instead of giving it back to the kernel:
// received slices are allocated and freed all the time, and page faults would cost more than
// copying them. Call before any thread starts.
void TuneAllocator();

}  // namespace paceline::rpc

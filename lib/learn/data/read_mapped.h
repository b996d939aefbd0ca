// Defines ReadMapped: memory of a mapped file that is gone is no end of the process.
//
// Whoever shortens a file that is mapped takes pages away from under its readers, which the kernel
// says by SIGBUS; so does a disk that fails.
#pragma once

#include <functional>

namespace paceline::learn {

// Runs `read`, which reads mapped memory, and leaves it in its middle, without destructors, if a
// page of that is gone: false. `read` must hold nothing that a destructor would have to give back.
// SIGBUS outside of it goes to whoever had it before the first call. Thread-safe; not to be nested.
bool ReadMapped(const std::function<void()>& read);

}  // namespace paceline::learn

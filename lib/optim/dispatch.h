// Defines how kernels are compiled for several instruction sets in one binary.
//
// A kernel is a plain loop in a source built with -O3 and -ffp-contract=off: then every instruction
// set gives the same bits, since none may fuse a multiplication with an addition.
//
// Example:
//   PACELINE_KERNEL void Scale(const float* x, size_t count, float factor, float* y) {
//     PACELINE_VECTOR_LOOP
//     for (size_t i = 0; i < count; ++i) y[i] = factor * x[i];
//   }
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PACELINE_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define PACELINE_IS_SANITIZED 1
#endif
#endif

// The choice is made by the dynamic loader (ifunc), before a sanitizer's run-time is ready: none
// under sanitizers.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(PACELINE_IS_SANITIZED)
#define PACELINE_KERNEL \
  __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define PACELINE_KERNEL
#endif

// Promises that arrays of the loop below are equal or do not overlap.
#if defined(__clang__)
#define PACELINE_VECTOR_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define PACELINE_VECTOR_LOOP _Pragma("GCC ivdep")
#endif

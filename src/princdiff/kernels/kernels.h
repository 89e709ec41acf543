/* What every kernel includes: how a function is exported and compiled for several processors. */
#ifndef PRINCDIFF_KERNELS_H
#define PRINCDIFF_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define PD_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define PD_EXPORT __attribute__((visibility("default")))
#else
#define PD_EXPORT
#endif

/* PD_CLONES before a function compiles it for AVX-512, AVX2 and any processor, and lets the loader choose.
 * Nothing is contracted or reassociated (see build.py), so all three give the same numbers. A sanitizer
 * runs before the loader's choice is possible, hence PD_PLAIN. */
#if defined(__has_attribute)
#if __has_attribute(target_clones) && defined(__x86_64__) && defined(__gnu_linux__) && !defined(PD_PLAIN)
#define PD_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#define PD_HAS_CLONES 1
#endif
#endif
#ifndef PD_CLONES
#define PD_CLONES
#endif

/* Inlined into its callers, so that it is compiled for the same processors as they are. */
#if defined(__GNUC__)
#define PD_INLINE static inline __attribute__((always_inline))
#else
#define PD_INLINE static inline
#endif

#endif

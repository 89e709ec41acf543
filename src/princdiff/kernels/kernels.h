/* What every kernel includes: how a function is exported, and under which name. */
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

/* Every file is compiled several times into one library (see build.py): for any processor, with AVX2, with AVX-512.
 * PD_LEVEL is what the names of a pass end in. Nothing is contracted or reassociated, so all passes give the same
 * numbers. */
#ifndef PD_LEVEL
#define PD_LEVEL
#endif
#define PD_JOINED(name, level) name##level
#define PD_JOIN(name, level) PD_JOINED(name, level)
#define PD_KERNEL(name) PD_JOIN(name, PD_LEVEL)

#if defined(__MINGW32__) && !defined(__clang__) && defined(__AVX2__)
#error "on Windows, GCC does not align the stack for registers of AVX"
#endif

/* Inlined into its callers. */
#if defined(__GNUC__)
#define PD_INLINE static inline __attribute__((always_inline))
#else
#define PD_INLINE static inline
#endif

#endif

/* What the library says about itself and about the processor. */
#include "kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#ifndef PD_SOURCES
#define PD_SOURCES "unknown"
#endif
#ifndef PD_COMPILER
#define PD_COMPILER "unknown"
#endif

/* Fingerprint of the sources it was compiled from. */
PD_EXPORT const char *PD_KERNEL(pd_sources)(void)
{
    return PD_SOURCES;
}

/* The compiler and its version. */
PD_EXPORT const char *PD_KERNEL(pd_compiler)(void)
{
    return PD_COMPILER;
}

/* The widest registers that processor and operating system have: 2 for AVX-512, 1 for AVX2, 0 for what all have. */
PD_EXPORT int32_t PD_KERNEL(pd_processor)(void)
{
#if defined(__x86_64__)
    unsigned int a, b, c, d, low, high;
    const unsigned int saves_registers = 1u << 27, avx2 = 1u << 5, avx512f = 1u << 16, ymm = 0x06, zmm = 0xe6;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & saves_registers))
        return 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & ymm) != ymm || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & avx2))
        return 0;
    return (low & zmm) == zmm && (b & avx512f) ? 2 : 1;
#else
    return 0;
#endif
}

/* The instruction set of this pass. */
PD_EXPORT const char *PD_KERNEL(pd_instructions)(void)
{
#if defined(__AVX512F__)
    return "AVX-512";
#elif defined(__AVX2__)
    return "AVX2";
#elif defined(__x86_64__)
    return "x86-64";
#elif defined(__ARM_NEON)
    return "NEON";
#else
    return "plain C";
#endif
}

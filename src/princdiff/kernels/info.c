/* What the library says about itself. */
#include "kernels.h"

#ifndef PD_SOURCES
#define PD_SOURCES "unknown"
#endif
#ifndef PD_COMPILER
#define PD_COMPILER "unknown"
#endif

/* Fingerprint of the sources it was compiled from. */
PD_EXPORT const char *pd_sources(void)
{
    return PD_SOURCES;
}

/* The compiler and its version. */
PD_EXPORT const char *pd_compiler(void)
{
    return PD_COMPILER;
}

/* The instruction set that this processor's clones use. */
PD_EXPORT const char *pd_instructions(void)
{
#ifdef PD_HAS_CLONES
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
        return "AVX-512";
    if (__builtin_cpu_supports("avx2"))
        return "AVX2";
    return "x86-64";
#elif defined(__ARM_NEON)
    return "NEON";
#else
    return "plain C";
#endif
}

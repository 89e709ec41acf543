/* Sorting of several columns at a time: PD_LANES of them lie side by side, and a network of comparisons, the same for
 * all, moves whole registers. */
#ifndef PRINCDIFF_NETWORK_H
#define PRINCDIFF_NETWORK_H

#include <string.h>

#include "kernels.h"

enum { PD_LANES = 8 };

/* The lanes of one row. */
typedef uint32_t pd_eight __attribute__((vector_size(32), aligned(32)));

/* Compilers make one instruction of each. */
PD_INLINE pd_eight pd_lower(pd_eight a, pd_eight b)
{
    pd_eight result;
    for (int i = 0; i < 8; i++)
        result[i] = a[i] < b[i] ? a[i] : b[i];
    return result;
}

PD_INLINE pd_eight pd_upper(pd_eight a, pd_eight b)
{
    pd_eight result;
    for (int i = 0; i < 8; i++)
        result[i] = a[i] < b[i] ? b[i] : a[i];
    return result;
}

/* Puts two registers in order. */
#define PD_ORDER(a, b)                                                                                        \
    do {                                                                                                      \
        const pd_eight lower = pd_lower(a, b);                                                                \
        b = pd_upper(a, b);                                                                                   \
        a = lower;                                                                                            \
    } while (0)

PD_INLINE void pd_exchange(pd_eight *low, pd_eight *high)
{
    pd_eight a = *low, b = *high;
    *low = pd_lower(a, b);
    *high = pd_upper(a, b);
}

#define PD_LOAD_EIGHT(rows)                                                                                   \
    pd_eight a = (rows)[0], b = (rows)[1], c = (rows)[2], d = (rows)[3], e = (rows)[4], f = (rows)[5],        \
             g = (rows)[6], h = (rows)[7]
#define PD_STORE_EIGHT(rows)                                                                                  \
    (rows)[0] = a, (rows)[1] = b, (rows)[2] = c, (rows)[3] = d, (rows)[4] = e, (rows)[5] = f, (rows)[6] = g,  \
    (rows)[7] = h

/* Eight rows of eight lanes, sorted in registers by the shortest network. */
PD_INLINE void pd_sort_eight(pd_eight *rows)
{
    PD_LOAD_EIGHT(rows);
    PD_ORDER(a, c);
    PD_ORDER(b, d);
    PD_ORDER(e, g);
    PD_ORDER(f, h);
    PD_ORDER(a, e);
    PD_ORDER(b, f);
    PD_ORDER(c, g);
    PD_ORDER(d, h);
    PD_ORDER(a, b);
    PD_ORDER(c, d);
    PD_ORDER(e, f);
    PD_ORDER(g, h);
    PD_ORDER(c, e);
    PD_ORDER(d, f);
    PD_ORDER(b, e);
    PD_ORDER(d, g);
    PD_ORDER(b, c);
    PD_ORDER(d, e);
    PD_ORDER(f, g);
    PD_STORE_EIGHT(rows);
}

/* The last three steps of a bitonic merge, in registers. */
PD_INLINE void pd_merge_eight(pd_eight *rows)
{
    PD_LOAD_EIGHT(rows);
    PD_ORDER(a, e);
    PD_ORDER(b, f);
    PD_ORDER(c, g);
    PD_ORDER(d, h);
    PD_ORDER(a, c);
    PD_ORDER(b, d);
    PD_ORDER(e, g);
    PD_ORDER(f, h);
    PD_ORDER(a, b);
    PD_ORDER(c, d);
    PD_ORDER(e, f);
    PD_ORDER(g, h);
    PD_STORE_EIGHT(rows);
}

/* Steps of a bitonic merge over distances 2 * quarter and quarter in one pass, for rows before the end. */
PD_INLINE void pd_merge_two_steps(pd_eight *row, int64_t quarter, int64_t rows_left)
{
    if (rows_left > 3 * quarter) {
        pd_eight a = row[0], b = row[quarter], c = row[2 * quarter], d = row[3 * quarter];
        PD_ORDER(a, c);
        PD_ORDER(b, d);
        PD_ORDER(a, b);
        PD_ORDER(c, d);
        row[0] = a, row[quarter] = b, row[2 * quarter] = c, row[3 * quarter] = d;
    } else if (rows_left > 2 * quarter) {
        pd_eight a = row[0], b = row[quarter], c = row[2 * quarter];
        PD_ORDER(a, c);
        PD_ORDER(a, b);
        row[0] = a, row[quarter] = b, row[2 * quarter] = c;
    } else if (rows_left > quarter)
        pd_exchange(row, row + quarter);
}

/* Sorts n rows of PD_LANES keys each, every lane by itself; n is a multiple of eight.
 * Bitonic, all comparisons upwards: rows beyond n would hold the largest keys, and stay out of it. */
PD_INLINE void pd_network(uint32_t *keys, int64_t n)
{
    pd_eight *rows = (pd_eight *)keys;
    for (int64_t i = 0; i < n; i += 8)
        pd_sort_eight(rows + i);
    for (int64_t size = 16; size / 2 < n; size *= 2) {
        for (int64_t block = 0; block + size / 2 < n; block += size)
            for (int64_t i = block + size > n ? block + size - n : 0; i < size / 2; i++)
                pd_exchange(rows + block + i, rows + block + size - 1 - i);
        int64_t step = size / 4;
        for (; step >= 16; step /= 4)
            for (int64_t block = 0; block < n; block += 2 * step)
                for (int64_t i = block; i < block + step / 2 && i < n; i++)
                    pd_merge_two_steps(rows + i, step / 2, n - i);
        if (step == 8)
            for (int64_t block = 0; block + 8 < n; block += 16)
                for (int64_t i = block; i < block + 8; i++)
                    pd_exchange(rows + i, rows + i + 8);
        for (int64_t i = 0; i < n; i += 8)
            pd_merge_eight(rows + i);
    }
}

/* Four of a register. Every processor has instructions for these two, so plain C does as well. */
typedef uint32_t pd_four __attribute__((vector_size(16)));
#if defined(__clang__)
#define PD_SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define PD_SHUFFLE(a, b, i, j, k, l) __builtin_shuffle(a, b, (pd_four){i, j, k, l})
#endif

/* Four columns, `apart` from each other, to four lanes of four rows. */
PD_INLINE void pd_turn_four(const uint32_t *columns, int64_t apart, uint32_t *lanes)
{
    pd_four a, b, c, d;
    memcpy(&a, columns, sizeof a);
    memcpy(&b, columns + apart, sizeof b);
    memcpy(&c, columns + 2 * apart, sizeof c);
    memcpy(&d, columns + 3 * apart, sizeof d);
    const pd_four ab = PD_SHUFFLE(a, b, 0, 4, 1, 5), cd = PD_SHUFFLE(c, d, 0, 4, 1, 5);
    const pd_four ab_last = PD_SHUFFLE(a, b, 2, 6, 3, 7), cd_last = PD_SHUFFLE(c, d, 2, 6, 3, 7);
    a = PD_SHUFFLE(ab, cd, 0, 1, 4, 5);
    b = PD_SHUFFLE(ab, cd, 2, 3, 6, 7);
    c = PD_SHUFFLE(ab_last, cd_last, 0, 1, 4, 5);
    d = PD_SHUFFLE(ab_last, cd_last, 2, 3, 6, 7);
    memcpy(lanes, &a, sizeof a);
    memcpy(lanes + PD_LANES, &b, sizeof b);
    memcpy(lanes + 2 * PD_LANES, &c, sizeof c);
    memcpy(lanes + 3 * PD_LANES, &d, sizeof d);
}

/* PD_LANES columns of n numbers, a multiple of four, to the lanes of n rows. */
PD_INLINE void pd_to_lanes(const uint32_t *columns, int64_t apart, int64_t n, uint32_t *lanes)
{
    for (int64_t i = 0; i < n; i += 4)
        for (int64_t lane = 0; lane < PD_LANES; lane += 4)
            pd_turn_four(columns + lane * apart + i, apart, lanes + i * PD_LANES + lane);
}

#endif

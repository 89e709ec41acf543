/* Sorting of columns of float32 numbers: short ones many at a time, long ones by digits.
 *
 * Columns are sorted in lanes: PD_LANES columns lie side by side, and a network of comparisons, the same for
 * all of them, moves whole registers. A lane's key holds the leading bits of a value and, in the low bits,
 * where the value came from; what the lost bits leave out of order is put right afterwards.
 */
#ifndef PRINCDIFF_SORTING_H
#define PRINCDIFF_SORTING_H

#include <stdlib.h>
#include <string.h>

#include "kernels.h"

#define PD_LANES 16
/* Beyond this a network costs more than sorting by digits (docs/constants.md). */
#define PD_NETWORK_ROWS 2048
/* Fewer columns than this leave the lanes too empty. */
#define PD_NETWORK_COLUMNS 4

/* Bits of a float32 as an integer of the same order: negative values flipped, the others moved up. */
PD_INLINE uint32_t pd_ordered(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits ^ ((uint32_t)((int32_t)bits >> 31) | 0x80000000u);
}

/* And back. */
PD_INLINE float pd_unordered(uint32_t ordered)
{
    uint32_t bits = ordered ^ ((uint32_t)((int32_t)~ordered >> 31) | 0x80000000u);
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

/* Eight lanes of one row. */
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
    pd_eight a = (rows)[0], b = (rows)[2], c = (rows)[4], d = (rows)[6], e = (rows)[8], f = (rows)[10],       \
             g = (rows)[12], h = (rows)[14]
#define PD_STORE_EIGHT(rows)                                                                                  \
    (rows)[0] = a, (rows)[2] = b, (rows)[4] = c, (rows)[6] = d, (rows)[8] = e, (rows)[10] = f, (rows)[12] = g, \
    (rows)[14] = h

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
        pd_eight a = row[0], b = row[2 * quarter], c = row[4 * quarter], d = row[6 * quarter];
        PD_ORDER(a, c);
        PD_ORDER(b, d);
        PD_ORDER(a, b);
        PD_ORDER(c, d);
        row[0] = a, row[2 * quarter] = b, row[4 * quarter] = c, row[6 * quarter] = d;
    } else if (rows_left > 2 * quarter) {
        pd_eight a = row[0], b = row[2 * quarter], c = row[4 * quarter];
        PD_ORDER(a, c);
        PD_ORDER(a, b);
        row[0] = a, row[2 * quarter] = b, row[4 * quarter] = c;
    } else if (rows_left > quarter)
        pd_exchange(row, row + 2 * quarter);
}

/* Sorts n rows of PD_LANES keys each, every lane by itself; n is a multiple of eight.
 * Bitonic, all comparisons upwards: rows beyond n would hold the largest keys, and stay out of it. */
PD_INLINE void pd_network(uint32_t *keys, int64_t n)
{
    pd_eight *rows = (pd_eight *)keys; /* two of them a row */
    for (int64_t i = 0; i < n; i += 8)
        pd_sort_eight(rows + 2 * i), pd_sort_eight(rows + 2 * i + 1);
    for (int64_t size = 16; size / 2 < n; size *= 2) {
        for (int64_t block = 0; block + size / 2 < n; block += size)
            for (int64_t i = block + size > n ? block + size - n : 0; i < size / 2; i++) {
                pd_eight *low = rows + 2 * (block + i), *high = rows + 2 * (block + size - 1 - i);
                pd_exchange(low, high), pd_exchange(low + 1, high + 1);
            }
        int64_t step = size / 4;
        for (; step >= 16; step /= 4)
            for (int64_t block = 0; block < n; block += 2 * step)
                for (int64_t i = block; i < block + step / 2 && i < n; i++)
                    for (int half = 0; half < 2; half++)
                        pd_merge_two_steps(rows + 2 * i + half, step / 2, n - i);
        if (step == 8)
            for (int64_t block = 0; block + 8 < n; block += 16)
                for (int64_t i = 2 * block; i < 2 * (block + 8); i++)
                    pd_exchange(rows + i, rows + i + 16);
        for (int64_t i = 0; i < n; i += 8)
            pd_merge_eight(rows + 2 * i), pd_merge_eight(rows + 2 * i + 1);
    }
}

/* Stable sort of 64-bit entries by their upper 32 bits, the digits from the lowest; other is as long.
 * Returns the one of the two in which the sorted entries lie. */
PD_INLINE uint64_t *pd_sort_digits(uint64_t *entries, uint64_t *other, int64_t n)
{
    enum { BITS = 11, SIZE = 1 << BITS };
    uint32_t counts[3][SIZE];
    memset(counts, 0, sizeof counts);
    for (int64_t i = 0; i < n; i++) {
        uint32_t key = (uint32_t)(entries[i] >> 32);
        counts[0][key & (SIZE - 1)]++;
        counts[1][key >> BITS & (SIZE - 1)]++;
        counts[2][key >> 2 * BITS]++;
    }
    for (int pass = 0; pass < 3; pass++) {
        int shift = 32 + BITS * pass;
        uint32_t *count = counts[pass], before = 0;
        if (count[entries[0] >> shift & (SIZE - 1)] == n)
            continue; /* one digit for all */
        for (int digit = 0; digit < SIZE; digit++) {
            uint32_t own = count[digit];
            count[digit] = before;
            before += own;
        }
        for (int64_t i = 0; i < n; i++) {
            uint64_t entry = entries[i];
            other[count[entry >> shift & (SIZE - 1)]++] = entry;
        }
        uint64_t *swap = entries;
        entries = other;
        other = swap;
    }
    return entries;
}

/* Stable sort of few entries by merging runs; as pd_sort_digits, which needs its counts for any n. */
PD_INLINE uint64_t *pd_sort_entries(uint64_t *entries, uint64_t *other, int64_t n)
{
    if (n > 300)
        return pd_sort_digits(entries, other, n);
    for (int64_t start = 0; start < n; start += 8) {
        int64_t end = start + 8 < n ? start + 8 : n;
        for (int64_t i = start + 1; i < end; i++) {
            uint64_t entry = entries[i];
            int64_t place = i;
            for (; place > start && entries[place - 1] > entry; place--)
                entries[place] = entries[place - 1];
            entries[place] = entry;
        }
    }
    for (int64_t width = 8; width < n; width *= 2) {
        for (int64_t start = 0; start < n; start += 2 * width) {
            int64_t middle = start + width < n ? start + width : n;
            int64_t end = middle + width < n ? middle + width : n;
            int64_t a = start, b = middle;
            for (int64_t i = start; i < end; i++) {
                int first = a < middle && (b >= end || entries[a] <= entries[b]);
                other[i] = first ? entries[a] : entries[b];
                a += first;
                b += !first;
            }
        }
        uint64_t *swap = entries;
        entries = other;
        other = swap;
    }
    return entries;
}

/* Members of one group of one column, in ascending order: values and their rows. */
PD_INLINE void pd_sort_column(const float *column, const int32_t *members, int64_t n, float *sorted,
                              int32_t *rows, uint64_t *entries)
{
    for (int64_t i = 0; i < n; i++)
        entries[i] = (uint64_t)pd_ordered(column[members[i]]) << 32 | (uint32_t)i;
    const uint64_t *ranked = pd_sort_entries(entries, entries + n, n);
    for (int64_t i = 0; i < n; i++) {
        int32_t row = members[(uint32_t)ranked[i]];
        rows[i] = row;
        sorted[i] = column[row];
    }
}

/* One lane of sorted keys: values and rows, exact also in the bits that the keys have not.
 * Returns 0 if that would take too long, as where many values agree in all their leading bits. */
PD_INLINE int pd_read_lane(const uint32_t *keys, uint32_t mask, const float *column, const int32_t *members,
                           int64_t n, float *restrict sorted, int32_t *restrict rows)
{
    for (int64_t i = 0; i < n; i++) {
        int32_t row = members[keys[i * PD_LANES] & mask];
        rows[i] = row;
        sorted[i] = column[row];
    }
    int falls = 0;
    for (int64_t i = 1; i < n; i++)
        falls |= sorted[i - 1] > sorted[i];
    if (!falls)
        return 1;
    int64_t patience = 8 * n;
    for (int64_t i = 1; i < n; i++) {
        float value = sorted[i];
        int32_t row = rows[i];
        int64_t place = i;
        for (; place > 0 && sorted[place - 1] > value; place--) {
            sorted[place] = sorted[place - 1];
            rows[place] = rows[place - 1];
        }
        sorted[place] = value;
        rows[place] = row;
        patience -= i - place;
        if (patience < 0)
            return 0;
    }
    return 1;
}

/* Rows of each group, group by group, those held out left away. */
PD_INLINE void pd_members(const uint8_t *codes, int64_t n_rows, const int64_t *sizes, int64_t n_groups,
                          int32_t *members)
{
    if (n_groups == 2) {
        int64_t first = 0, second = 0, total = sizes[0] + sizes[1];
        for (int64_t row = 0; row < n_rows; row++) {
            /* Written to both, kept in one; never beyond the end. */
            uint8_t code = codes[row];
            if (sizes[0] + second < total)
                members[sizes[0] + second] = (int32_t)row;
            if (first < sizes[0])
                members[first] = (int32_t)row;
            first += code == 0;
            second += code == 1;
        }
        return;
    }
    int64_t next[256], start = 0;
    for (int64_t group = 0; group < n_groups; group++) {
        next[group] = start;
        start += sizes[group];
    }
    for (int64_t row = 0; row < n_rows; row++)
        if (codes[row] < n_groups)
            members[next[codes[row]]++] = (int32_t)row;
}

#endif

/* Sorting of one column of float32 numbers: a short one by merging, a long one by digits. */
#ifndef PRINCDIFF_SORTING_H
#define PRINCDIFF_SORTING_H

#include <stdlib.h>
#include <string.h>

#include "kernels.h"

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
    int64_t next[256] = {0}, start = 0;
    for (int64_t group = 0; group < n_groups; group++) {
        next[group] = start;
        start += sizes[group];
    }
    for (int64_t row = 0; row < n_rows; row++)
        if (codes[row] < n_groups)
            members[next[codes[row]]++] = (int32_t)row;
}

#endif

/* A batch of projected columns, and the way each of them goes: sorted, compared, slopes brought back. */
#ifndef PRINCDIFF_COLUMNS_H
#define PRINCDIFF_COLUMNS_H

#include <math.h>

#include "sorting.h"

/* What a divergence's kernel is called with; see kernels/column_divergences.py. */
typedef struct {
    const float *projections; /* n_columns x n_rows */
    int64_t n_columns, n_rows;
    const uint8_t *codes;     /* n_labellings x n_rows */
    const int64_t *labelling; /* of each column */
    const int64_t *sizes;     /* rows of each group */
    int64_t n_groups;
    const double *weights;     /* of the rows, or null */
    const double *proportions; /* of the groups: n_groups, or n_columns x n_groups with weights */
    float tie_share;           /* of a column's spread within which values tie */
    double *values;
    float *slopes; /* n_columns x n_rows, or null */
} pd_batch;

#define PD_BATCH_PARAMETERS                                                                                   \
    const float *projections, int64_t n_columns, int64_t n_rows, const uint8_t *codes,                        \
        const int64_t *labelling, const int64_t *sizes, int64_t n_groups, const double *weights,              \
        const double *proportions, float tie_share, double *values, float *slopes
#define PD_BATCH                                                                                              \
    {                                                                                                         \
        projections, n_columns, n_rows, codes, labelling, sizes, n_groups, weights, proportions, tie_share,   \
            values, slopes                                                                                    \
    }

/* Buffers of one call. */
typedef struct {
    int64_t n_labelled;
    int pooled;           /* whether all groups are sorted together */
    int64_t n_parts;      /* sequences that are sorted: the groups, or all rows together */
    const int64_t *parts; /* their lengths */
    int64_t width;        /* columns that are sorted at a time */
    int with_rows;        /* whether it matters which row a sorted value belongs to */
    int bits;             /* of a key that tell the member */
    uint32_t mask;        /* these bits */
    uint32_t *row_keys;   /* of one column */
    uint32_t *keys;       /* parts' rows, each rounded up to a multiple of eight, x PD_LANES */
    int32_t *members;     /* width x n_labelled: rows, part by part */
    uint64_t *entries;
    /* One column, sorted, part by part: */
    float *sorted; /* and a zero behind the last */
    int32_t *rows;
    float *slopes;
    /* Of the divergence: */
    double *space;  /* 3 * (n_labelled + n_groups) numbers */
    int32_t *ends;  /* this and the next have n_labelled numbers */
    double *fractions;
    float *divided;
    void *memory;
} pd_buffers;

PD_INLINE int64_t pd_rounded_up(int64_t n)
{
    return (n + 7) / 8 * 8;
}

/* Takes `count` bytes at a multiple of 64 off a piece of memory; with no memory, only counts. */
PD_INLINE void *pd_cut(char *memory, size_t *used, size_t count)
{
    void *piece = memory ? memory + *used : NULL;
    *used += (count + 63) / 64 * 64;
    return piece;
}

PD_INLINE void pd_lay_out(pd_buffers *b, char *memory, size_t *used, int64_t longest, int64_t n_groups,
                          int64_t n_rows)
{
    int64_t n_keys = 0, n = b->n_labelled;
    for (int64_t part = 0; part < b->n_parts; part++)
        n_keys += pd_rounded_up(b->parts[part]);
    b->keys = pd_cut(memory, used, b->width > 1 ? n_keys * PD_LANES * sizeof *b->keys : 0);
    b->row_keys = pd_cut(memory, used, b->width > 1 ? n_rows * sizeof *b->row_keys : 0);
    b->members = pd_cut(memory, used, b->width * n * sizeof *b->members);
    b->entries = pd_cut(memory, used, 2 * longest * sizeof *b->entries);
    b->sorted = pd_cut(memory, used, (n + 1) * sizeof *b->sorted);
    b->rows = pd_cut(memory, used, n * sizeof *b->rows);
    b->slopes = pd_cut(memory, used, n * sizeof *b->slopes);
    b->space = pd_cut(memory, used, 3 * (n + n_groups) * sizeof *b->space);
    b->ends = pd_cut(memory, used, n * sizeof *b->ends);
    b->fractions = pd_cut(memory, used, n * sizeof *b->fractions);
    b->divided = pd_cut(memory, used, n * sizeof *b->divided);
}

PD_INLINE int pd_allocate(const pd_batch *batch, int pooled, pd_buffers *b)
{
    int64_t longest = 0;
    b->n_labelled = 0;
    for (int64_t group = 0; group < batch->n_groups; group++) {
        b->n_labelled += batch->sizes[group];
        longest = batch->sizes[group] > longest ? batch->sizes[group] : longest;
    }
    longest = pooled ? b->n_labelled : longest;
    b->pooled = pooled;
    b->n_parts = pooled ? 1 : batch->n_groups;
    b->parts = pooled ? &b->n_labelled : batch->sizes;
    b->with_rows = pooled || batch->slopes || batch->weights;
    b->width = longest <= PD_NETWORK_ROWS && batch->n_columns >= PD_NETWORK_COLUMNS ? PD_LANES : 1;
    /* At least one bit, so that steps fit a signed integer, which every processor converts to. */
    b->bits = 1;
    while (b->width > 1 && (int64_t)1 << b->bits < longest)
        b->bits++;
    b->mask = ((uint32_t)1 << b->bits) - 1;
    size_t size = 64;
    pd_lay_out(b, NULL, &size, longest, batch->n_groups, batch->n_rows);
    b->memory = malloc(size);
    if (!b->memory)
        return 1;
    size = 0;
    pd_lay_out(b, (char *)(((uintptr_t)b->memory + 63) & ~(uintptr_t)63), &size, longest, batch->n_groups, batch->n_rows);
    return 0;
}

/* Rows of one column's parts, in the order of rows. */
PD_INLINE void pd_find_members(const pd_batch *batch, const pd_buffers *b, int64_t column, int32_t *members)
{
    const uint8_t *codes = batch->codes + batch->labelling[column] * batch->n_rows;
    if (!b->pooled) {
        pd_members(codes, batch->n_rows, batch->sizes, batch->n_groups, members);
        return;
    }
    int64_t count = 0;
    for (int64_t row = 0; row < batch->n_rows && count < b->n_labelled; row++) {
        members[count] = (int32_t)row;
        count += codes[row] < batch->n_groups;
    }
}

/* Smallest and largest of a column's rows, held-out ones included; as integers, which compilers take several at a
 * time. */
PD_INLINE void pd_range(const float *column, int64_t n_rows, float *low, float *high)
{
    uint32_t lowest = 0xFFFFFFFFu, highest = 0;
    for (int64_t row = 0; row < n_rows; row++) {
        const uint32_t value = pd_ordered(column[row]);
        lowest = value < lowest ? value : lowest;
        highest = value > highest ? value : highest;
    }
    *low = pd_unordered(lowest);
    *high = pd_unordered(highest);
}

/* Where a column's values lie between its smallest and largest, in steps that leave bits for the member. Rounding
 * is monotone, so values keep their order; a margin keeps the largest within the bits. */
PD_INLINE void pd_steps(const float *restrict column, int64_t n_rows, const pd_buffers *b)
{
    float low, high;
    uint32_t *restrict keys = b->row_keys;
    pd_range(column, n_rows, &low, &high);
    const float range = high - low, steps = (float)(0xFFFFFFFFu >> b->bits) * 0.999f;
    const float factor = range > 1e-30f && range < 1e30f ? steps / range : 0.0f;
    const int bits = b->bits;
    for (int64_t row = 0; row < n_rows; row++)
        keys[row] = (uint32_t)(int32_t)((column[row] - low) * factor) << bits;
}

PD_INLINE void pd_ordered_column(const float *restrict column, int64_t n_rows, uint32_t *restrict keys)
{
    for (int64_t row = 0; row < n_rows; row++)
        keys[row] = pd_ordered(column[row]);
}

/* Keys of the columns from `begin` to `end` in lanes, and sorted. */
PD_INLINE void pd_sort_lanes(const pd_batch *batch, const pd_buffers *b, const int32_t **members, int64_t begin,
                             int64_t end)
{
    for (int64_t lane = 0; lane < PD_LANES; lane++) {
        const int64_t column = begin + lane < end ? begin + lane : begin; /* an empty lane sorts anything */
        uint32_t *block = b->keys + lane;
        if (b->with_rows)
            pd_steps(batch->projections + column * batch->n_rows, batch->n_rows, b);
        else
            pd_ordered_column(batch->projections + column * batch->n_rows, batch->n_rows, b->row_keys);
        for (int64_t part = 0, first = 0; part < b->n_parts; first += b->parts[part++]) {
            const int32_t *restrict own = members[column - begin] + first;
            const uint32_t *restrict row_keys = b->row_keys;
            const int64_t n = b->parts[part];
            if (b->with_rows)
                for (int64_t i = 0; i < n; i++)
                    block[i * PD_LANES] = row_keys[own[i]] | (uint32_t)i;
            else
                for (int64_t i = 0; i < n; i++)
                    block[i * PD_LANES] = row_keys[own[i]];
            for (int64_t i = n; i < pd_rounded_up(n); i++)
                block[i * PD_LANES] = 0xFFFFFFFFu;
            block += pd_rounded_up(n) * PD_LANES;
        }
    }
    uint32_t *block = b->keys;
    for (int64_t part = 0; part < b->n_parts; part++) {
        pd_network(block, pd_rounded_up(b->parts[part]));
        block += pd_rounded_up(b->parts[part]) * PD_LANES;
    }
}

/* A column: its number, its lane, and the rows of its parts. */
typedef struct {
    int64_t column, lane;
    const int32_t *members;
} pd_place;

/* One column's sorted values and their rows, part by part. */
PD_INLINE void pd_sorted_column(const pd_batch *batch, const pd_buffers *b, pd_place place)
{
    const float *column = batch->projections + place.column * batch->n_rows;
    const int32_t *members = place.members;
    const uint32_t *block = b->keys + place.lane;
    for (int64_t part = 0, first = 0; part < b->n_parts; first += b->parts[part++]) {
        const int64_t n = b->parts[part];
        if (b->width > 1 && !b->with_rows)
            for (int64_t i = 0; i < n; i++)
                b->sorted[first + i] = pd_unordered(block[i * PD_LANES]);
        else if (b->width == 1 || !pd_read_lane(block, b->mask, column, members + first, n, b->sorted + first,
                                                b->rows + first))
            pd_sort_column(column, members + first, n, b->sorted + first, b->rows + first, b->entries);
        block += pd_rounded_up(n) * PD_LANES;
    }
    b->sorted[b->n_labelled] = 0.0f;
}

/* How far apart values of a column must be, lest they count as tied: see TieScale in divergences/sorting.py. */
typedef struct {
    float middle, spread, share;
} pd_ties;

/* By how much a difference of two values exceeds what counts as none. */
PD_INLINE float pd_excess(pd_ties ties, float low, float high)
{
    const float first = fabsf(low - ties.middle), second = fabsf(high - ties.middle);
    float far = first > second ? first : second;
    far = far > ties.spread ? far : ties.spread;
    return (high - low) - far * ties.share;
}

PD_INLINE pd_ties pd_tie_scale(const pd_batch *batch, const pd_buffers *b)
{
    pd_ties ties = {0.0f, 0.0f, batch->tie_share};
    for (int64_t part = 0, first = 0; part < b->n_parts; first += b->parts[part++]) {
        const float *x = b->sorted + first;
        const int64_t n = b->parts[part];
        const float range = x[n - 1 - n / 4] - x[n / 4];
        ties.middle += 0.5f * (x[(n - 1) / 2] + x[n / 2]);
        ties.spread = range > ties.spread ? range : ties.spread;
    }
    ties.middle /= (float)b->n_parts;
    return ties;
}

PD_INLINE int pd_any_ties(const float *sorted, int64_t n, pd_ties ties)
{
    int any = 0;
    for (int64_t i = 1; i < n; i++)
        any |= !(pd_excess(ties, sorted[i - 1], sorted[i]) > 0.0f);
    return any;
}

/* Tied rows of a part take their average slope; with weights, in proportion to them. */
PD_INLINE void pd_average_ties(const float *sorted, const int32_t *rows, const double *weights, int64_t n,
                               pd_ties ties, float *slopes)
{
    if (!pd_any_ties(sorted, n, ties))
        return;
    for (int64_t start = 0, end; start < n; start = end) {
        for (end = start + 1; end < n && !(pd_excess(ties, sorted[end - 1], sorted[end]) > 0.0f); end++)
            ;
        if (end == start + 1)
            continue;
        double total = 0.0, mass = 0.0;
        for (int64_t i = start; i < end; i++) {
            total += (double)slopes[i];
            mass += weights ? weights[rows[i]] : 1.0;
        }
        const double share = mass > 0.0 ? total / mass : 0.0;
        for (int64_t i = start; i < end; i++)
            slopes[i] = (float)(weights ? share * weights[rows[i]] : share);
    }
}

/* Slopes of the sorted rows to the places of the rows. */
PD_INLINE void pd_bring_back(const pd_batch *batch, const pd_buffers *b, int64_t column)
{
    float *restrict target = batch->slopes + column * batch->n_rows;
    const int32_t *restrict rows = b->rows;
    const float *restrict slopes = b->slopes;
    const int64_t n = b->n_labelled;
    if (n < batch->n_rows)
        memset(target, 0, batch->n_rows * sizeof *target);
    for (int64_t i = 0; i < n; i++)
        target[rows[i]] = slopes[i];
}

/* Buffers for a batch; the kernel returns 1 if there is no memory. With `pooled`, all groups are sorted together. */
#define PD_ALLOCATE(batch, pooled)                                                                            \
    pd_buffers buffers;                                                                                       \
    if (pd_allocate(&(batch), pooled, &buffers))                                                              \
    return 1

/* Every column goes through `compare`, which finds the sorted column by itself, returns the value and, where asked
 * for, sets the slopes. A macro, since a function that is handed over would not be compiled for the processor. */
#define PD_FOR_COLUMNS(batch, compare)                                                                        \
    for (int64_t begin = 0; begin < (batch).n_columns; begin += buffers.width) {                              \
        const int64_t left = (batch).n_columns - begin, count = left < buffers.width ? left : buffers.width;  \
        const int32_t *members[PD_LANES];                                                                     \
        for (int64_t lane = 0; lane < count; lane++) {                                                        \
            const int64_t column = begin + lane;                                                              \
            int32_t *own = buffers.members + lane * buffers.n_labelled;                                       \
            const int known = column > 0 && (batch).labelling[column] == (batch).labelling[column - 1] &&     \
                              (lane > 0 || buffers.width == 1);                                               \
            members[lane] = known && lane > 0 ? members[lane - 1] : own;                                      \
            if (!known)                                                                                       \
                pd_find_members(&(batch), &buffers, column, own);                                             \
        }                                                                                                     \
        if (buffers.width > 1)                                                                                \
            pd_sort_lanes(&(batch), &buffers, members, begin, begin + count);                                 \
        for (int64_t lane = 0; lane < count; lane++) {                                                        \
            const pd_place place = {begin + lane, lane, members[lane]};                                       \
            const double value = compare(&(batch), &buffers, place);                                          \
            (batch).values[begin + lane] = value > 0.0 ? value : 0.0;                                         \
        }                                                                                                     \
    }                                                                                                         \
    free(buffers.memory)

#endif

/* A batch of projected columns, and the way each of them goes: sorted, compared, slopes brought back. */
#ifndef PRINCDIFF_COLUMNS_H
#define PRINCDIFF_COLUMNS_H

#include <math.h>

#include "network.h"
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

/* Beyond this a network costs more than sorting by digits (docs/constants.md). */
#define PD_NETWORK_ROWS 8192
/* Fewer columns than this leave the lanes too empty. */
#define PD_NETWORK_COLUMNS 4
/* Bits of a key that are left for the value, at least. */
#define PD_VALUE_BITS 12

/* Buffers of one call. */
typedef struct {
    int64_t n_labelled;
    int64_t n_parts;      /* sequences that are sorted: the groups, or all rows together */
    const int64_t *parts; /* their lengths */
    int64_t width;        /* columns that are sorted at a time: PD_LANES, or 1 */
    /* In lanes. A key tells the group (unless all are sorted together), the leading bits of a value, and the row. */
    int64_t n_keys; /* n_labelled, rounded up to a multiple of eight */
    int row_bits;
    uint32_t row_mask, group_mask;
    int group_shift;
    uint32_t *row_keys;  /* of one column, rows held out included */
    uint32_t *unsorted;  /* PD_LANES columns of keys, `apart` from each other */
    int64_t apart;
    uint32_t *keys;      /* n_keys x PD_LANES */
    float *lanes;        /* the values that belong to the sorted keys, and zeros behind the last */
    double *lane_sums;   /* n_labelled + 1 numbers a lane */
    /* By itself: */
    int64_t *found;   /* the labelling whose members these are: */
    int32_t *members; /* rows, part by part */
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

/* Bits that tell n things from each other. */
PD_INLINE int pd_bits(int64_t n)
{
    int bits = 0;
    while (bits < 62 && (int64_t)1 << bits < n)
        bits++;
    return bits;
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
    const int64_t n = b->n_labelled, in_lanes = b->width > 1 ? b->n_keys * PD_LANES : 0;
    b->row_keys = pd_cut(memory, used, in_lanes ? n_rows * sizeof *b->row_keys : 0);
    b->unsorted = pd_cut(memory, used, in_lanes ? b->apart * PD_LANES * sizeof *b->unsorted : 0);
    b->keys = pd_cut(memory, used, in_lanes * sizeof *b->keys);
    b->lanes = pd_cut(memory, used, in_lanes ? (in_lanes + PD_LANES) * sizeof *b->lanes : 0);
    b->lane_sums = pd_cut(memory, used, in_lanes ? (in_lanes + PD_LANES) * sizeof *b->lane_sums : 0);
    b->found = pd_cut(memory, used, sizeof *b->found);
    b->members = pd_cut(memory, used, n * sizeof *b->members);
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
    b->n_parts = pooled ? 1 : batch->n_groups;
    b->parts = pooled ? &b->n_labelled : batch->sizes;
    b->n_keys = pd_rounded_up(b->n_labelled);
    b->apart = b->n_keys + 16; /* lest all columns lie in the same few places of the cache */
    /* At least one bit for the row, so that steps fit a signed integer, which every processor converts to. */
    const int row_bits = pd_bits(batch->n_rows), group_bits = pd_bits(b->n_parts);
    const int fits = b->n_labelled <= PD_NETWORK_ROWS && row_bits + group_bits <= 32 - PD_VALUE_BITS;
    b->width = fits && batch->n_columns >= PD_NETWORK_COLUMNS ? PD_LANES : 1;
    b->row_bits = fits && row_bits > 1 ? row_bits : 1;
    b->row_mask = ((uint32_t)1 << b->row_bits) - 1;
    b->group_mask = pooled ? 0 : 0xFFu;
    b->group_shift = fits && group_bits ? 32 - group_bits : 31;
    size_t size = 64;
    pd_lay_out(b, NULL, &size, longest, batch->n_groups, batch->n_rows);
    b->memory = malloc(size);
    if (!b->memory)
        return 1;
    size = 0;
    pd_lay_out(b, (char *)(((uintptr_t)b->memory + 63) & ~(uintptr_t)63), &size, longest, batch->n_groups, batch->n_rows);
    *b->found = -1;
    return 0;
}

/* Rows of one column's parts, in the order of rows. */
PD_INLINE void pd_find_members(const pd_batch *batch, const pd_buffers *b, int64_t column)
{
    const int64_t labelling = batch->labelling[column];
    const uint8_t *codes = batch->codes + labelling * batch->n_rows;
    if (*b->found == labelling)
        return;
    *b->found = labelling;
    if (b->group_mask) {
        pd_members(codes, batch->n_rows, batch->sizes, batch->n_groups, b->members);
        return;
    }
    int64_t count = 0;
    for (int64_t row = 0; row < batch->n_rows && count < b->n_labelled; row++) {
        b->members[count] = (int32_t)row;
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

/* Keys of one column. A value is where it lies between the smallest and the largest, in steps that leave bits for group
 * and row. Rounding is monotone, so values keep their order; a margin keeps the largest within the bits. */
PD_INLINE void pd_column_keys(const pd_batch *batch, const pd_buffers *b, int64_t column, uint32_t *own)
{
    const int64_t n_rows = batch->n_rows;
    const float *restrict values = batch->projections + column * n_rows;
    const uint8_t *restrict codes = batch->codes + batch->labelling[column] * n_rows;
    const int all = b->n_labelled == n_rows;
    uint32_t *restrict keys = all ? own : b->row_keys;
    float low, high;
    pd_range(values, n_rows, &low, &high);
    const int row_bits = b->row_bits, group_shift = b->group_shift;
    const uint32_t group_mask = b->group_mask, n_groups = (uint32_t)batch->n_groups;
    const int lost = b->group_mask ? row_bits + 32 - group_shift : row_bits;
    const float range = high - low, steps = (float)(0xFFFFFFFFu >> lost) * 0.999f;
    const float factor = range > 1e-28f && range < 1e30f ? steps / range : 0.0f;
    for (int32_t row = 0; row < (int32_t)n_rows; row++) {
        const uint32_t step = (uint32_t)(int32_t)((values[row] - low) * factor);
        keys[row] = (codes[row] & group_mask) << group_shift | step << row_bits | (uint32_t)row;
    }
    if (!all) {
        int64_t count = 0;
        for (int64_t row = 0; row < n_rows && count < b->n_labelled; row++) {
            own[count] = keys[row];
            count += codes[row] < n_groups;
        }
    }
    for (int64_t i = b->n_labelled; i < b->n_keys; i++)
        own[i] = 0xFFFFFFFFu;
}

/* Moves the value at row i of a lane down to its place among those from `first` on; returns over how many. */
PD_INLINE int64_t pd_move_down(float *lane, uint32_t *keys, int64_t first, int64_t i)
{
    const float value = lane[i * PD_LANES];
    const uint32_t key = keys[i * PD_LANES];
    int64_t place = i;
    for (; place > first && lane[(place - 1) * PD_LANES] > value; place--) {
        lane[place * PD_LANES] = lane[(place - 1) * PD_LANES];
        keys[place * PD_LANES] = keys[(place - 1) * PD_LANES];
    }
    lane[place * PD_LANES] = value;
    keys[place * PD_LANES] = key;
    return i - place;
}

/* Puts right what the bits that the keys have not left out of order. Sets `lost` for a lane where that would take too
 * long, as where many values agree in all their leading bits. */
PD_INLINE void pd_put_right(const pd_buffers *b, int64_t first, int64_t n, int32_t *lost)
{
    enum { BLOCK = 8 };
    int64_t patience[PD_LANES];
    for (int64_t lane = 0; lane < PD_LANES; lane++)
        patience[lane] = lost[lane] ? -1 : 8 * n;
    for (int64_t start = first + 1; start < first + n; start += BLOCK) {
        const int64_t end = start + BLOCK < first + n ? start + BLOCK : first + n;
        int32_t falls[PD_LANES] = {0}, any = 0;
        for (int64_t i = start; i < end; i++)
            for (int64_t lane = 0; lane < PD_LANES; lane++)
                falls[lane] |= b->lanes[(i - 1) * PD_LANES + lane] > b->lanes[i * PD_LANES + lane];
        for (int64_t lane = 0; lane < PD_LANES; lane++)
            any |= falls[lane];
        if (!any)
            continue;
        for (int64_t lane = 0; lane < PD_LANES; lane++)
            for (int64_t i = start; i < end && falls[lane] && patience[lane] >= 0; i++)
                patience[lane] -= pd_move_down(b->lanes + lane, b->keys + lane, first, i);
    }
    for (int64_t lane = 0; lane < PD_LANES; lane++)
        lost[lane] = patience[lane] < 0;
}

/* Where the column of each lane begins; a lane without one has that of the first. */
PD_INLINE void pd_lane_offsets(const pd_batch *batch, int64_t count, int32_t *offsets)
{
    for (int64_t lane = 0; lane < PD_LANES; lane++)
        offsets[lane] = (int32_t)((lane < count ? lane : 0) * batch->n_rows);
}

/* Sorts `count` columns from `begin` on, in lanes: their keys and values. Sets `lost` where it did not. */
PD_INLINE void pd_sort_lanes(const pd_batch *batch, const pd_buffers *b, int64_t begin, int64_t count, int32_t *lost)
{
    int32_t offsets[PD_LANES];
    const float *columns = batch->projections + begin * batch->n_rows;
    const uint32_t mask = b->row_mask;
    pd_lane_offsets(batch, count, offsets);
    for (int64_t lane = 0; lane < PD_LANES; lane++)
        pd_column_keys(batch, b, begin + (lane < count ? lane : 0), b->unsorted + lane * b->apart);
    pd_to_lanes(b->unsorted, b->apart, b->n_keys, b->keys);
    pd_network(b->keys, b->n_keys);
    for (int64_t i = 0; i < b->n_labelled; i++)
        for (int64_t lane = 0; lane < PD_LANES; lane++) {
            const int32_t row = (int32_t)(b->keys[i * PD_LANES + lane] & mask);
            b->lanes[i * PD_LANES + lane] = columns[offsets[lane] + row];
        }
    for (int64_t lane = 0; lane < PD_LANES; lane++) {
        b->lanes[b->n_labelled * PD_LANES + lane] = 0.0f;
        lost[lane] = 0;
    }
    for (int64_t part = 0, first = 0; part < b->n_parts; first += b->parts[part++])
        pd_put_right(b, first, b->parts[part], lost);
}

/* A column, and its lane: below zero where it is sorted by itself. */
typedef struct {
    int64_t column, lane;
} pd_place;

/* One column's sorted values and their rows, part by part. */
PD_INLINE void pd_sorted_column(const pd_batch *batch, const pd_buffers *b, pd_place place)
{
    b->sorted[b->n_labelled] = 0.0f;
    if (place.lane >= 0) {
        for (int64_t i = 0; i < b->n_labelled; i++) {
            b->sorted[i] = b->lanes[i * PD_LANES + place.lane];
            b->rows[i] = (int32_t)(b->keys[i * PD_LANES + place.lane] & b->row_mask);
        }
        return;
    }
    pd_find_members(batch, b, place.column);
    for (int64_t part = 0, first = 0; part < b->n_parts; first += b->parts[part++])
        pd_sort_column(batch->projections + place.column * batch->n_rows, b->members + first, b->parts[part],
                       b->sorted + first, b->rows + first, b->entries);
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

PD_INLINE pd_ties pd_no_ties(const pd_batch *batch)
{
    const pd_ties ties = {0.0f, 0.0f, batch->tie_share};
    return ties;
}

/* Takes a part into account: n sorted values, every `apart`-th number. */
PD_INLINE void pd_widen_ties(const float *x, int64_t apart, int64_t n, pd_ties *ties)
{
    const float range = x[(n - 1 - n / 4) * apart] - x[n / 4 * apart];
    ties->middle += 0.5f * (x[(n - 1) / 2 * apart] + x[n / 2 * apart]);
    ties->spread = range > ties->spread ? range : ties->spread;
}

PD_INLINE pd_ties pd_tie_scale(const pd_batch *batch, const pd_buffers *b)
{
    pd_ties ties = pd_no_ties(batch);
    for (int64_t part = 0, first = 0; part < b->n_parts; first += b->parts[part++])
        pd_widen_ties(b->sorted + first, 1, b->parts[part], &ties);
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
        int32_t lost[PD_LANES] = {1};                                                                         \
        if (buffers.width > 1)                                                                                \
            pd_sort_lanes(&(batch), &buffers, begin, count, lost);                                            \
        for (int64_t lane = 0; lane < count; lane++) {                                                        \
            const pd_place place = {begin + lane, lost[lane] ? -1 : lane};                                    \
            const double value = compare(&(batch), &buffers, place);                                          \
            (batch).values[begin + lane] = value > 0.0 ? value : 0.0;                                         \
        }                                                                                                     \
    }                                                                                                         \
    free(buffers.memory)

#endif

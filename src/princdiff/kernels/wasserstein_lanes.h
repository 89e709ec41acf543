/* The squared 2-Wasserstein distance of two groups without weights, of PD_LANES columns at a time: what pd_w2_equal and
 * pd_w2_unequal do with one, digit by digit. Which rows are matched is the same in all lanes, so that nothing needs to
 * be looked up but the rows themselves. */
#ifndef PRINCDIFF_WASSERSTEIN_LANES_H
#define PRINCDIFF_WASSERSTEIN_LANES_H

#include "columns.h"

enum { PART = 8 };

PD_INLINE double pd_total(const double *sums)
{
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

/* Slopes of row i of the sorted lanes, to the places of the rows that they belong to. */
PD_INLINE void pd_lanes_back(const pd_buffers *b, float *target, const int32_t *offsets, int64_t i,
                             const float *slopes)
{
    const uint32_t *keys = b->keys + i * PD_LANES, mask = b->row_mask;
    for (int64_t lane = 0; lane < PD_LANES; lane++)
        target[offsets[lane] + (int32_t)(keys[lane] & mask)] = slopes[lane];
}

/* Marks lanes in which rows tie, see pd_any_ties. */
PD_INLINE void pd_lanes_ties(const pd_batch *batch, const pd_buffers *b, int32_t *tied)
{
    float middle[PD_LANES], spread[PD_LANES];
    const float share = batch->tie_share;
    for (int64_t lane = 0; lane < PD_LANES; lane++) {
        pd_ties ties = pd_no_ties(batch);
        for (int64_t part = 0, first = 0; part < b->n_parts; first += b->parts[part++])
            pd_widen_ties(b->lanes + first * PD_LANES + lane, PD_LANES, b->parts[part], &ties);
        middle[lane] = ties.middle / (float)b->n_parts;
        spread[lane] = ties.spread;
    }
    for (int64_t part = 0, first = 0; part < b->n_parts; first += b->parts[part++]) {
        const float *restrict x = b->lanes + first * PD_LANES;
        for (int64_t i = 1; i < b->parts[part]; i++)
            for (int64_t lane = 0; lane < PD_LANES; lane++) {
                const pd_ties ties = {middle[lane], spread[lane], share};
                const float low = x[(i - 1) * PD_LANES + lane], high = x[i * PD_LANES + lane];
                tied[lane] |= !(pd_excess(ties, low, high) > 0.0f);
            }
    }
}

PD_INLINE void pd_lanes_total(double (*sums)[PD_LANES], double size, double *values)
{
    for (int64_t lane = 0; lane < PD_LANES; lane++) {
        double own[PART];
        for (int64_t k = 0; k < PART; k++)
            own[k] = sums[k][lane];
        values[lane] = pd_total(own) / size;
    }
}

PD_INLINE void pd_lanes_equal(const pd_batch *batch, const pd_buffers *b, float *target, const int32_t *offsets,
                              double *values)
{
    const int64_t n = batch->sizes[0], whole = n / PART * PART;
    const float *restrict x = b->lanes, *restrict y = b->lanes + n * PD_LANES, each = (float)(2.0 / (double)n);
    double sums[PART][PD_LANES] = {{0.0}};
    for (int64_t i = 0; i < n; i++) {
        double *restrict sum = sums[i < whole ? i % PART : 0];
        float up[PD_LANES], down[PD_LANES];
        for (int64_t lane = 0; lane < PD_LANES; lane++) {
            const float gap = x[i * PD_LANES + lane] - y[i * PD_LANES + lane];
            sum[lane] += (double)gap * (double)gap;
            up[lane] = gap * each;
            down[lane] = -up[lane];
        }
        if (target) {
            pd_lanes_back(b, target, offsets, i, up);
            pd_lanes_back(b, target, offsets, n + i, down);
        }
    }
    pd_lanes_total(sums, (double)n, values);
}

/* pd_running_sums of every lane. */
PD_INLINE void pd_lanes_running_sums(const float *restrict x, int64_t n, double *restrict sums)
{
    double sum[PD_LANES] = {0.0};
    int64_t i = 0;
    memset(sums, 0, PD_LANES * sizeof *sums);
    for (; i + 4 <= n; i += 4)
        for (int64_t lane = 0; lane < PD_LANES; lane++) {
            const float *own = x + i * PD_LANES + lane;
            double *to = sums + (i + 1) * PD_LANES + lane;
            const double one = (double)own[0], two = one + (double)own[PD_LANES];
            const double last = (double)own[2 * PD_LANES] + (double)own[3 * PD_LANES];
            const double three = two + (double)own[2 * PD_LANES], four = two + last, before = sum[lane];
            to[0] = before + one;
            to[PD_LANES] = before + two;
            to[2 * PD_LANES] = before + three;
            to[3 * PD_LANES] = sum[lane] = before + four;
        }
    for (; i < n; i++)
        for (int64_t lane = 0; lane < PD_LANES; lane++)
            sums[(i + 1) * PD_LANES + lane] = sum[lane] += (double)x[i * PD_LANES + lane];
}

PD_INLINE void pd_lanes_unequal(const pd_batch *batch, const pd_buffers *b, float *target, const int32_t *offsets,
                                double *values)
{
    const int small = batch->sizes[0] > batch->sizes[1], large = !small;
    const int64_t n = batch->sizes[small], m = batch->sizes[large], whole = m / PART * PART;
    const int64_t at_small = small ? batch->sizes[0] : 0, at_large = large ? batch->sizes[0] : 0;
    const float *restrict x = b->lanes + at_small * PD_LANES, *restrict y = b->lanes + at_large * PD_LANES;
    const int32_t *restrict ends = b->ends + at_small, *restrict ends_y = b->ends + at_large;
    const float *restrict divided = b->divided, each = (float)(2.0 / (double)m);
    const double own = 2.0 / (double)n, theirs = 2.0 / (double)m;
    double parts[PART][PD_LANES] = {{0.0}}, *restrict sums = b->lane_sums;
    for (int64_t j = 0; j < m; j++) {
        double *restrict part = parts[j < whole ? j % PART : 0];
        const float *restrict one = x + (int64_t)ends_y[j] * PD_LANES, *restrict here = y + j * PD_LANES;
        const float share = divided[j], rest = 1.0f - share;
        float slopes[PD_LANES];
        for (int64_t lane = 0; lane < PD_LANES; lane++) {
            const float first = here[lane] - one[lane], second = here[lane] - one[PD_LANES + lane];
            slopes[lane] = each * (share * first + rest * second);
            part[lane] += (double)(share * first) * (double)first + (double)(rest * second) * (double)second;
        }
        if (target)
            pd_lanes_back(b, target, offsets, at_large + j, slopes);
    }
    pd_lanes_total(parts, (double)m, values);
    if (!target)
        return;
    double before[PD_LANES] = {0.0};
    pd_lanes_running_sums(y, m, sums);
    for (int64_t i = 0; i < n; i++) {
        const int64_t end = (int64_t)ends[i] * PD_LANES;
        const double fraction = b->fractions[at_small + i];
        float slopes[PD_LANES];
        for (int64_t lane = 0; lane < PD_LANES; lane++) {
            const double reached = sums[end + lane] + fraction * (double)y[end + lane];
            slopes[lane] = (float)(own * (double)x[i * PD_LANES + lane] - theirs * (reached - before[lane]));
            before[lane] = reached;
        }
        pd_lanes_back(b, target, offsets, at_small + i, slopes);
    }
}

/* Values of `count` sorted columns from `begin` on, and their slopes where asked for. Marks those in which rows tie,
 * which share their slopes: these columns are done again one by one. */
PD_INLINE void pd_w2_lanes(const pd_batch *batch, const pd_buffers *b, int64_t begin, int64_t count, int32_t *tied)
{
    int32_t offsets[PD_LANES];
    double values[PD_LANES];
    float *target = batch->slopes ? batch->slopes + begin * batch->n_rows : NULL;
    pd_lane_offsets(batch, count, offsets);
    if (target && b->n_labelled < batch->n_rows)
        memset(target, 0, count * batch->n_rows * sizeof *target);
    if (batch->sizes[0] == batch->sizes[1])
        pd_lanes_equal(batch, b, target, offsets, values);
    else
        pd_lanes_unequal(batch, b, target, offsets, values);
    memset(tied, 0, PD_LANES * sizeof *tied);
    if (target)
        pd_lanes_ties(batch, b, tied);
    for (int64_t lane = 0; lane < count; lane++)
        batch->values[begin + lane] = values[lane] > 0.0 ? values[lane] : 0.0;
}

#endif

/* 1-Wasserstein distance between groups of projected rows, and its slopes: pair by pair of groups, along the cells of
 * the plan that matches sorted rows. */
#include "columns.h"

/* One cell of a plan: mass goes from one row to another. */
PD_INLINE double pd_move(float from, float to, double mass, pd_ties ties, double *up, double *down)
{
    const double gap = (double)from - (double)to;
    /* What rounding has split is not apart. */
    const int apart = (from > to ? pd_excess(ties, to, from) : pd_excess(ties, from, to)) > 0.0f;
    const double sign = !apart ? 0.0 : gap > 0.0 ? mass : -mass;
    *up += sign;
    *down -= sign;
    return sign * gap;
}

PD_INLINE double pd_w1_pair(const float *x, int64_t n, const float *y, int64_t m, double share, pd_ties ties,
                            double *up, double *down)
{
    const double unit = share / ((double)n * (double)m);
    double value = 0.0;
    /* Each of n rows has m units, each of m rows n. */
    for (int64_t i = 0, j = 0, left = m, open = n; i < n;) {
        const int64_t moved = left < open ? left : open;
        value += pd_move(x[i], y[j], (double)moved * unit, ties, up + i, down + j);
        left -= moved;
        open -= moved;
        i += left == 0;
        j += open == 0;
        left = left ? left : m;
        open = open ? open : n;
    }
    return value;
}

/* The same with weights; `edges` are the running sums of the weights of either group. */
PD_INLINE double pd_w1_pair_weighted(const float *x, const double *edges, int64_t n, const float *y,
                                     const double *other_edges, int64_t m, double share, pd_ties ties, double *up,
                                     double *down)
{
    double here = 0.0, value = 0.0;
    for (int64_t i = 0, j = 0;;) {
        const double end = edges[i + 1] / edges[n], other_end = other_edges[j + 1] / other_edges[m];
        const double until = end < other_end ? end : other_end;
        if (until > here) {
            value += pd_move(x[i], y[j], (until - here) * share, ties, up + i, down + j);
            here = until;
        }
        if (i == n - 1 && j == m - 1)
            return value;
        if (j == m - 1 || (i < n - 1 && end <= other_end))
            i++;
        else
            j++;
    }
}

PD_INLINE double pd_w1(const pd_batch *batch, const pd_buffers *b, pd_place place)
{
    const int64_t n_groups = batch->n_groups, *sizes = batch->sizes;
    const double *shares = batch->proportions + (batch->weights ? place.column * n_groups : 0);
    double *slopes = b->space, *edges = b->space + b->n_labelled, pairs = 1.0, value = 0.0;
    pd_sorted_column(batch, b, place);
    const float *x = b->sorted;
    const pd_ties ties = pd_tie_scale(batch, b);
    for (int64_t g = 0, at = 0; g < n_groups; at += sizes[g++]) {
        pairs -= shares[g] * shares[g];
        edges[at + g] = 0.0;
        for (int64_t i = 0; i < sizes[g] && batch->weights; i++)
            edges[at + g + i + 1] = edges[at + g + i] + batch->weights[b->rows[at + i]];
    }
    memset(slopes, 0, b->n_labelled * sizeof *slopes);
    for (int64_t g = 0, at_g = 0; g < n_groups; at_g += sizes[g++])
        for (int64_t h = g + 1, at_h = at_g + sizes[g]; h < n_groups; at_h += sizes[h++]) {
            const double share = 2.0 * shares[g] * shares[h] / pairs;
            if (batch->weights)
                value += pd_w1_pair_weighted(x + at_g, edges + at_g + g, sizes[g], x + at_h, edges + at_h + h,
                                             sizes[h], share, ties, slopes + at_g, slopes + at_h);
            else
                value += pd_w1_pair(x + at_g, sizes[g], x + at_h, sizes[h], share, ties, slopes + at_g,
                                    slopes + at_h);
        }
    if (!batch->slopes)
        return value;
    for (int64_t i = 0; i < b->n_labelled; i++)
        b->slopes[i] = (float)slopes[i];
    for (int64_t part = 0, first = 0; part < b->n_parts; first += b->parts[part++])
        pd_average_ties(x + first, b->rows + first, batch->weights, b->parts[part], ties, b->slopes + first);
    pd_bring_back(batch, b, place.column);
    return value;
}

PD_EXPORT int32_t PD_KERNEL(pd_wasserstein1)(PD_BATCH_PARAMETERS)
{
    const pd_batch batch = PD_BATCH;
    PD_ALLOCATE(batch, 0);
    PD_FOR_COLUMNS(batch, pd_w1);
    return 0;
}

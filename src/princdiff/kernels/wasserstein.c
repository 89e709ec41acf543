/* Squared 2-Wasserstein distance between groups of projected rows, and its slopes.
 *
 * With Q_h the quantile function of group h, row i of group g (the i-th of n_g) has the slope
 *     2 p_g / s * sum over h != g of p_h * (mass_i * x_i - integral of Q_h over the row's part of (0, 1)),
 * where s is the sum of p_g p_h over pairs; the value is half the sum of slope times x (Euler). Integrals are
 * differences of running sums: no cell of any plan is formed.
 */
#include "columns.h"
#include "wasserstein_lanes.h"

/* Two groups of equal size: row i of one goes to row i of the other. */
PD_INLINE double pd_w2_equal(const pd_batch *batch, const pd_buffers *b)
{
    const int64_t n = batch->sizes[0];
    const float *restrict x = b->sorted, *restrict y = b->sorted + n;
    double sums[PART] = {0.0};
    float *restrict up = b->slopes, *restrict down = b->slopes + n;
    const float each = (float)(2.0 / (double)n);
    int64_t i = 0;
    for (; i + PART <= n; i += PART)
        for (int64_t k = 0; k < PART; k++) {
            const float gap = x[i + k] - y[i + k];
            sums[k] += (double)gap * (double)gap;
        }
    for (; i < n; i++) {
        const float gap = x[i] - y[i];
        sums[0] += (double)gap * (double)gap;
    }
    if (batch->slopes)
        for (i = 0; i < n; i++) {
            up[i] = (x[i] - y[i]) * each;
            down[i] = -up[i];
        }
    return pd_total(sums) / (double)n;
}

/* Running sums of a group, n + 1 of them; four at a time, since each addition waits for the last. */
PD_INLINE void pd_running_sums(const float *restrict x, int64_t n, double *restrict sums)
{
    double sum = 0.0;
    int64_t i = 0;
    sums[0] = 0.0;
    for (; i + 4 <= n; i += 4) {
        double one = (double)x[i], two = one + (double)x[i + 1];
        double last = (double)x[i + 2] + (double)x[i + 3], three = two + (double)x[i + 2], four = two + last;
        sums[i + 1] = sum + one;
        sums[i + 2] = sum + two;
        sums[i + 3] = sum + three;
        sum += four;
        sums[i + 4] = sum;
    }
    for (; i < n; i++) {
        sum += (double)x[i];
        sums[i + 1] = sum;
    }
}

/* Where the parts of (0, 1) that belong to the rows of a group of n end among those of a group of m: part i
 * ends within row ends[i] of the other group, after this fraction of it. */
PD_INLINE void pd_part_ends(int64_t n, int64_t m, int32_t *ends, double *fractions)
{
    const int64_t whole = m / n, part = m % n;
    const double inverse = 1.0 / (double)n;
    for (int64_t i = 0, j = 0, rest = 0; i < n; i++) {
        rest += part;
        j += whole + (rest >= n);
        rest -= rest >= n ? n : 0;
        ends[i] = (int32_t)j;
        fractions[i] = (double)rest * inverse;
    }
}

/* Adds share * (x_i / n - integral of the other group's quantile function) to the slopes of a group of n, or
 * begins with it. `sums` are the running sums of the other group, m + 1 of them; `reached` is space for n + 1. */
PD_INLINE void pd_w2_against(const float *restrict x, int64_t n, const float *restrict other,
                             const double *restrict sums, int64_t m, double share, int begins,
                             double *restrict slopes,
                             const int32_t *restrict ends, const double *restrict fractions,
                             double *restrict reached)
{
    const double own = share / (double)n, theirs = share / (double)m;
    reached[0] = 0.0;
    for (int64_t i = 0; i < n; i++)
        reached[i + 1] = sums[ends[i]] + fractions[i] * (double)other[ends[i]];
    for (int64_t i = 0; i < n; i++) {
        const double part = own * (double)x[i] - theirs * (reached[i + 1] - reached[i]);
        slopes[i] = begins ? part : slopes[i] + part;
    }
}

/* The same with weights; `edges` are the running sums of the weights of either group. */
PD_INLINE void pd_w2_against_weighted(const float *x, const double *edges, int64_t n, const float *other,
                                      const double *other_edges, int64_t m, double share, double *slopes)
{
    const double total = edges[n], other_total = other_edges[m];
    double here = 0.0;
    for (int64_t i = 0, j = 0; i < n; i++) {
        /* Row i's part of (0, 1) ends here, as weight of the other group. */
        const double until = edges[i + 1] / total * other_total;
        double moved = 0.0;
        for (; j < m - 1 && other_edges[j + 1] < until; j++) {
            moved += (other_edges[j + 1] - here) * (double)other[j];
            here = other_edges[j + 1];
        }
        if (until > here) {
            moved += (until - here) * (double)other[j];
            here = until;
        }
        slopes[i] += share * ((edges[i + 1] - edges[i]) / total * (double)x[i] - moved / other_total);
    }
}

PD_INLINE double pd_w2_any(const pd_batch *batch, const pd_buffers *b, pd_place place)
{
    const int64_t n_groups = batch->n_groups, *sizes = batch->sizes;
    const double *shares = batch->proportions + (batch->weights ? place.column * n_groups : 0);
    const float *x = b->sorted;
    double *running = b->space, *slopes = b->space + 2 * (b->n_labelled + n_groups), pairs = 1.0;
    for (int64_t g = 0, at = 0; g < n_groups; at += sizes[g++]) {
        double *own = running + at + g;
        pairs -= shares[g] * shares[g];
        if (!batch->weights) {
            pd_running_sums(x + at, sizes[g], own);
            continue;
        }
        own[0] = 0.0;
        for (int64_t i = 0; i < sizes[g]; i++)
            own[i + 1] = own[i] + batch->weights[b->rows[at + i]];
    }
    if (batch->weights)
        memset(slopes, 0, b->n_labelled * sizeof *slopes);
    for (int64_t g = 0, at_g = 0; g < n_groups; at_g += sizes[g++])
        for (int64_t h = 0, at_h = 0; h < n_groups; at_h += sizes[h++]) {
            const double share = 4.0 * shares[g] * shares[h] / pairs;
            if (g == h)
                continue;
            if (batch->weights)
                pd_w2_against_weighted(x + at_g, running + at_g + g, sizes[g], x + at_h, running + at_h + h,
                                       sizes[h], share, slopes + at_g);
            else {
                pd_part_ends(sizes[g], sizes[h], b->ends, b->fractions);
                pd_w2_against(x + at_g, sizes[g], x + at_h, running + at_h + h, sizes[h], share, h == (g == 0),
                              slopes + at_g, b->ends, b->fractions, running + b->n_labelled + n_groups);
            }
        }
    /* Slopes sum to zero: a common shift of all values changes nothing but the rounding. */
    const double shift = (double)x[0];
    double sums[PART] = {0.0};
    int64_t i = 0;
    for (; i + PART <= b->n_labelled; i += PART)
        for (int64_t k = 0; k < PART; k++)
            sums[k] += slopes[i + k] * ((double)x[i + k] - shift);
    for (; i < b->n_labelled; i++)
        sums[0] += slopes[i] * ((double)x[i] - shift);
    for (i = 0; i < b->n_labelled; i++)
        b->slopes[i] = (float)slopes[i];
    return 0.5 * pd_total(sums);
}

/* Two groups of unequal size: each row of the larger one is matched with one row of the smaller or two, neighbours.
 * The tables of pd_part_ends say which, and how it is divided between them. */
PD_INLINE double pd_w2_unequal(const pd_batch *batch, const pd_buffers *b)
{
    const int small = batch->sizes[0] > batch->sizes[1], large = !small;
    const int64_t n = batch->sizes[small], m = batch->sizes[large];
    const int64_t at_small = small ? batch->sizes[0] : 0, at_large = large ? batch->sizes[0] : 0;
    const float *restrict x = b->sorted + at_small, *restrict y = b->sorted + at_large;
    float *restrict slopes = b->slopes + at_small, *restrict slopes_y = b->slopes + at_large;
    double *restrict sums = b->space, *restrict reached = b->space + m + 2, parts[PART] = {0.0};
    const int32_t *restrict ends = b->ends + at_small, *restrict ends_y = b->ends + at_large;
    const double *restrict fractions = b->fractions + at_small;
    const float *restrict divided = b->divided, each = (float)(2.0 / (double)m);
    const double own = 2.0 / (double)n, theirs = 2.0 / (double)m;
    int64_t j = 0;
    for (; j + PART <= m; j += PART)
        for (int64_t k = 0; k < PART; k++) {
            const float first = y[j + k] - x[ends_y[j + k]], second = y[j + k] - x[ends_y[j + k] + 1];
            const float share = divided[j + k], rest = 1.0f - share;
            slopes_y[j + k] = each * (share * first + rest * second);
            parts[k] += (double)(share * first) * (double)first + (double)(rest * second) * (double)second;
        }
    for (; j < m; j++) {
        const float first = y[j] - x[ends_y[j]], second = y[j] - x[ends_y[j] + 1];
        const float share = divided[j], rest = 1.0f - share;
        slopes_y[j] = each * (share * first + rest * second);
        parts[0] += (double)(share * first) * (double)first + (double)(rest * second) * (double)second;
    }
    if (batch->slopes) {
        pd_running_sums(y, m, sums);
        reached[0] = 0.0;
        for (int64_t i = 0; i < n; i++)
            reached[i + 1] = sums[ends[i]] + fractions[i] * (double)y[ends[i]];
        for (int64_t i = 0; i < n; i++)
            slopes[i] = (float)(own * (double)x[i] - theirs * (reached[i + 1] - reached[i]));
    }
    return pd_total(parts) / (double)m;
}

/* For each row of the larger group, the first row of the smaller that it is matched with, and how much of it. */
PD_INLINE void pd_divided(int64_t n, int64_t m, int32_t *ends, float *divided)
{
    for (int64_t j = 0, i = 0, used = 0; j < m; j++) {
        /* Row j has n units, each row of the smaller group m, of which `used` are gone. */
        const int64_t left = m - used, whole = left >= n;
        ends[j] = (int32_t)i;
        divided[j] = whole ? 1.0f : (float)((double)left / (double)n);
        used += n;
        i += used >= m;
        used -= used >= m ? m : 0;
    }
}

PD_INLINE double pd_w2(const pd_batch *batch, const pd_buffers *b, pd_place place)
{
    const int two = batch->n_groups == 2 && !batch->weights, equal = two && batch->sizes[0] == batch->sizes[1];
    double value;
    pd_sorted_column(batch, b, place);
    if (equal)
        value = pd_w2_equal(batch, b);
    else if (two)
        value = pd_w2_unequal(batch, b);
    else
        value = pd_w2_any(batch, b, place);
    if (!batch->slopes)
        return value;
    const pd_ties ties = pd_tie_scale(batch, b);
    for (int64_t part = 0, first = 0; part < b->n_parts; first += b->parts[part++])
        pd_average_ties(b->sorted + first, b->rows + first, batch->weights, b->parts[part], ties,
                        b->slopes + first);
    pd_bring_back(batch, b, place.column);
    return value;
}

PD_EXPORT int32_t PD_KERNEL(pd_wasserstein2)(PD_BATCH_PARAMETERS)
{
    const pd_batch batch = PD_BATCH;
    PD_ALLOCATE(batch, 0);
    if (n_groups == 2 && !weights) {
        const int small = sizes[0] > sizes[1];
        const int64_t at_small = small ? sizes[0] : 0, at_large = small ? 0 : sizes[0];
        pd_part_ends(sizes[small], sizes[!small], buffers.ends + at_small, buffers.fractions + at_small);
        pd_divided(sizes[small], sizes[!small], buffers.ends + at_large, buffers.divided);
    }
    const int together = n_groups == 2 && !weights && buffers.width > 1;
    for (int64_t begin = 0; begin < n_columns; begin += buffers.width) {
        const int64_t left = n_columns - begin, count = left < buffers.width ? left : buffers.width;
        int32_t lost[PD_LANES] = {1}, again[PD_LANES] = {0};
        if (buffers.width > 1)
            pd_sort_lanes(&batch, &buffers, begin, count, lost);
        if (together)
            pd_w2_lanes(&batch, &buffers, begin, count, again);
        for (int64_t lane = 0; lane < count; lane++) {
            if (together && !lost[lane] && !again[lane])
                continue;
            const pd_place place = {begin + lane, lost[lane] ? -1 : lane};
            const double value = pd_w2(&batch, &buffers, place);
            values[begin + lane] = value > 0.0 ? value : 0.0;
        }
    }
    free(buffers.memory);
    return 0;
}

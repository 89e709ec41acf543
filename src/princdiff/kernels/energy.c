/* Energy distance between groups of projected rows, and its slopes.
 *
 * A row's slope is how far the distribution functions of all rows and of its own group are apart, both taken in the
 * middle of the jump that it makes together with all rows of its value; the value is the sum of slope times x.
 */
#include "columns.h"

/* Rows of one value, or of values that rounding has split: all of them move together. */
typedef struct {
    double before[256], own[256]; /* of each group: mass below the block, and in it */
    double reached;               /* mass of all groups below */
} pd_jumps;

PD_INLINE double pd_energy_ranked(const pd_batch *batch, const pd_buffers *b, pd_place place, pd_jumps *jumps)
{
    const int64_t n = b->n_labelled, n_groups = batch->n_groups;
    const uint8_t *codes = batch->codes + batch->labelling[place.column] * batch->n_rows;
    const double *shares = batch->proportions + (batch->weights ? place.column * n_groups : 0);
    const pd_ties ties = pd_tie_scale(batch, b);
    const double shift = (double)b->sorted[0]; /* slopes sum to zero */
    double total = (double)n, pairs = 1.0, value = 0.0;
    if (batch->weights) {
        total = 0.0;
        for (int64_t i = 0; i < n; i++)
            total += batch->weights[b->rows[i]];
    }
    for (int64_t group = 0; group < n_groups; group++) {
        pairs -= shares[group] * shares[group];
        jumps->before[group] = jumps->own[group] = 0.0;
    }
    const double scale = 4.0 / (pairs * total * total);
    jumps->reached = 0.0;
    for (int64_t start = 0, end; start < n; start = end) {
        double mass = 0.0;
        end = start;
        do {
            const int32_t row = b->rows[end];
            const double own = batch->weights ? batch->weights[row] : 1.0;
            jumps->own[codes[row]] += own;
            mass += own;
            end++;
        } while (end < n && !(pd_excess(ties, b->sorted[end - 1], b->sorted[end]) > 0.0f));
        const double middle = 2.0 * jumps->reached + mass;
        for (int64_t i = start; i < end; i++) {
            const int32_t row = b->rows[i];
            const int group = codes[row];
            const double own = batch->weights ? batch->weights[row] : 1.0;
            const double apart = middle - (2.0 * jumps->before[group] + jumps->own[group]) / shares[group];
            const double slope = scale * own * apart;
            b->slopes[i] = (float)slope;
            value += slope * ((double)b->sorted[i] - shift);
        }
        for (int64_t i = start; i < end; i++) {
            const int group = codes[b->rows[i]];
            jumps->before[group] += jumps->own[group];
            jumps->own[group] = 0.0;
        }
        jumps->reached += mass;
    }
    return value;
}

/* Two groups, no weights, no ties: counts are whole numbers, one pass. Returns 0 where values tie. */
PD_INLINE int pd_energy_two(const pd_batch *batch, const pd_buffers *b, pd_place place, double *value)
{
    const int64_t n = b->n_labelled;
    const uint8_t *codes = batch->codes + batch->labelling[place.column] * batch->n_rows;
    const float *restrict x = b->sorted;
    float *restrict slopes = b->slopes;
    if (pd_any_ties(x, n, pd_tie_scale(batch, b)))
        return 0;
    const double first = (double)batch->sizes[0], second = (double)batch->sizes[1], both = first + second;
    /* 4 / (pairs N^2) with pairs = 2 p q, here p q = first * second / N^2, of which half is in the middle. */
    const double scale = 2.0 / (first * second), ratio[2] = {both / first, both / second};
    double sums[4] = {0.0};
    const double shift = (double)x[0];
    int64_t seen = 0; /* of the second group */
    for (int64_t start = 0; start < n; start += 4)
        for (int64_t k = 0; k < 4 && start + k < n; k++) {
            const int64_t i = start + k, group = codes[b->rows[i]];
            const int64_t own = group ? seen : i - seen;
            const double slope =
                scale * ((double)(2 * i + 1) - (double)(2 * own + 1) * (group ? ratio[1] : ratio[0]));
            slopes[i] = (float)slope;
            sums[k] += slope * ((double)x[i] - shift);
            seen += group;
        }
    *value = (sums[0] + sums[2]) + (sums[1] + sums[3]);
    return 1;
}

/* The value alone, of two groups without weights: twice the integral of the squared difference of the distribution
 * functions, which needs no slopes, and no rows where columns are sorted one by one. */
PD_INLINE double pd_energy_value(const pd_batch *batch, const pd_buffers *b, pd_place place)
{
    const int64_t n = b->n_labelled, first = batch->sizes[0], second = batch->sizes[1];
    const uint8_t *codes = batch->codes + batch->labelling[place.column] * batch->n_rows;
    const float *column = batch->projections + place.column * batch->n_rows;
    /* How far the first function is ahead, in units of one over the product of the groups' rows. */
    const int64_t jumps[2] = {second, -first};
    double sums[4] = {0.0};
    int64_t ahead = 0;
    if (place.lane >= 0) {
        pd_sorted_column(batch, b, place);
        for (int64_t start = 0; start < n - 1; start += 4)
            for (int64_t k = 0; k < 4 && start + k < n - 1; k++) {
                const int64_t i = start + k;
                ahead += jumps[codes[b->rows[i]]];
                sums[k] += ((double)b->sorted[i + 1] - (double)b->sorted[i]) * ((double)ahead * (double)ahead);
            }
    } else {
        pd_find_members(batch, b, place.column);
        for (int64_t i = 0; i < n; i++) {
            const int32_t row = b->members[i];
            b->entries[i] = (uint64_t)pd_ordered(column[row]) << 32 | codes[row];
        }
        const uint64_t *ranked = pd_sort_entries(b->entries, b->entries + n, n);
        double value = (double)pd_unordered((uint32_t)(ranked[0] >> 32));
        for (int64_t start = 0; start < n - 1; start += 4)
            for (int64_t k = 0; k < 4 && start + k < n - 1; k++) {
                const int64_t i = start + k;
                const double next = (double)pd_unordered((uint32_t)(ranked[i + 1] >> 32));
                ahead += jumps[ranked[i] & 1];
                sums[k] += (next - value) * ((double)ahead * (double)ahead);
                value = next;
            }
    }
    const double scale = 1.0 / ((double)first * (double)second);
    return 2.0 * ((sums[0] + sums[2]) + (sums[1] + sums[3])) * scale * scale;
}

PD_INLINE double pd_energy_of(const pd_batch *batch, const pd_buffers *b, pd_place place)
{
    double value;
    if (!batch->slopes && !batch->weights && batch->n_groups == 2)
        return pd_energy_value(batch, b, place);
    pd_sorted_column(batch, b, place);
    if (batch->weights || batch->n_groups != 2 || !pd_energy_two(batch, b, place, &value)) {
        pd_jumps jumps;
        value = pd_energy_ranked(batch, b, place, &jumps);
    }
    if (batch->slopes)
        pd_bring_back(batch, b, place.column);
    return value;
}

PD_EXPORT int32_t PD_KERNEL(pd_energy)(PD_BATCH_PARAMETERS)
{
    const pd_batch batch = PD_BATCH;
    PD_ALLOCATE(batch, 1);
    PD_FOR_COLUMNS(batch, pd_energy_of);
    return 0;
}

/* What W of many plans is between a few vectors and all features, without W itself.
 *
 * A plan matches rows of one group with rows of another. Each match adds the product of the difference of both rows
 * with itself to W. The differences are made a row at a time and used at once, while they are in the first cache.
 */
#include <math.h>
#include <stdlib.h>

#include "kernels.h"

/* Adds one difference to the sums of a plan. */
PD_INLINE void pd_add_gap(const double *gap, int64_t d, const int64_t *support, const double *vectors, int64_t size,
                          double *along, double *pairs, double *cross, double *squares, float *copy)
{
    for (int64_t r = 0; r < size; r++) {
        double sum = 0.0;
        for (int64_t p = 0; p < size; p++)
            sum += vectors[r * size + p] * gap[support[p]];
        along[r] = sum;
    }
    for (int64_t r = 0; r < size; r++) {
        const double here = along[r];
        double *row = cross + r * d;
        for (int64_t s = 0; s < size; s++)
            pairs[r * size + s] += here * along[s];
        for (int64_t l = 0; l < d; l++)
            row[l] += here * gap[l];
    }
    for (int64_t l = 0; l < d; l++)
        squares[l] += gap[l] * gap[l];
    if (copy)
        for (int64_t l = 0; l < d; l++)
            copy[l] = (float)gap[l];
}

/* x (n, d), y (m, d): rows. matched_x, matched_y, mass (count, length): plans. between (n_between, d): further
 * differences, of every plan. support (count, size), vectors (count, size, size): a vector a row, on the support.
 * Adds to pairs (count, size, size), cross (count, size, d) and squares (count, d), the diagonal of W; writes the
 * differences (count, length + n_between, d) to gaps unless that is null. Returns 1 if there is no memory. */
PD_EXPORT int32_t PD_KERNEL(pd_matched_rows)(const double *x, const double *y, int64_t d, const int64_t *matched_x,
                                             const int64_t *matched_y, const double *mass, int64_t count,
                                             int64_t length, const double *between, int64_t n_between,
                                             const int64_t *support, const double *vectors, int64_t size, double *pairs,
                                             double *cross, double *squares, float *gaps)
{
    double *gap = malloc((size_t)(d + size) * sizeof *gap);
    if (!gap)
        return 1;
    double *along = gap + d;
    for (int64_t c = 0; c < count; c++) {
        for (int64_t i = 0; i < length + n_between; i++) {
            const double *own = gap;
            if (i < length) {
                const int64_t at = c * length + i;
                const double root = sqrt(mass[at]), *one = x + matched_x[at] * d, *other = y + matched_y[at] * d;
                for (int64_t l = 0; l < d; l++)
                    gap[l] = root * (one[l] - other[l]);
            } else {
                own = between + (i - length) * d;
            }
            pd_add_gap(own, d, support + c * size, vectors + c * size * size, size, along, pairs + c * size * size,
                       cross + c * size * d, squares + c * d,
                       gaps ? gaps + (c * (length + n_between) + i) * d : NULL);
        }
    }
    free(gap);
    return 0;
}

/* Steps of directions: along the gradient, shrunk, cut to the largest weights, brought to unit length. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

/* Up to FEW weights are counted once for every bit of the threshold, in registers; more are first sorted into bins. */
enum { BINS = 2048, SHIFT = 20, PARTS = 8, FEW = 1024 };

/* Factors beyond which single precision might overflow, or lose digits of what is tiny. */
static const double LARGE = 1e30;

PD_INLINE uint32_t pd_magnitude(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits & 0x7FFFFFFFu;
}

/* Sum of squares, in a fixed order. */
PD_INLINE double pd_sum_of_squares(const float *restrict x, int64_t n)
{
    double sums[PARTS] = {0.0};
    int64_t i = 0;
    for (; i + PARTS <= n; i += PARTS)
        for (int64_t k = 0; k < PARTS; k++)
            sums[k] += (double)x[i + k] * (double)x[i + k];
    for (; i < n; i++)
        sums[0] += (double)x[i] * (double)x[i];
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

/* The same for few: the threshold bit by bit, from the highest. */
PD_INLINE uint32_t pd_largest_of_few(const float *restrict x, int32_t n, int32_t level, uint32_t *restrict sizes,
                                     int64_t *larger)
{
    for (int32_t i = 0; i < n; i++)
        sizes[i] = pd_magnitude(x[i]);
    uint32_t least = 0;
    for (uint32_t bit = (uint32_t)1 << 30; bit; bit >>= 1) {
        const uint32_t higher = least | bit;
        int32_t count = 0;
        for (int32_t i = 0; i < n; i++)
            count += sizes[i] >= higher;
        least = count >= level ? higher : least;
        if (count == level)
            break;
    }
    int32_t above = 0;
    for (int32_t i = 0; i < n; i++)
        above += sizes[i] > least;
    *larger = above;
    return least;
}

/* The level-th largest of n magnitudes (level at least 1, at most n), and how many are larger than it. */
PD_INLINE uint32_t pd_largest(const float *restrict x, int64_t n, int64_t level, uint32_t *restrict counts,
                              uint32_t *restrict inside, int64_t *larger)
{
    memset(counts, 0, BINS * sizeof *counts);
    for (int64_t i = 0; i < n; i++)
        counts[pd_magnitude(x[i]) >> SHIFT]++;
    int64_t bin = BINS - 1, above = 0;
    for (; above + (int64_t)counts[bin] < level; bin--)
        above += counts[bin];
    /* Of the bin that holds it, the bits below one after the other, from the highest. */
    int64_t count = 0, rank = level - above;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t size = pd_magnitude(x[i]);
        inside[count] = size;
        count += (int64_t)(size >> SHIFT) == bin;
    }
    for (uint32_t bit = (uint32_t)1 << (SHIFT - 1); bit && count > 1; bit >>= 1) {
        int64_t set = 0;
        for (int64_t i = 0; i < count; i++)
            set += (inside[i] & bit) != 0;
        const int keep = set >= rank;
        rank -= keep ? 0 : set;
        int64_t kept = 0;
        for (int64_t i = 0; i < count; i++) {
            const uint32_t size = inside[i];
            inside[kept] = size;
            kept += ((size & bit) != 0) == keep;
        }
        count = kept;
    }
    *larger = level - rank;
    return inside[0];
}

/* Zeroes all but the largest `level` entries in magnitude, ties going to earlier ones. */
PD_INLINE void pd_keep_largest(float *restrict x, int64_t n, int64_t level, uint32_t *counts, uint32_t *inside)
{
    if (level >= n)
        return;
    level = level < 1 ? 1 : level;
    int64_t larger;
    const uint32_t least = n <= FEW ? pd_largest_of_few(x, (int32_t)n, (int32_t)level, inside, &larger)
                                    : pd_largest(x, n, level, counts, inside, &larger);
    int64_t equals = level - larger;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t size = pd_magnitude(x[i]);
        const int equal = size == least && equals > 0;
        equals -= equal;
        x[i] = size > least || equal ? x[i] : 0.0f;
    }
}

PD_INLINE void pd_shrink(float *restrict x, int64_t n, float threshold)
{
    int any = 0;
    int64_t top = 0;
    uint32_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        any |= fabsf(x[i]) > threshold;
        const uint32_t size = pd_magnitude(x[i]);
        top = size > most ? i : top;
        most = size > most ? size : most;
    }
    /* However strong the penalty, a unit vector has at least one weight: the largest. */
    for (int64_t i = 0; i < n; i++) {
        const float rest = fabsf(x[i]) - threshold;
        if (any)
            x[i] = rest > 0.0f ? copysignf(rest, x[i]) : 0.0f;
        else
            x[i] = i == top ? x[i] : 0.0f;
    }
}

/* Feasible directions near `current + rate * gradient`, where the rate makes each step as long as asked for: restricted
 * to a support, shrunk by a penalty on the squared l1 norm, cut to a level, of unit length. Without a gradient, near the
 * current directions themselves. Returns 1 if there is no memory. */
PD_EXPORT int32_t PD_KERNEL(pd_step)(const float *current, const float *gradient, const double *steps,
                                     int64_t n_columns, int64_t n_features, const int64_t *levels,
                                     const double *penalties, const uint8_t *support, float *result)
{
    uint32_t *counts = malloc(BINS * sizeof *counts);
    uint32_t *inside = malloc((size_t)(n_features + 1) * sizeof *inside);
    const int failed = !counts || !inside;
    for (int64_t c = 0; c < n_columns && !failed; c++) {
        const float *restrict from = current + c * n_features;
        float *restrict to = result + c * n_features;
        double rate = 0.0;
        if (gradient) {
            const float *restrict slope = gradient + c * n_features;
            const double length = sqrt(pd_sum_of_squares(slope, n_features));
            rate = steps[c] / (length > 0.0 ? length : 1.0);
            const float along = (float)rate;
            if (rate < LARGE)
                for (int64_t i = 0; i < n_features; i++)
                    to[i] = from[i] + along * slope[i];
            else
                for (int64_t i = 0; i < n_features; i++)
                    to[i] = (float)((double)from[i] + rate * (double)slope[i]);
        } else
            memcpy(to, from, (size_t)n_features * sizeof *to);
        if (support)
            for (int64_t i = 0; i < n_features; i++)
                to[i] = support[c * n_features + i] ? to[i] : 0.0f;
        if (penalties && gradient) {
            double size = 0.0;
            for (int64_t i = 0; i < n_features; i++)
                size += (double)fabsf(from[i]);
            pd_shrink(to, n_features, (float)(2.0 * rate * penalties[c] * size));
        }
        pd_keep_largest(to, n_features, levels[c], counts, inside);
        const double length = sqrt(pd_sum_of_squares(to, n_features));
        const float unit = (float)(length > 0.0 ? length : 1.0);
        if (length == 0.0 || length > 1.0 / LARGE)
            for (int64_t i = 0; i < n_features; i++)
                to[i] /= unit;
        else
            for (int64_t i = 0; i < n_features; i++)
                to[i] = (float)((double)to[i] / length);
    }
    free(counts);
    free(inside);
    return failed;
}

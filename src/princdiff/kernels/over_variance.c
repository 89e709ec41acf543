/* A divergence over the variance along the direction: values and slopes of the quotient, from those of the base. */
#include <float.h>
#include <math.h>

#include "kernels.h"

enum { PARTS = 16 };

/* What row i counts: its weight (1 without weights), nothing if it is held out. Without codes, no row is. */
PD_INLINE double pd_weight(const uint8_t *own, int64_t n_groups, const double *weights, int64_t i)
{
    return own && own[i] >= n_groups ? 0.0 : weights ? weights[i] : 1.0;
}

/* In a fixed order, whatever the processor. */
PD_INLINE double pd_total(const double *sums)
{
    double total = 0.0;
    for (int64_t k = 0; k < PARTS; k++)
        total += sums[k];
    return total;
}

/* Weight of all rows, sum and sum of squares of their distances from an origin. */
PD_INLINE void pd_moments(const float *restrict x, int64_t n_rows, const uint8_t *restrict own, int64_t n_groups,
                          const double *restrict weights, double origin, double *moments)
{
    double mass[PARTS] = {0.0}, first[PARTS] = {0.0}, second[PARTS] = {0.0};
    int64_t start = 0;
    for (; start + PARTS <= n_rows; start += PARTS)
        for (int64_t k = 0; k < PARTS; k++) {
            const double weight = pd_weight(own, n_groups, weights, start + k);
            const double away = (double)x[start + k] - origin;
            mass[k] += weight;
            first[k] += weight * away;
            second[k] += weight * away * away;
        }
    for (int64_t k = 0; start + k < n_rows; k++) {
        const double weight = pd_weight(own, n_groups, weights, start + k);
        const double away = (double)x[start + k] - origin;
        mass[k] += weight;
        first[k] += weight * away;
        second[k] += weight * away * away;
    }
    moments[0] = pd_total(mass);
    moments[1] = pd_total(first);
    moments[2] = pd_total(second);
}

/* One column; inlined for columns with and without weights and rows held out. */
PD_INLINE void pd_quotient(const float *restrict x, int64_t n_rows, const uint8_t *restrict own, int64_t n_groups,
                           const double *restrict weights, const double *denominator_of, double *value,
                           float *restrict slope)
{
    const double shrinkage = denominator_of[0], typical = denominator_of[1], degree = denominator_of[2];
    /* Around zero, where centred rows are; again around the mean if that is far off. */
    double m[3];
    pd_moments(x, n_rows, own, n_groups, weights, 0.0, m);
    const double mean = m[1] / m[0];
    double variance = m[2] / m[0] - mean * mean;
    if (!(variance > 1e-6 * (m[2] / m[0]))) {
        pd_moments(x, n_rows, own, n_groups, weights, mean, m);
        variance = m[2] / m[0];
    }
    double denominator = (1.0 - shrinkage) * variance + shrinkage * typical;
    denominator = denominator > FLT_MIN ? denominator : FLT_MIN;
    const double power = degree == 2.0 ? denominator : pow(denominator, 0.5 * degree);
    const double rate = degree * (1.0 - shrinkage) * *value / denominator / m[0];
    *value /= power;
    if (!slope)
        return;
    const float centre = (float)mean, along = (float)(rate / power), inverse = (float)(1.0 / power);
    for (int64_t i = 0; i < n_rows; i++)
        slope[i] = slope[i] * inverse - (x[i] - centre) * (along * (float)pd_weight(own, n_groups, weights, i));
}

/* values, and slopes unless null, are those of the base and become those of the quotient
 *     base / ((1 - shrinkage) * variance + shrinkage * typical) ** (degree / 2),
 * where the three numbers are those of denominator. In each column n_inside rows are not held out. */
PD_EXPORT void PD_KERNEL(pd_over_variance)(const float *projections, int64_t n_columns, int64_t n_rows,
                                           const uint8_t *codes, const int64_t *labelling, int64_t n_inside,
                                           int64_t n_groups, const double *weights, const double *denominator,
                                           double *values, float *slopes)
{
    for (int64_t c = 0; c < n_columns; c++) {
        const float *x = projections + c * n_rows;
        const uint8_t *own = codes + labelling[c] * n_rows;
        float *slope = slopes ? slopes + c * n_rows : NULL;
        if (weights)
            pd_quotient(x, n_rows, own, n_groups, weights, denominator, values + c, slope);
        else if (n_inside < n_rows)
            pd_quotient(x, n_rows, own, n_groups, NULL, denominator, values + c, slope);
        else
            pd_quotient(x, n_rows, NULL, n_groups, NULL, denominator, values + c, slope);
    }
}

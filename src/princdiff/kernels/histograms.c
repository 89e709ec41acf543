/* Divergences of two groups from histograms of many rows: one pass for the moments, one for the counts, no sort. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

/* Rows whose cells are computed before they are counted, and histograms that are counted into in turn: an addition to a
 * cell would wait for the one before it, if that was to the same cell. */
enum { PARTS = 16, BLOCK = 512, TURNS = 4 };

PD_INLINE double pd_total(const double *sums)
{
    double total = 0.0;
    for (int64_t k = 0; k < PARTS; k++)
        total += sums[k];
    return total;
}

/* Mean of the rows and of the squares of their distances from an origin. */
PD_INLINE void pd_moments(const float *restrict x, int64_t n_rows, double origin, double *mean, double *square)
{
    double first[PARTS] = {0.0}, second[PARTS] = {0.0};
    int64_t i = 0;
    for (; i + PARTS <= n_rows; i += PARTS)
        for (int64_t k = 0; k < PARTS; k++) {
            const double away = (double)x[i + k] - origin;
            first[k] += away;
            second[k] += away * away;
        }
    for (int64_t k = 0; i + k < n_rows; k++) {
        const double away = (double)x[i + k] - origin;
        first[k] += away;
        second[k] += away * away;
    }
    *mean = origin + pd_total(first) / (double)n_rows;
    *square = pd_total(second) / (double)n_rows;
}

/* Cells of up to BLOCK rows, those of the second group after all those of the first. */
PD_INLINE void pd_cells(const float *restrict x, const uint8_t *restrict own, int64_t count, float lowest, float rate,
                        int32_t n_cells, uint32_t *restrict cells)
{
    const float last = (float)(n_cells - 1);
    for (int64_t i = 0; i < count; i++) {
        float place = (x[i] - lowest) * rate;
        place = place > 0.0f ? place : 0.0f;
        place = place < last ? place : last;
        cells[i] = (uint32_t)(int32_t)place + (own[i] == 1 ? (uint32_t)n_cells : 0u);
    }
}

/* 2 * integral of the squared difference of two distribution functions on the whole numbers. */
PD_INLINE double pd_energy_of(const double *restrict first, const double *restrict second, int64_t n_cells)
{
    double total = 0.0;
    for (int64_t i = 0; i < n_cells; i++)
        total += (first[i] - second[i]) * (first[i] - second[i]);
    return 2.0 * total;
}

/* Squared 2-Wasserstein distance of two distribution functions on the whole numbers: both are climbed together. */
PD_INLINE double pd_squared_of(const double *restrict first, const double *restrict second, int64_t n_cells)
{
    double total = 0.0, reached = 0.0;
    int64_t i = 0, j = 0;
    while (i < n_cells && j < n_cells) {
        const double next = first[i] < second[j] ? first[i] : second[j];
        if (next > reached) {
            total += (next - reached) * (double)((i - j) * (i - j));
            reached = next;
        }
        /* Both advance where they end together; otherwise the one that ends. */
        const int left = first[i] <= next, right = second[j] <= next;
        i += left;
        j += right;
    }
    return total;
}

/* Adds the rows of a column to the histograms of its two groups, masses (2, n_cells); counts has room for TURNS of
 * them. */
PD_INLINE void pd_count_rows(const float *restrict x, const uint8_t *restrict own, const double *weights, int64_t n_rows,
                             float lowest, float rate, int64_t n_cells, uint32_t *restrict counts,
                             double *restrict masses)
{
    uint32_t cells[BLOCK];
    memset(counts, 0, (size_t)(TURNS * 2 * n_cells) * sizeof *counts);
    for (int64_t start = 0; start < n_rows; start += BLOCK) {
        const int64_t count = n_rows - start < BLOCK ? n_rows - start : BLOCK;
        pd_cells(x + start, own + start, count, lowest, rate, (int32_t)n_cells, cells);
        if (weights)
            for (int64_t i = 0; i < count; i++)
                masses[cells[i]] += weights[start + i];
        else
            for (int64_t i = 0; i < count; i++)
                counts[(i % TURNS) * 2 * n_cells + cells[i]]++;
    }
    if (!weights)
        for (int64_t turn = 0; turn < TURNS; turn++)
            for (int64_t k = 0; k < 2 * n_cells; k++)
                masses[k] += (double)counts[turn * 2 * n_cells + k];
}

/* The squared 2-Wasserstein (squared) or energy distance of two groups, each column on a grid of n_cells cells over
 * `reach` standard deviations to both sides of its mean; rows beyond count in the outermost cells. Returns 1 if there
 * is no memory. */
PD_EXPORT int32_t PD_KERNEL(pd_histogram_distance)(const float *projections, int64_t n_columns, int64_t n_rows,
                                                   const uint8_t *codes, const int64_t *labelling,
                                                   const double *weights, int64_t n_cells, double reach,
                                                   int64_t squared, double *values)
{
    uint32_t *counts = malloc((size_t)(TURNS * 2 * n_cells) * sizeof *counts);
    double *masses = malloc((size_t)(2 * n_cells) * sizeof *masses);
    const int failed = !counts || !masses;
    for (int64_t c = 0; c < n_columns && !failed; c++) {
        const float *restrict x = projections + c * n_rows;
        const uint8_t *restrict own = codes + labelling[c] * n_rows;
        double mean, square;
        pd_moments(x, n_rows, 0.0, &mean, &square);
        double variance = square - mean * mean;
        if (!(variance > 1e-6 * square)) {
            const double origin = mean;
            pd_moments(x, n_rows, origin, &mean, &square);
            variance = square - (mean - origin) * (mean - origin);
        }
        const double spread = sqrt(variance > 0.0 ? variance : 0.0);
        values[c] = 0.0;
        if (!(spread > 0.0))
            continue;
        const double width = 2.0 * reach * spread / (double)n_cells;
        const float lowest = (float)(mean - reach * spread), rate = (float)(1.0 / width);
        for (int64_t k = 0; k < 2 * n_cells; k++)
            masses[k] = 0.0;
        pd_count_rows(x, own, weights, n_rows, lowest, rate, n_cells, counts, masses);
        for (int64_t group = 0; group < 2; group++) {
            double *restrict mass = masses + group * n_cells;
            for (int64_t k = 1; k < n_cells; k++)
                mass[k] += mass[k - 1];
            const double total = mass[n_cells - 1];
            for (int64_t k = 0; k < n_cells; k++)
                mass[k] /= total;
        }
        if (squared)
            values[c] = width * width * pd_squared_of(masses, masses + n_cells, n_cells);
        else
            values[c] = width * pd_energy_of(masses, masses + n_cells, n_cells);
    }
    free(counts);
    free(masses);
    return failed;
}

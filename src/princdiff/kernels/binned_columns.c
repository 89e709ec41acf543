/* A column of numbers in one pass: bins counted by unit, sums, and what the bin of each row is worth. */
#include <math.h>

#include "kernels.h"

/* Bounds of bins are padded to this many, so that every search takes the same steps without a branch. */
enum { BOUNDS = 64 };

/* values (n): a column, NaN where missing. bounds (BOUNDS), ascending, padded with infinity. n_bins: bins, without that
 * of gaps, which is the last. scores (n_bins + 1): what each bin is worth. unit (n): the unit of each row. place (n):
 * where the row stands in worth. counts (n_units, n_bins + 1), sums (n_units, 2): sums of the values, less centre and
 * over scale, and of their squares. worth (n). Returns 1 at the first value that is infinite. */
PD_EXPORT int32_t PD_KERNEL(pd_binned_column)(const double *values, int64_t n, const double *bounds, int64_t n_bins,
                                              const float *scores, const int32_t *unit, const int64_t *place,
                                              double centre, double scale, int64_t *counts, double *sums, float *worth)
{
    for (int64_t i = 0; i < n; i++) {
        const double value = values[i];
        int64_t bin = n_bins;
        /* Among the bounds that are padding it would find a bin that is not there. */
        if (isinf(value))
            return 1;
        if (!isnan(value)) {
            bin = 0;
            for (int64_t step = BOUNDS / 2; step > 0; step /= 2)
                bin += bounds[bin + step - 1] <= value ? step : 0;
            const double scaled = (value - centre) / scale;
            sums[unit[i] * 2] += scaled;
            sums[unit[i] * 2 + 1] += scaled * scaled;
        }
        counts[unit[i] * (n_bins + 1) + bin]++;
        worth[place[i]] = scores[bin];
    }
    return 0;
}

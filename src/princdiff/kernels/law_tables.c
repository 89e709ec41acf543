/* Scores read off tables: heights at knots, interpolated, halved squares of which are the scores.
 *
 * The same as Law.scores of princdiff/statistics/laws.py, which explains why. */
#include "kernels.h"

/* Columns whose tables stay in the cache while labellings pass. */
enum { WIDTH = 16 };

static double height_at(double value, const double *knots, const double *heights, int64_t count)
{
    const double first = knots[0], last = knots[count - 1];
    if (value >= last)
        return last > 0.0 ? heights[count - 1] * (value / last) : heights[count - 1];
    if (value <= first)
        return first < 0.0 ? heights[0] * (value / first) : heights[0];
    int64_t low = 0, high = count - 1;
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        if (knots[middle] <= value)
            low = middle;
        else
            high = middle;
    }
    const double part = (value - knots[low]) / (knots[high] - knots[low]);
    return heights[low] + part * (heights[high] - heights[low]);
}

/* statistics and scores (n_labellings, n_columns); knots and heights (n_columns, n_knots). */
PD_EXPORT void PD_KERNEL(pd_law_scores)(const double *statistics, int64_t n_labellings, int64_t n_columns,
                                        const double *knots, const double *heights, int64_t n_knots, float *scores)
{
    for (int64_t start = 0; start < n_columns; start += WIDTH) {
        const int64_t until = start + WIDTH < n_columns ? start + WIDTH : n_columns;
        for (int64_t l = 0; l < n_labellings; l++)
            for (int64_t j = start; j < until; j++) {
                const double height =
                    height_at(statistics[l * n_columns + j], knots + j * n_knots, heights + j * n_knots, n_knots);
                scores[l * n_columns + j] = (float)(0.5 * height * height);
            }
    }
}

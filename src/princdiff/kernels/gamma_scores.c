/* Comparable scores: -log of the survival function of a gamma law, whose moments leave out what is scored.
 *
 * The same as princdiff/statistics/scores.py, which explains why; here without temporaries. Columns are
 * taken a few at a time, so that the passes over the labellings stay in the cache. */
#include <math.h>
#include <stdlib.h>

#include "kernels.h"

#define WIDTH 16
/* Below this skewness the law is normal; the same number as in scores.py. */
#define STRAIGHT 1e-3
#define MOST_TERMS 100000
#define PRECISION 1e-9

/* Logarithm of the gamma function for positive arguments. Not lgamma of the C library, which writes a global. */
static double log_gamma(double a)
{
    double product = 1.0;
    while (a < 8.0) {
        product *= a;
        a += 1.0;
    }
    double inverse = 1.0 / a, square = inverse * inverse;
    double series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square *
                    (1.0 / 1680.0 - square * (1.0 / 1188.0 - square * 691.0 / 360360.0)))));
    return (a - 0.5) * log(a) - a + 0.91893853320467274178 + series - log(product);
}

/* -log of the upper incomplete gamma function, regularised. */
static double upper_gamma_score(double a, double x)
{
    if (x <= 0.0)
        return 0.0;
    double front = a * log(x) - x;
    if (x < a + 1.0 || (a < 1.0 && x < 3.0)) {
        /* P(a, x) = x^a e^-x / Gamma(a + 1) (1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ...) */
        double term = 1.0, total = 1.0, n = a;
        for (int i = 0; i < MOST_TERMS && term > PRECISION * total; i++) {
            n += 1.0;
            term *= x / n;
            total += term;
        }
        double lower = exp(front - log_gamma(a + 1.0)) * total;
        return lower < 1.0 ? -log1p(-lower) : 36.0;
    }
    /* Continued fraction, by the method of Lentz. */
    double b = x + 1.0 - a, c = 1e300, d = 1.0 / b, fraction = d;
    for (int i = 1; i < MOST_TERMS; i++) {
        double step = -i * (i - a);
        b += 2.0;
        d = step * d + b;
        d = fabs(d) < 1e-300 ? 1e300 : 1.0 / d;
        c = b + step / c;
        c = fabs(c) < 1e-300 ? 1e-300 : c;
        double change = d * c;
        fraction *= change;
        if (fabs(change - 1.0) < PRECISION)
            break;
    }
    return log_gamma(a) - front - log(fraction);
}

/* -log of the upper tail of the normal law. */
static double normal_score(double z)
{
    if (z < 30.0)
        return -log(0.5 * erfc(z * 0.70710678118654752440));
    double square = 1.0 / (z * z);
    return 0.5 * z * z + log(z) + 0.91893853320467274178 - log1p(-square * (1.0 - square * (3.0 - 15.0 * square)));
}

static double survival_score(double z, double skewness)
{
    if (skewness < STRAIGHT)
        return normal_score(z);
    double a = 4.0 / (skewness * skewness);
    return upper_gamma_score(a, a + z * sqrt(a));
}

/* For tests. */
PD_EXPORT void PD_KERNEL(pd_survival_scores)(const double *z, const double *skewness, int64_t count, double *scores)
{
    for (int64_t i = 0; i < count; i++)
        scores[i] = survival_score(z[i], skewness[i]);
}

typedef struct {
    double mean[WIDTH];   /* without the farthest value */
    double scale[WIDTH];  /* standard deviation without it */
    double square[WIDTH], cube[WIDTH], first[WIDTH];
    double far[WIDTH];    /* the farthest value, centred and scaled */
    int64_t place[WIDTH]; /* which labelling has it */
    double centre[WIDTH], bar[WIDTH];
    int usable[WIDTH];
} Moments;

/* Moments of WIDTH columns that lie side by side. */
static void moments_of(const float *values, int64_t rows, double above, double rounding, Moments *m)
{
    double sum[WIDTH] = {0}, low[WIDTH], high[WIDTH], bad[WIDTH] = {0};
    for (int j = 0; j < WIDTH; j++)
        low[j] = high[j] = values[j];
    for (int64_t i = 0; i < rows; i++) {
        const float *row = values + i * WIDTH;
        for (int j = 0; j < WIDTH; j++) {
            double x = row[j];
            sum[j] += x;
            bad[j] += x - x; /* NaN for what is not finite */
            low[j] = x < low[j] ? x : low[j];
            high[j] = x > high[j] ? x : high[j];
        }
    }
    double count = (double)(rows - 1);
    for (int j = 0; j < WIDTH; j++) {
        double size = high[j] > -low[j] ? high[j] : -low[j];
        m->usable[j] = bad[j] == 0.0 && high[j] > low[j] && high[j] - low[j] > rounding * size;
        m->centre[j] = sum[j] / (double)rows;
        m->far[j] = -1.0;
        m->place[j] = 0;
    }
    for (int64_t i = 0; i < rows; i++) {
        const float *row = values + i * WIDTH;
        for (int j = 0; j < WIDTH; j++) {
            double away = fabs(row[j] - m->centre[j]);
            int larger = away > m->far[j];
            m->far[j] = larger ? away : m->far[j];
            m->place[j] = larger ? i : m->place[j];
        }
    }
    double first[WIDTH] = {0}, square[WIDTH] = {0}, cube[WIDTH] = {0};
    for (int j = 0; j < WIDTH; j++) {
        m->far[j] = values[m->place[j] * WIDTH + j];
        m->mean[j] = (sum[j] - m->far[j]) / count;
    }
    for (int64_t i = 0; i < rows; i++) {
        const float *row = values + i * WIDTH;
        for (int j = 0; j < WIDTH; j++) {
            double x = row[j] - m->mean[j];
            x = m->place[j] == i ? 0.0 : x;
            first[j] += x;
            square[j] += x * x;
            cube[j] += x * x * x;
        }
    }
    for (int j = 0; j < WIDTH; j++) {
        double far = m->far[j] - m->mean[j], scale = sqrt(square[j] / count);
        scale = scale > 0.0 ? scale : far != 0.0 ? fabs(far) : 1.0;
        /* Spread over all values, about their mean. */
        double all = square[j] + far * far * count / (double)rows;
        m->bar[j] = above * sqrt(all / (double)rows);
        m->scale[j] = scale;
        m->far[j] = far / scale;
        m->first[j] = first[j] / scale;
        m->square[j] = square[j] / (scale * scale);
        m->cube[j] = cube[j] / (scale * scale * scale);
    }
}

/* A moment drawn towards the one expected, as far as noise may have taken it away; NaN expects nothing. */
static double shrunk(double found, double prior, double noise)
{
    double away = found - prior, square = away * away;
    if (isnan(prior))
        return found;
    return square > noise ? prior + away * (1.0 - noise / square) : prior;
}

/* What is expected of the moments of a column, and squared deviations from it that count as noise. */
typedef struct {
    double mean, spread, skewness;
    double mean_noise, spread_noise, skewness_noise;
} Expected;

/* Variance of the skewness of a sample from a gamma law, to first order. */
static double variance_of_skewness(double g, double count)
{
    double g2 = g * g, fourth = 3.0 + 1.5 * g2, fifth = g * (10.0 + 3.0 * g2);
    double sixth = 15.0 + 32.5 * g2 + 7.5 * g2 * g2;
    return (sixth - 6.0 * fourth + 9.0 + g2 * (9.0 * fourth + 35.0) / 4.0 - 3.0 * g * fifth) / count;
}

static Expected expected_moments(double mean, double skewness, double count)
{
    double spread = mean * skewness / 2.0, shrinkage = isnan(mean) ? 2.0 : 6.0;
    double mean_noise = shrinkage * spread * spread / count;
    double spread_noise = mean_noise * (2.0 + 1.5 * skewness * skewness) / 4.0;
    return (Expected){mean, spread, skewness, mean_noise, spread_noise, shrinkage * variance_of_skewness(skewness, count)};
}

static float score_of(double value, int64_t i, int j, const Moments *m, double count, double most,
                      const Expected *e)
{
    double own = (value - m->mean[j]) / m->scale[j];
    double first = m->first[j], second = m->square[j], third = m->cube[j];
    if (i != m->place[j]) {
        double far = m->far[j];
        first += far - own;
        second += far * far - own * own;
        third += far * far * far - own * own * own;
    }
    first /= count;
    second /= count;
    third /= count;
    double variance = second - first * first;
    double away = own - first;
    if (!(variance > 1e-18 * most * most) || !(variance > 0.0))
        return away > 0.0 ? (float)log(count + 1.0) : 0.0f;
    double spread = sqrt(variance);
    double skewness = (third + first * (2.0 * first * first - 3.0 * second)) / (variance * spread);
    skewness = shrunk(skewness, e->skewness, e->skewness_noise);
    if (isnan(e->mean))
        return (float)survival_score(away / spread, skewness);
    double mean = shrunk(m->mean[j] + m->scale[j] * first, e->mean, e->mean_noise);
    return (float)survival_score((value - mean) / shrunk(m->scale[j] * spread, e->spread, e->spread_noise),
                                 skewness);
}

/* Scores of a table of `rows` labellings and `columns` statistics. Only values more than `above` standard
 * deviations above the mean are scored, the others get zero; statistics whose range is within `rounding` times
 * their size are constants, and get zero. `prior` and `mean` are the skewness and the mean to expect of each
 * column, or NaN. `scores` may be the same array as `statistics`. Returns 0 where there is no memory. */
PD_EXPORT int32_t PD_KERNEL(pd_gamma_scores)(const float *statistics, int64_t rows, int64_t columns, double above,
                                             double rounding, const double *prior, const double *mean, float *scores)
{
    int everything = above < -1e30;
    double count = (double)(rows - 1);
    /* A few columns side by side: read from the table once, they stay in the cache for all passes. */
    float *buffer = malloc((size_t)rows * WIDTH * sizeof(float));
    if (buffer == NULL)
        return 0;
    for (int64_t start = 0; start < columns; start += WIDTH) {
        int width = columns - start < WIDTH ? (int)(columns - start) : WIDTH;
        for (int64_t i = 0; i < rows; i++)
            for (int j = 0; j < WIDTH; j++)
                buffer[i * WIDTH + j] = j < width ? statistics[i * columns + start + j] : 0.0f;
        Moments m;
        moments_of(buffer, rows, everything ? 0.0 : above, rounding, &m);
        double most[WIDTH];
        Expected expected[WIDTH];
        for (int j = 0; j < width; j++) {
            double far = fabs(m.far[j]);
            most[j] = far > 1.0 ? far : 1.0;
            expected[j] = expected_moments(mean[start + j], prior[start + j], count);
        }
        for (int64_t i = 0; i < rows; i++) {
            const float *row = buffer + i * WIDTH;
            float *out = scores + start + i * columns;
            for (int j = 0; j < width; j++) {
                double value = row[j];
                int wanted = m.usable[j] && (everything || value - m.centre[j] > m.bar[j]);
                out[j] = wanted ? score_of(value, i, j, &m, count, most[j], &expected[j]) : 0.0f;
            }
        }
    }
    free(buffer);
    return 1;
}

/* Sums of columns over the rows of a group, for many labellings at once.
 *
 * A labelling is a bit a row. What four rows can add to a sum is one of sixteen numbers: these are computed once and
 * looked up for every labelling, so that a labelling costs a quarter of the additions of a matrix product, and its
 * memberships an eighth of a byte a row. Sums of a few thousand rows are in single precision, those of all in double.
 */
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

/* Columns side by side; rows of a word, of a nibble, of a part that is summed in single precision; labellings whose
 * sums stay in the cache. */
enum { WIDTH = 16, WORD = 32, NIBBLE = 4, TABLES = WORD / NIBBLE, ENTRIES = 16, PART = 8192, TOGETHER = 512, LINE = 64 };

#if defined(__GNUC__)
/* Written out: the compiler would take the columns one by one. */
typedef float pd_sixteen __attribute__((vector_size(64), aligned(4), may_alias));
#define PD_LOAD(from) (*(const pd_sixteen *)(from))
#define PD_STORE(to, value) (*(pd_sixteen *)(to) = (value))
#else
#error "the kernels need a compiler with vectors of a given size: gcc or clang"
#endif

/* What the rows of a nibble, given by its bits, add: table[bits][column]. The first row is the highest bit. */
PD_INLINE void pd_make_table(const float *rows, float *table)
{
    const pd_sixteen zero = {0.0f};
    PD_STORE(table, zero);
    for (int64_t row = 0; row < NIBBLE; row++) {
        const int64_t bit = (int64_t)1 << row;
        /* The row whose bit this is, added to all sums of lower bits. */
        const pd_sixteen own = PD_LOAD(rows + (NIBBLE - 1 - row) * WIDTH);
        for (int64_t entry = 0; entry < bit; entry++)
            PD_STORE(table + (bit + entry) * WIDTH, PD_LOAD(table + entry * WIDTH) + own);
    }
}

/* Up to WORD rows and WIDTH columns, side by side; what is missing is zero. */
PD_INLINE void pd_take_rows(const float *columns, int64_t n_columns, int64_t n_rows, int64_t count, float *rows)
{
    if (n_rows < WORD || count < WIDTH)
        memset(rows, 0, (size_t)(WORD * WIDTH) * sizeof *rows);
    for (int64_t i = 0; i < n_rows; i++)
        if (count == WIDTH)
            PD_STORE(rows + i * WIDTH, PD_LOAD(columns + i * n_columns));
        else
            memcpy(rows + i * WIDTH, columns + i * n_columns, (size_t)count * sizeof *rows);
}

/* bits (n_labellings, n_bytes), eight rows to a byte, the first row highest; columns (n_rows, n_columns), where n_bytes
 * is n_rows / 8, rounded up. Adds to sums (n_labellings, n_columns). Returns 1 if there is no memory. */
PD_EXPORT int32_t PD_KERNEL(pd_labelled_sums)(const uint8_t *bits, int64_t n_labellings, int64_t n_bytes,
                                              const float *columns, int64_t n_rows, int64_t n_columns, double *sums)
{
    /* From the beginning of a line of the cache on, lest every access touch two of them. */
    void *memory = malloc((size_t)((TOGETHER + TABLES * ENTRIES + WORD) * WIDTH) * sizeof(float) + LINE);
    const int failed = !memory;
    float *part = (float *)(((uintptr_t)memory + LINE - 1) / LINE * LINE);
    float *tables = part + TOGETHER * WIDTH, *rows = tables + TABLES * ENTRIES * WIDTH;
    for (int64_t start = 0; start < n_labellings && !failed; start += TOGETHER) {
        const int64_t together = n_labellings - start < TOGETHER ? n_labellings - start : TOGETHER;
        for (int64_t first = 0; first < n_columns; first += WIDTH) {
            const int64_t count = n_columns - first < WIDTH ? n_columns - first : WIDTH;
            for (int64_t from = 0; from < n_rows; from += PART) {
                const int64_t until = n_rows - from < PART ? n_rows : from + PART;
                memset(part, 0, (size_t)(together * WIDTH) * sizeof *part);
                for (int64_t row = from; row < until; row += WORD) {
                    const int64_t here = until - row < WORD ? until - row : WORD;
                    pd_take_rows(columns + row * n_columns + first, n_columns, here, count, rows);
                    for (int64_t place = 0; place < TABLES; place++)
                        pd_make_table(rows + place * NIBBLE * WIDTH, tables + place * ENTRIES * WIDTH);
                    const int64_t used = (here + 7) / 8;
                    for (int64_t l = 0; l < together; l++) {
                        uint8_t own[WORD / 8] = {0};
                        const uint8_t *from_bits = bits + (start + l) * n_bytes + row / 8;
                        if (used == WORD / 8)
                            memcpy(own, from_bits, WORD / 8);
                        else
                            memcpy(own, from_bits, (size_t)used);
                        float *sum = part + l * WIDTH;
                        pd_sixteen even = PD_LOAD(sum), odd = {0.0f};
                        for (int64_t byte = 0; byte < WORD / 8; byte++) {
                            even += PD_LOAD(tables + ((2 * byte) * ENTRIES + (own[byte] >> 4)) * WIDTH);
                            odd += PD_LOAD(tables + ((2 * byte + 1) * ENTRIES + (own[byte] & 15)) * WIDTH);
                        }
                        PD_STORE(sum, even + odd);
                    }
                }
                for (int64_t l = 0; l < together; l++)
                    for (int64_t k = 0; k < count; k++)
                        sums[(start + l) * n_columns + first + k] += (double)part[l * WIDTH + k];
            }
        }
    }
    free(memory);
    return failed;
}

/* A sparse matrix in compressed rows (or columns) times a few dense columns, and its transpose times a few.
 *
 * Sixteen columns (or eight) are taken at a time, side by side, so that an entry of the matrix meets them all in a few
 * registers. Sums are in the precision of the data and in a fixed order of the entries.
 */
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

enum { WIDE = 16, NARROW = 8, LINE = 64 };

/* Memory that begins with a line of the cache, lest every access touch two of them; null if there is none. */
static void *pd_lines(size_t size, void **memory)
{
    *memory = malloc(size + LINE);
    return *memory ? (void *)(((uintptr_t)*memory + LINE - 1) / LINE * LINE) : NULL;
}

#define PD_REAL float
#define PD_NAME(name) name##_f32
#include "sparse_products.h"
#undef PD_REAL
#undef PD_NAME

#define PD_REAL double
#define PD_NAME(name) name##_f64
#include "sparse_products.h"
#undef PD_REAL
#undef PD_NAME

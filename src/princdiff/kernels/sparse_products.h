/* A sparse matrix in compressed lines times a few dense columns, in one precision: PD_REAL, in functions that end in
 * PD_NAME. Included once for each by sparse.c. */

/* Columns first ... first + count of (n_columns, n), side by side: (n, width). Missing ones are zero. */
PD_INLINE void PD_NAME(pd_side_by_side)(const PD_REAL *columns, int64_t n, int64_t first, int64_t count, int64_t width,
                                        PD_REAL *restrict packed)
{
    for (int64_t k = 0; k < width; k++)
        if (k < count) {
            const PD_REAL *restrict column = columns + (first + k) * n;
            for (int64_t i = 0; i < n; i++)
                packed[i * width + k] = column[i];
        } else
            for (int64_t i = 0; i < n; i++)
                packed[i * width + k] = 0;
}

PD_INLINE void PD_NAME(pd_apart)(const PD_REAL *packed, int64_t n, int64_t first, int64_t count, int64_t width,
                                 PD_REAL *restrict columns)
{
    for (int64_t k = 0; k < count; k++) {
        PD_REAL *restrict column = columns + (first + k) * n;
        for (int64_t i = 0; i < n; i++)
            column[i] = packed[i * width + k];
    }
}

/* packed (n_minor, width) to result (n_major, width): each major line gathers what its entries point to. */
PD_INLINE void PD_NAME(pd_gather_lines)(const PD_REAL *restrict data, const int32_t *restrict indices,
                                        const int32_t *restrict starts, int64_t n_major,
                                        const PD_REAL *restrict packed, int64_t width, PD_REAL *restrict result)
{
    for (int64_t line = 0; line < n_major; line++) {
        /* Two sums, of every other entry, since an addition waits for the one before it. */
        PD_REAL even[WIDE] = {0}, odd[WIDE] = {0};
        int64_t entry = starts[line];
        for (; entry + 2 <= starts[line + 1]; entry += 2) {
            const PD_REAL first = data[entry], second = data[entry + 1];
            const PD_REAL *restrict one = packed + (int64_t)indices[entry] * width;
            const PD_REAL *restrict two = packed + (int64_t)indices[entry + 1] * width;
            for (int64_t k = 0; k < width; k++)
                even[k] += first * one[k];
            for (int64_t k = 0; k < width; k++)
                odd[k] += second * two[k];
        }
        if (entry < starts[line + 1])
            for (int64_t k = 0; k < width; k++)
                even[k] += data[entry] * packed[(int64_t)indices[entry] * width + k];
        for (int64_t k = 0; k < width; k++)
            result[line * width + k] = even[k] + odd[k];
    }
}

/* packed (n_major, width) to result (n_minor, width): each of the lines named adds to what its entries point to. */
PD_INLINE void PD_NAME(pd_scatter_lines)(const PD_REAL *restrict data, const int32_t *restrict indices,
                                         const int32_t *restrict starts, int64_t n_lines,
                                         const int64_t *restrict lines, const PD_REAL *restrict packed, int64_t width,
                                         PD_REAL *restrict result)
{
    for (int64_t place = 0; place < n_lines; place++) {
        const int64_t line = lines[place];
        PD_REAL own[WIDE];
        for (int64_t k = 0; k < width; k++)
            own[k] = packed[line * width + k];
        for (int64_t entry = starts[line]; entry < starts[line + 1]; entry++) {
            const PD_REAL value = data[entry];
            PD_REAL *restrict other = result + (int64_t)indices[entry] * width;
            /* All are read before any is written: else the compiler takes them one by one. */
            PD_REAL sum[WIDE];
            for (int64_t k = 0; k < width; k++)
                sum[k] = other[k] + value * own[k];
            for (int64_t k = 0; k < width; k++)
                other[k] = sum[k];
        }
    }
}

/* A dense (n_columns, n_minor) times the transpose of the matrix: result (n_columns, n_major). Returns 1 if there is
 * no memory. */
PD_EXPORT int32_t PD_KERNEL(PD_NAME(pd_sparse_gather))(const PD_REAL *data, const int32_t *indices,
                                                       const int32_t *starts, int64_t n_major, int64_t n_minor,
                                                       const PD_REAL *columns, int64_t n_columns, PD_REAL *result)
{
    void *packed_memory;
    PD_REAL *packed = pd_lines((size_t)n_minor * WIDE * sizeof *packed, &packed_memory);
    void *sums_memory;
    PD_REAL *sums = pd_lines((size_t)n_major * WIDE * sizeof *sums, &sums_memory);
    const int failed = !packed || !sums;
    for (int64_t first = 0, count; first < n_columns && !failed; first += count) {
        count = n_columns - first;
        /* The width is written out, so that the compiler knows it in the loops. */
        if (count > NARROW) {
            count = count < WIDE ? count : WIDE;
            PD_NAME(pd_side_by_side)(columns, n_minor, first, count, WIDE, packed);
            PD_NAME(pd_gather_lines)(data, indices, starts, n_major, packed, WIDE, sums);
            PD_NAME(pd_apart)(sums, n_major, first, count, WIDE, result);
        } else {
            PD_NAME(pd_side_by_side)(columns, n_minor, first, count, NARROW, packed);
            PD_NAME(pd_gather_lines)(data, indices, starts, n_major, packed, NARROW, sums);
            PD_NAME(pd_apart)(sums, n_major, first, count, NARROW, result);
        }
    }
    free(packed_memory);
    free(sums_memory);
    return failed;
}

/* A dense (n_columns, n_major) times the matrix: result (n_columns, n_minor). In all lines but those named, the columns
 * are zero. */
PD_EXPORT int32_t PD_KERNEL(PD_NAME(pd_sparse_scatter))(const PD_REAL *data, const int32_t *indices,
                                                        const int32_t *starts, int64_t n_major, int64_t n_minor,
                                                        const int64_t *lines, int64_t n_lines, const PD_REAL *columns,
                                                        int64_t n_columns, PD_REAL *result)
{
    void *packed_memory;
    PD_REAL *packed = pd_lines((size_t)n_major * WIDE * sizeof *packed, &packed_memory);
    void *sums_memory;
    PD_REAL *sums = pd_lines((size_t)n_minor * WIDE * sizeof *sums, &sums_memory);
    const int failed = !packed || !sums;
    for (int64_t first = 0, count; first < n_columns && !failed; first += count) {
        count = n_columns - first;
        const int64_t width = count > NARROW ? WIDE : NARROW;
        count = count < width ? count : width;
        memset(sums, 0, (size_t)(n_minor * width) * sizeof *sums);
        if (width == WIDE) {
            PD_NAME(pd_side_by_side)(columns, n_major, first, count, WIDE, packed);
            PD_NAME(pd_scatter_lines)(data, indices, starts, n_lines, lines, packed, WIDE, sums);
            PD_NAME(pd_apart)(sums, n_minor, first, count, WIDE, result);
        } else {
            PD_NAME(pd_side_by_side)(columns, n_major, first, count, NARROW, packed);
            PD_NAME(pd_scatter_lines)(data, indices, starts, n_lines, lines, packed, NARROW, sums);
            PD_NAME(pd_apart)(sums, n_minor, first, count, NARROW, result);
        }
    }
    free(packed_memory);
    free(sums_memory);
    return failed;
}

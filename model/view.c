/* model/view.c - sorts the feed ids of a view. */
#include "model/view.h"

#include <stdlib.h>

static int by_number(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

    return (a > b) - (a < b);
}

size_t view_ids_sort(int64_t *ids, size_t n)
{
    size_t kept = 0;

    if (n > 0)
        qsort(ids, n, sizeof *ids, by_number);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || ids[i] != ids[kept - 1])
            ids[kept++] = ids[i];
    return kept;
}

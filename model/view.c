/* model/view.c - sorts the feed ids of a view, and finds one among them. */
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

bool view_ids_have(const int64_t *ids, size_t n, int64_t id)
{
    size_t lo = 0, hi = n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (ids[mid] < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n && ids[lo] == id;
}

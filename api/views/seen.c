/* api/views/seen.c - see seen.h. */
#include "api/views/seen.h"

#include "api/views/log_rows.h"

/* The protected feeds of the rows, ascending, each once. */
static size_t protected_of(struct store *s, const struct revision *rows, size_t n, int64_t *out)
{
    int64_t last = 0;
    size_t n_out = 0;

    for (size_t i = 0; i < n; i++) {
        if (rows[i].feed_id != last && !log_feed_is_public(s, rows[i].feed_id))
            out[n_out++] = rows[i].feed_id;
        last = rows[i].feed_id;
    }
    return view_ids_sort(out, n_out);
}

enum rc seen_read(struct store *s, struct sub_book *b, struct reader *r, const struct revision *rows, size_t n,
                  struct arena *a, struct seen *out, struct err *err)
{
    int64_t *ids = ARENA_ARRAY(a, int64_t, n + 1);
    size_t n_ids = protected_of(s, rows, n, ids);
    enum rc rc;

    *out = (struct seen){NULL, 0};
    if (n_ids == 0)
        return RC_OK;
    rc = sub_book_refresh(b, r, err);
    if (rc == RC_OK)
        out->n = sub_book_owners(b, ids, n_ids, a, &out->owners);
    return rc;
}

bool seen_by(const struct caller *c, const struct feed_owner *owners, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (caller_has(c, owners[i].owner))
            return true;
    return false;
}

bool seen_has(const struct seen *seen, struct store *s, const struct caller *c, int64_t feed_id)
{
    size_t n;
    const struct feed_owner *owners = seen_owners(seen, feed_id, &n);

    return log_feed_is_public(s, feed_id) || seen_by(c, owners, n);
}

const struct feed_owner *seen_owners(const struct seen *seen, int64_t feed_id, size_t *n)
{
    size_t lo = 0, hi = seen->n, end;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (seen->owners[mid].feed_id < feed_id)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (end = lo; end < seen->n && seen->owners[end].feed_id == feed_id;)
        end++;
    *n = end - lo;
    return seen->owners + lo;
}

/* api/lists/sub_known.c - see sub_known.h. */
#include "api/lists/sub_known.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "feed/text/json.h"

static int by_feed(const void *x, const void *y)
{
    const struct known_feed *p = x, *q = y;

    if (p->feed_id != q->feed_id)
        return p->feed_id < q->feed_id ? -1 : 1;
    return p->sub_id < q->sub_id ? -1 : p->sub_id > q->sub_id;
}

/* A feed that only a list names is lost when the list drops it. So a caller who asks for that feed gets a
 * subscription of its own. */
static bool counts(const struct caller *caller, const struct subscription *sub)
{
    return str_is_null(sub->endpoint) && sub->list == NULL && caller_has(caller, sub->owner);
}

enum rc sub_known_read(struct reader *r, const struct caller *caller, struct arena *a,
                       struct sub_known *out, struct err *err)
{
    struct subscription *subs;
    size_t n_subs, cap = 0, n = 0;
    enum rc rc = reader_subs(r, NULL, 0, a, &subs, &n_subs, err);

    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < n_subs; i++)
        cap += counts(caller, &subs[i]) ? subs[i].n_feeds : 0;
    out->feeds = ARENA_ARRAY(a, struct known_feed, cap + 1);
    for (size_t i = 0; i < n_subs; i++)
        for (size_t k = 0; counts(caller, &subs[i]) && k < subs[i].n_feeds; k++)
            out->feeds[n++] = (struct known_feed){subs[i].feeds[k].feed_id, subs[i].id, STR_NULL};
    qsort(out->feeds, n, sizeof *out->feeds, by_feed);
    out->n = 0;
    for (size_t i = 0; i < n; i++)
        if (out->n == 0 || out->feeds[out->n - 1].feed_id != out->feeds[i].feed_id)
            out->feeds[out->n++] = out->feeds[i];
    return RC_OK;
}

static const struct known_feed *find(const struct sub_known *all, int64_t feed_id)
{
    for (size_t lo = 0, hi = all->n; lo < hi;) {
        size_t mid = (lo + hi) / 2;

        if (all->feeds[mid].feed_id == feed_id)
            return &all->feeds[mid];
        if (all->feeds[mid].feed_id < feed_id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

void sub_known_split(struct store *s, struct arena *a, const struct sub_known *all,
                     const struct feed_ref *refs, size_t n, struct feed_ref **rest, size_t *n_rest,
                     struct sub_known *known)
{
    *rest = ARENA_ARRAY(a, struct feed_ref, n + 1);
    known->feeds = ARENA_ARRAY(a, struct known_feed, n + 1);
    *n_rest = known->n = 0;
    for (size_t i = 0; i < n; i++) {
        const struct known_feed *found = NULL;
        struct feed_brief brief;

        if (store_find_feed(s, refs[i].url, refs[i].credential, &brief))
            found = find(all, brief.id);
        if (found == NULL) {
            (*rest)[(*n_rest)++] = refs[i];
            continue;
        }
        known->feeds[known->n] = *found;
        known->feeds[known->n++].shown_url = refs[i].shown_url;
    }
}

void sub_known_write(struct buf *out, const struct sub_known *known)
{
    buf_puts(out, ",\"known\":[");
    for (size_t i = 0; i < known->n; i++) {
        buf_puts(out, i > 0 ? ",{\"url\":" : "{\"url\":");
        json_write_text(out, known->feeds[i].shown_url);
        buf_printf(out, ",\"id\":%" PRId64 "}", known->feeds[i].sub_id);
    }
    buf_putc(out, ']');
}

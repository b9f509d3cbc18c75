/* fetcher/stream_rules.c - see stream_rules.h. */
#include "fetcher/stream_rules.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/limits.h"
#include "net/url.h"

#define IDLE_MAX 8 /* pieces without news, unless they may all show known entries */
#define LOOKS_FULL                                                                                 \
    10 /* a piece with so many items may have a next one, even without a link to it */

/* ---- URLs ------------------------------------------------------------------------------------ */

static bool is_ours(struct arena *a, struct str parameter)
{
    static const char *const ours[] = {"since", "max", "timeout"};
    struct str rest = parameter, name = url_decode(a, str_split(&rest, '='), true);

    for (size_t i = 0; i < ARRAY_LEN(ours); i++)
        if (str_eqz(name, ours[i]))
            return true;
    return false;
}

struct str stream_base_url(struct arena *a, struct str url)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    ssize_t at = str_chr(url, '?');
    struct str query;
    char before = '?';

    if (at < 0)
        return url;
    buf_str(&out, str_slice(url, 0, (size_t)at));
    query = str_slice(url, (size_t)at + 1, url.len);
    while (!str_is_null(query)) {
        struct str parameter = str_split(&query, '&');

        if (parameter.len == 0 || is_ours(a, parameter))
            continue;
        buf_putc(&out, before);
        buf_str(&out, parameter);
        before = '&';
    }
    return str_dup(a, buf_view(&out));
}

struct str stream_url_after(struct arena *a, struct str base, struct str cursor, int max)
{
    struct str bare = stream_base_url(a, base), url;

    url = str_printf(a, "%.*s%csince=cursor%%3A%.*s&timeout=0", STR_ARG(bare),
                     str_chr(bare, '?') < 0 ? '?' : '&', STR_ARG(url_encode(a, cursor)));
    if (max > 0)
        url = str_printf(a, "%.*s&max=%d", STR_ARG(url), max);
    return url.len <= LIMIT_URL ? url : STR_NULL;
}

/* Returns the first value of a parameter; null when the URL does not have it. */
static struct str parameter_of(struct arena *a, struct str url, const char *wanted)
{
    ssize_t at = str_chr(url, '?');
    struct str query = at < 0 ? STR_NULL : str_slice(url, (size_t)at + 1, url.len);

    while (!str_is_null(query)) {
        struct str value = str_split(&query, '&'), name = str_split(&value, '=');

        if (str_eqz(url_decode(a, name, true), wanted))
            return str_is_null(value) ? STR("") : url_decode(a, value, true);
    }
    return STR_NULL;
}

bool stream_has_since(struct arena *a, struct str url)
{
    return !str_is_null(parameter_of(a, url, "since"));
}

bool stream_descends(struct arena *a, struct str url)
{
    return str_starts(parameter_of(a, url, "order"), STR("-"));
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static uint64_t hash_of(struct str cursor)
{
    unsigned char hash[16];
    uint64_t n;

    digest_content(cursor, hash);
    memcpy(&n, hash, sizeof n);
    return n;
}

/* Returns true when this cursor was seen before in this job. */
static bool is_repeated(struct stream_state *f, struct str cursor)
{
    uint64_t hash = hash_of(cursor);

    for (int i = 0; i < f->n_seen && i < STREAM_SEEN; i++)
        if (f->seen[i] == hash)
            return true;
    f->seen[f->n_seen++ % STREAM_SEEN] = hash;
    return false;
}

/* Returns true when so many pieces had no news that they cannot all show known entries. */
static bool is_stuck(struct stream_state *f, const struct feed_doc *doc, size_t n, bool has_news)
{
    f->brings_news |= has_news;
    f->n_idle = has_news ? 0 : f->n_idle + 1;
    f->n_idle_items = has_news ? 0 : f->n_idle_items + (n > 0 ? (int64_t)n : 1);
    return f->n_idle >= IDLE_MAX && f->n_idle_items > doc->n_total;
}

/* Returns true when the piece says that there is another one, or does not say that there is none.
 */
static bool leads_on(struct stream_state *f, const struct feed *feed, const struct feed_doc *doc,
                     size_t n)
{
    bool is_first = str_is_null(feed->cursor) || (feed->cursor_state & CURSOR_FIRST) != 0;
    bool is_all = doc->n_total > 0 && (int64_t)n >= doc->n_total;

    f->has_next |= doc->has_next;
    return doc->has_next || (n > 0 && !f->has_next && !is_all && (is_first || n >= LOOKS_FULL));
}

static bool can_follow(struct str url, struct str cursor)
{
    return cursor.len <= STREAM_CURSOR_MAX && url.len + 3 * cursor.len + 64 <= LIMIT_URL;
}

bool stream_place_piece(struct stream_state *f, const struct feed *feed, struct str url,
                        const struct feed_doc *doc, bool has_news, struct doc_piece *out)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    size_t n = doc->n_entries + doc->n_tombstones + doc->n_cut;
    bool fits = can_follow(url, doc->cursor), is_refused = f->ask == STREAM_REFUSED;
    bool advances, stuck;

    *out = (struct doc_piece){.from = feed->cursor,
                              .cursor = STR_NULL,
                              .is_refused = is_refused,
                              .is_lost = is_refused && f->is_lost};
    if (!str_is_null(doc->cursor) && fits && !stream_descends(&a, url))
        out->cursor = doc->cursor;
    advances = out->cursor.len > 0 && !str_eq(out->cursor, feed->cursor);
    /* a piece without items need not have a cursor; a cursor that is too long counts as none */
    if (f->ask == STREAM_AFTER && !advances && (n == 0 || !str_is_null(doc->cursor)))
        out->cursor = feed->cursor;
    if (f->ask == STREAM_CHECK && !has_news) {
        out->cursor = feed->cursor;
        advances = false;
    }
    stuck = is_stuck(f, doc, n, has_news);
    out->more = advances && !is_refused && leads_on(f, feed, doc, n) && !stuck &&
                !is_repeated(f, out->cursor);
    return !str_is_null(out->cursor) || !str_is_null(feed->cursor);
}

bool stream_is_past(const struct feed *feed, const struct doc_piece *piece)
{
    if (piece->is_refused)
        return (feed->cursor_state & CURSOR_REFUSED) == 0;
    return piece->more &&
           (str_is_null(feed->cursor) || (feed->cursor_state & (CURSOR_FIRST | CURSOR_AGAIN)) != 0);
}

enum stream_push stream_place_push(const struct feed *feed, const struct feed_doc *doc,
                                   struct doc_piece *out)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str format = str_printf(&a, "\"version\":\"%.*s\"", STR_ARG(doc->version));

    *out = (struct doc_piece){.from = feed->cursor, .cursor = doc->cursor};
    if (str_is_null(feed->cursor))
        return STREAM_PLAIN;
    if (doc->cursor.len == 0 || !can_follow(feed->url, doc->cursor))
        return STREAM_PULL;
    if (str_eq(doc->cursor, feed->cursor))
        return STREAM_KNOWN;
    /* ids may differ between formats */
    return !str_is_null(doc->prev_cursor) && str_eq(doc->prev_cursor, feed->cursor) &&
                   feed->cursor_state == 0 && str_find(feed->head, format) >= 0
               ? STREAM_TAKE
               : STREAM_PULL;
}

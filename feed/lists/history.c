/* feed/lists/history.c - see history.h. */
#include "feed/lists/history.h"

#include "base/map.h"
#include "feed/text/date.h"
#include "feed/text/iri.h"

struct links { /* the first of each; null: none */
    struct str prev_archive, prev, previous, this, current, next, first, last;
};

static void read_links(const struct value *feed, struct links *out)
{
    const struct value *list = value_getz(feed, "links");
    const struct {
        const char *rel;
        struct str *to;
    } wanted[] = {
        {"prev-archive", &out->prev_archive},
        {"prev", &out->prev},
        {"previous", &out->previous},
        {"this", &out->this},
        {"current", &out->current},
        {"next", &out->next},
        {"first", &out->first},
        {"last", &out->last},
    };

    for (size_t i = 0; i < value_len(list); i++) {
        struct str rel = iri_relation(value_get_textz(value_at(list, i), "rel"));
        struct str href = value_get_textz(value_at(list, i), "href");

        for (size_t k = 0; k < ARRAY_LEN(wanted); k++)
            if (href.len > 0 && str_eqz(rel, wanted[k].rel) && str_is_null(*wanted[k].to))
                *wanted[k].to = href;
    }
}

/* Returns the flag of drafts 0 to 4, under any of its names: 1, 0, or -1 when it is missing. */
static int read_flag(const struct value *feed)
{
    struct str text = value_get_textz(feed, "fh_stateful");

    if (str_is_null(text))
        text = value_get_textz(feed, "fh_incremental");
    text = str_trim(text);
    if (str_eqz(text, "1") || str_ieqz(text, "true"))
        return 1;
    return str_eqz(text, "0") || str_ieqz(text, "false") ? 0 : -1;
}

static bool has_metadata(const struct feed_doc *doc, bool told)
{
    bool is_metadata = false, bare = false;
    size_t n_blank = 0;

    if (doc->family != FAMILY_ATOM)
        return false;
    for (size_t i = 0; i < doc->n_entries; i++) {
        n_blank += doc->entries[i].is_blank;
        is_metadata |= doc->entries[i].is_metadata;
        /* an ordinary feed of links has summaries */
        bare |= doc->entries[i].is_metadata && str_is_null(doc->entries[i].summary);
    }
    if (n_blank > 0 && n_blank == doc->n_entries)
        return told;
    return is_metadata && (told || n_blank > 0 || bare);
}

static void widen(int64_t at, int64_t *oldest, int64_t *newest)
{
    if (at == TIME_UNKNOWN)
        return;
    if (*oldest == TIME_UNKNOWN || at < *oldest)
        *oldest = at;
    if (*newest == TIME_UNKNOWN || at > *newest)
        *newest = at;
}

static void find_span(const struct feed_doc *doc, int64_t *oldest, int64_t *newest)
{
    *oldest = *newest = TIME_UNKNOWN;
    for (size_t i = 0; i < doc->n_entries; i++)
        widen(doc->entries[i].updated_at, oldest, newest);
    for (size_t i = 0; i < doc->n_tombstones; i++)
        widen(doc->tombstones[i].when_at, oldest, newest);
}

void history_read(const struct feed_doc *doc, bool metadata, struct feed_history *out)
{
    struct links links = {.prev_archive = STR_NULL,
                          .prev = STR_NULL,
                          .previous = STR_NULL,
                          .this = STR_NULL,
                          .current = STR_NULL,
                          .next = STR_NULL,
                          .first = STR_NULL,
                          .last = STR_NULL};
    int flag = read_flag(doc->feed);
    struct str named = value_get_textz(doc->feed, "fh_prev");

    read_links(doc->feed, &links);
    *out = (struct feed_history){.older = links.prev_archive,
                                 .current = links.current,
                                 .complete = doc->complete || flag == 0,
                                 .archive = doc->archive};
    if (str_is_null(out->older) && (flag == 1 || !str_is_null(links.this)))
        out->older = !str_is_null(links.prev) ? links.prev : named;
    if (str_is_null(out->older) && !str_is_null(links.current) && str_is_null(links.next) &&
        str_is_null(links.first) && str_is_null(links.last))
        out->older = links.previous;
    if (out->complete)
        out->older = STR_NULL;
    out->metadata =
        metadata || has_metadata(doc, !str_is_null(out->older) || out->archive || out->complete);
    find_span(doc, &out->oldest, &out->newest);
}

/* ---- entries without a date ------------------------------------------------------------------ */

#define FRESH_S 3600 /* a document that is not older than this was made for the request */

static int64_t date_of(const struct doc_entry *e)
{
    return e->updated_at > e->published_at ? e->updated_at : e->published_at;
}

const int64_t *history_dates(struct arena *a, const struct feed_doc *doc, int64_t oldest,
                             int64_t received)
{
    int64_t *dates = ARENA_ARRAY(a, int64_t, doc->n_entries + 1), last = TIME_UNKNOWN;
    int64_t own = date_of_nine(value_getz(doc->feed, "updated_parsed"));

    if (own == TIME_UNKNOWN)
        own = date_of_nine(value_getz(doc->feed, "published_parsed"));
    for (size_t i = 0; i < doc->n_entries; i++) {
        if (date_of(&doc->entries[i]) != TIME_UNKNOWN)
            last = date_of(&doc->entries[i]);
        dates[i] = last;
    }
    for (size_t i = doc->n_entries; i-- > 0;) {
        if (date_of(&doc->entries[i]) != TIME_UNKNOWN)
            last = date_of(&doc->entries[i]);
        if (dates[i] == TIME_UNKNOWN)
            dates[i] = last;
    }
    if (last == TIME_UNKNOWN && own != TIME_UNKNOWN && own < received - FRESH_S)
        last = own;
    if (last == TIME_UNKNOWN)
        last = oldest == TIME_UNKNOWN ? received : oldest - 1;
    for (size_t i = 0; i < doc->n_entries; i++) {
        if (dates[i] == TIME_UNKNOWN)
            dates[i] = last;
        if (dates[i] > received)
            dates[i] = received;
    }
    return dates;
}

/* ---- entries of one id ----------------------------------------------------------------------- */

/* In microseconds; or TIME_UNKNOWN. */
static int64_t updated_us(const struct doc_entry *e)
{
    if (e->updated_at == TIME_UNKNOWN)
        return e->published_at == TIME_UNKNOWN ? TIME_UNKNOWN : e->published_at * 1000000;
    return e->updated_at * 1000000 + date_fraction_us(value_get_textz(e->obj, "updated"));
}

static void add_tombstone(struct arena *a, struct feed_doc *doc, const struct doc_entry *e,
                          size_t *cap)
{
    if (doc->n_tombstones == *cap) {
        size_t grown = *cap * 2 + 8;
        struct doc_tombstone *list = ARENA_ARRAY(a, struct doc_tombstone, grown);

        if (doc->n_tombstones > 0)
            memcpy(list, doc->tombstones, doc->n_tombstones * sizeof *list);
        doc->tombstones = list;
        *cap = grown;
    }
    doc->tombstones[doc->n_tombstones++] =
        (struct doc_tombstone){.ref = e->id,
                               .when_at = updated_us(e) / 1000000,
                               .when_us = updated_us(e) % 1000000,
                               .ext = STR("")};
}

void history_settle(struct arena *a, struct feed_doc *doc, bool metadata)
{
    AUTO(map_forget) struct map best = MAP_INIT;
    bool *keep = ARENA_ARRAY(a, bool, doc->n_entries + 1);
    size_t cap = doc->n_tombstones, n = 0;

    for (size_t i = 0; i < doc->n_entries; i++) {
        struct doc_entry *e = &doc->entries[i], *other;

        if (str_is_null(e->id) || updated_us(e) == TIME_UNKNOWN)
            continue;
        other = map_get(&best, e->id);
        if (other == NULL || updated_us(e) > updated_us(other))
            map_put(&best, e->id, e);
    }
    for (size_t i = 0; i < doc->n_entries; i++) {
        struct doc_entry *e = &doc->entries[i];
        bool dated = !str_is_null(e->id) && updated_us(e) != TIME_UNKNOWN;

        keep[i] = !dated || map_get(&best, e->id) == e;
        if (keep[i] && dated && metadata && e->is_blank) {
            add_tombstone(a, doc, e, &cap);
            keep[i] = false;
        }
    }
    for (size_t i = 0; i < doc->n_entries; i++)
        if (keep[i])
            doc->entries[n++] = doc->entries[i];
    doc->n_entries = n;
}

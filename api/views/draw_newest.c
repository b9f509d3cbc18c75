/* api/views/draw_newest.c - see drawing.h. Documents of newest entries: /feed, /feeds, /opml, and
 * their deliveries. */
#include "api/views/drawing.h"

#include "api/views/feedset.h"
#include "api/views/history.h"
#include "api/views/selflink.h"
#include "base/limits.h"

/* Returns for how many seconds the document is expected to stay the same: the shortest period of
 * its feeds; 0 when no feed has one. The periods of levels are in the spec, so that a cached
 * document is not used after their reload. */
static int64_t ttl_of(const struct document_spec *spec, const struct feed_brief *feeds, size_t n)
{
    const struct levels levels = {{spec->level0_s, spec->level1_s, spec->level2_s}};
    int64_t ttl = 0;

    for (size_t i = 0; i < n; i++) {
        /* what follows from how a feed posts changes without a new version of the document */
        int64_t exact_s = feeds[i].level == LEVEL_EXACT ? feeds[i].period_s : 0;
        int64_t s = levels_period_s(&levels, feeds[i].level, exact_s);

        if (s > 0 && (ttl == 0 || s < ttl))
            ttl = s;
    }
    return ttl;
}

/* A page for browsers names the feeds that show the same, so that a reader finds them from it. */
static void link_feeds(struct drawing *d)
{
    for (int i = 0; i < FORMAT_COUNT_; i++) {
        enum feed_format format = (enum feed_format)i;

        if (format_has(format, FORMAT_IS_OFFERED | FORMAT_IS_XML))
            drawing_add_link_to(
                d, "alternate", format,
                selflink_set(&d->arena, d->doc.self_url, "type", str_from(format_name(format))));
    }
}

static void add_page_link(struct drawing *d, const char *rel, size_t n)
{
    drawing_add_link(
        d, rel, selflink_set(&d->arena, d->doc.self_url, "page", str_printf(&d->arena, "%zu", n)));
}

/* Add the links to other pages (RFC 5005 section 3). The number of pages of a merged or filtered
 * document is not known without reading it. */
static enum rc link_pages(struct drawing *d, struct reader *r, bool more, struct err *err)
{
    const struct document_spec *spec = d->spec;
    size_t last = 0;
    int64_t n = 0;
    enum rc rc = RC_OK;

    if (!spec->merged && spec->view.filter == NULL && spec->view.alike == NULL)
        rc = reader_count(r, spec->view.feed_ids, spec->view.n_feeds, false, &n, err);
    add_page_link(d, "first", 1);
    if (n > 0 && spec->view.len > 0)
        last = ((size_t)n + spec->view.len - 1) / spec->view.len;
    if (spec->page_no > 1) /* after the end, "previous" leads to the last page */
        add_page_link(d, "previous", last > 0 && spec->page_no > last ? last : spec->page_no - 1);
    if (more)
        add_page_link(d, "next", spec->page_no + 1);
    if (last > 0)
        add_page_link(d, "last", last);
    return rc;
}

/* Add a link to the archives, if a reader of both misses nothing: this document has every entry
 * that has changed since the newest full page, and there was no deletion since then that it would
 * miss (ARCH-06). */
static enum rc link_archive(struct drawing *d, struct reader *r, struct err *err)
{
    const struct document_spec *spec = d->spec;
    struct feedset set = {.ids = (int64_t *)(uintptr_t)spec->view.feed_ids,
                          .n = spec->view.n_feeds,
                          .page_size = spec->page_size};
    struct page_set log = {
        .ids = spec->view.feed_ids, .n_ids = spec->view.n_feeds, .size = spec->page_size};
    struct form_page page = {.suffix = format_suffix(spec->view.format)};
    struct err none = ERR_INIT;
    int64_t n, n_deleted, shown = 0, newest = 0;
    struct log_page p;
    enum rc rc;

    if (!format_has(spec->view.format, FORMAT_IS_ARCHIVED))
        return RC_OK;
    rc = reader_page(r, &log, -1, &p, &none);
    if (rc == RC_NOT_FOUND || (rc == RC_OK && p.n == 0))
        return RC_OK;
    if (rc == RC_OK)
        rc = reader_changed_since(r, spec->view.feed_ids, 1, p.first_seq, &n, &n_deleted, err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < d->n_rows; i++)
        shown += d->rows[i].seq >= p.first_seq;
    if (n_deleted > 0 || shown < n)
        return RC_OK;
    page.base =
        str_printf(&d->arena, "%.*s%s/%.*s/", STR_ARG(spec->origin), form_ops(FORM_ARCHIVE)->path,
                   STR_ARG(feedset_write(&d->arena, &set, store_secret(d->store))));
    drawing_add_link(d, "prev-archive",
                     form_page_url(FORM_ARCHIVE, &d->arena, &page, p.n - 1, spec->page_size));
    for (size_t i = 0; i < d->n_rows; i++) /* as in the archives: see draw_pages() */
        newest = d->rows[i].at_us > newest ? d->rows[i].at_us : newest;
    if (newest / 1000000 >= d->doc.updated_at)
        d->doc.updated_us = newest;
    return RC_OK;
}

/* Read the news for a subscriber of a feed's newest entries (D35). In Atom and RSS these are the
 * new and changed entries, newest first; in other formats the whole document, if there is any
 * news. Entries of a feed's first fetch, and entries that a merged document does not show, are not
 * news. */
static enum rc read_newest_news(struct drawing *d, struct reader *r, const struct view *whole,
                                struct err *err)
{
    bool is_xml = format_has(d->spec->view.format, FORMAT_IS_XML);
    enum rc rc = drawing_read_news(d, r, VIEW_MODIFIED, err);
    size_t n = 0;

    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < d->n_rows; i++)
        if (!d->rows[i].initial && (!is_xml || revision_has_entry(&d->rows[i])))
            d->rows[n++] = d->rows[i];
    if (d->spec->merged && !d->spec->view.with_doubles)
        rc = reader_without_doubles(r, d->spec->view.feed_ids, d->spec->view.n_feeds,
                                    d->spec->view.after_seq, d->rows, &n, err);
    if (rc != RC_OK)
        return rc;
    d->n_rows = d->n_new = n;
    d->news_at_us = n > 0 ? d->rows[0].at_us : 0;
    if (is_xml)
        drawing_reverse(d->rows, d->n_rows);
    else if (n > 0)
        rc = reader_rows(r, whole, &d->arena, &d->rows, &d->n_rows, err);
    return rc;
}

/* Has an entry gone that a client may have which knows the document up to view.after_seq? If more
 * has changed than one document shows, it is not looked for, and one may have gone; so may one if
 * retention has taken what would tell it. Where of those alike one is shown, a change of it may show
 * another one, which the client does not have. */
static enum rc has_gone(struct drawing *d, struct reader *r, bool *out, struct err *err)
{
    const struct view *v = &d->spec->view;
    struct view changes = drawing_view(d, VIEW_MODIFIED, v->after_seq, INT64_MAX, LIMIT_LEN);
    struct revision *rows;
    int64_t floor = 0;
    size_t n;
    enum rc rc = history_floor(r, v, &floor, err);

    if (rc != RC_OK)
        return rc;
    if (floor > v->after_seq) {
        *out = true;
        return RC_OK;
    }
    if (v->filter == NULL && v->alike == NULL)
        return reader_deleted_since(r, v->feed_ids, v->n_feeds, v->after_seq + 1, out, err);
    rc = reader_rows(r, &changes, &d->arena, &rows, &n, err);
    if (rc != RC_OK)
        return rc;
    *out = n == LIMIT_LEN;
    for (size_t i = 0; i < n; i++)
        *out |= !revision_has_entry(&rows[i]) ||
                (v->alike != NULL && rows[i].first_seq <= v->after_seq);
    return RC_OK;
}

/* A delta cannot tell that an entry is not there any more. If one has gone, the delta is left
 * without entries, and the client gets the whole document instead (on_no_delta() in pull.c). */
static enum rc keep_delta(struct drawing *d, struct reader *r, struct err *err)
{
    bool gone;
    enum rc rc;

    if (d->n_rows == 0)
        return RC_OK;
    rc = has_gone(d, r, &gone, err);
    if (rc == RC_OK && gone)
        d->n_rows = 0;
    return rc;
}

/* Read the feeds of which the document shows anything: a list shows all of them. */
static enum rc read_feeds(struct drawing *d, struct reader *r, struct err *err)
{
    const struct view *v = &d->spec->view;
    int64_t *ids;

    if (!d->spec->merged || format_has(v->format, FORMAT_IS_LIST))
        return reader_feeds_shown(r, v->feed_ids, v->n_feeds, &d->arena, &d->feeds, &d->n_feeds, err);
    ids = ARENA_ARRAY(&d->arena, int64_t, d->n_rows + 1);
    for (size_t i = 0; i < d->n_rows; i++)
        ids[i] = d->rows[i].feed_id;
    return reader_feeds_shown(r, ids, view_ids_sort(ids, d->n_rows), &d->arena, &d->feeds, &d->n_feeds,
                              err);
}

/* Add what all feeds have to do with the document, whether it shows them or not. */
static void sum_up(struct drawing *d)
{
    for (size_t i = 0; i < d->n_briefs; i++) {
        const struct feed_brief *b = &d->briefs[i];

        if (b->last_change_at > d->modified_at)
            d->modified_at = b->last_change_at;
        d->doc.partial |= b->partial;
    }
    d->doc.ttl_s = ttl_of(d->spec, d->briefs, d->n_briefs);
}

static bool is_delta(const struct drawing *d)
{
    return !drawing_is_delivery(d) && d->spec->view.after_seq > 0;
}

/* Is a delta made of the whole document? The numbers after which it begins are not those that order
 * other views than that by the entries' own dates; and what is alike may have come before. */
static bool picks_news(const struct drawing *d)
{
    return is_delta(d) && (d->spec->view.order != VIEW_NEWEST || d->spec->view.alike != NULL);
}

/* Keep only what came after the state that the client has. */
static void pick_news(struct drawing *d)
{
    size_t n = 0;

    for (size_t i = 0; i < d->n_rows; i++)
        if (d->rows[i].seq > d->spec->view.after_seq)
            d->rows[n++] = d->rows[i];
    d->n_rows = n;
}

enum rc draw_newest(struct drawing *d, struct reader *r, struct err *err)
{
    const struct document_spec *spec = d->spec;
    /* read one row more, to know whether another page follows */
    struct view view = spec->view;
    struct out_doc *doc = &d->doc;
    int64_t newest = TIME_UNKNOWN; /* when the newest of the revisions came */
    enum rc rc = RC_OK;
    bool more;

    if (view.len > 0)
        view.len++;
    if (drawing_is_delivery(d) || picks_news(d))
        view.after_seq = 0;
    if (drawing_is_delivery(d))
        rc = read_newest_news(d, r, &view, err);
    else if (spec->view.len > 0 && spec->view.n_feeds > 0)
        rc = reader_rows(r, &view, &d->arena, &d->rows, &d->n_rows, err);
    if (rc == RC_OK && is_delta(d))
        rc = keep_delta(d, r, err);
    if (rc == RC_OK && spec->view.n_feeds > 0)
        rc = read_feeds(d, r, err);
    if (rc != RC_OK)
        return rc;
    if (!spec->merged && d->n_feeds == 0)
        return err_set(err, RC_NOT_FOUND, "The feed was removed just now.");
    more = d->n_rows > spec->view.len &&
           (!drawing_is_delivery(d) || format_has(spec->view.format, FORMAT_IS_JSON));
    if (more)
        d->n_rows = spec->view.len;
    if (picks_news(d))
        pick_news(d);
    rc = drawing_entries(d, r, err);
    doc->repeats = spec->merged && (spec->view.with_doubles || spec->view.alike != NULL);
    if (rc == RC_OK && doc->repeats)
        rc = drawing_tell_twins_apart(d, r, err);
    if (rc != RC_OK)
        return rc;
    sum_up(d);
    for (size_t i = 0; i < d->n_rows; i++)
        if (d->rows[i].at_us / 1000000 > newest)
            newest = d->rows[i].at_us / 1000000;
    if (newest > d->modified_at)
        d->modified_at = newest;
    doc->self_url = selflink_fill(&d->arena, spec->self, drawing_access_key, d);
    doc->id = spec->id;
    doc->title = spec->title;
    /* never earlier than a date in the document, even if that is in the future. What a filter leaves out does not
     * count: then the document stays the same to the byte, and so do the tags of its copies */
    doc->updated_at = spec->view.filter != NULL ? newest : d->modified_at;
    if (doc->updated_at == TIME_UNKNOWN)
        doc->updated_at = 0;
    for (size_t i = 0; i < d->n_rows; i++)
        if (d->rows[i].updated_at > doc->updated_at)
            doc->updated_at = d->rows[i].updated_at;
    /* a new head changes the document, too; versions are times */
    for (size_t i = 0; i < d->n_briefs; i++)
        if (d->briefs[i].version / 1000000 > d->modified_at)
            d->modified_at = d->briefs[i].version / 1000000;
    /* a feed is complete only if all its entries are shown */
    doc->complete = !spec->merged && spec->view.filter == NULL && !drawing_is_delivery(d) &&
                    d->feeds[0].complete && spec->view.skip == 0 && spec->page_no == 0 &&
                    (int64_t)d->n_rows == d->feeds[0].n_entries;
    if (more && !str_is_null(spec->next))
        doc->next_url = selflink_fill(&d->arena, spec->next, drawing_access_key, d);
    if (format_has(spec->view.format, FORMAT_IS_PAGE))
        link_feeds(d);
    if (spec->page_no > 0)
        return link_pages(d, r, more, err);
    /* a complete document cannot be part of an archived feed (RFC 5005 section 1) */
    return spec->merged || spec->view.filter != NULL || spec->view.skip > 0 ||
                   spec->view.after_seq > 0 || doc->complete
               ? RC_OK
               : link_archive(d, r, err);
}

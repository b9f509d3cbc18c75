/* api/views/draw_pages.c - see drawing.h. Pages of the log: /simple, /archive, /history, /pmh, and
 * their deliveries. */
#include "api/views/drawing.h"

#include <inttypes.h>

#include "api/views/feedset.h"
#include "api/views/selflink.h"
#include "model/filter.h"
#include "model/paths.h"
#include "net/url.h"

/* The lines of a filter's text are parameters, and reading them makes the same filter. */
static void put_filter(struct buf *out, struct arena *a, const struct filter *f)
{
    for (struct str rest = filter_text(f); !str_is_null(rest);) {
        struct str value = str_split(&rest, '\n'), name = str_split(&value, ' ');

        buf_printf(out, "&%.*s=%.*s", STR_ARG(name), STR_ARG(url_encode(a, value)));
    }
}

/* Returns the URL of the entry document: "http://host/archive?url=...". It is made of the first
 * addresses of the feeds, so that it stays the same. */
static struct str entry_url(struct drawing *d, const struct feed *first, size_t n)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    buf_str(&out, d->spec->origin);
    buf_puts(&out, form_ops(d->spec->view.form)->entry_path);
    for (size_t i = 0; i < n; i++) {
        struct str url = first[i].url;
        ssize_t at = str_find(url, STR("://"));
        size_t host = at < 0 ? 0 : (size_t)at + 3;

        buf_puts(&out, i == 0 ? "?url=" : "&url=");
        buf_str(&out, url_encode(&d->arena, str_slice(url, 0, host)));
        if (!str_is_null(first[i].access_key)) {
            buf_str(&out, url_encode(&d->arena, first[i].access_key));
            buf_puts(&out, "%40");
        }
        buf_str(&out, url_encode(&d->arena, str_slice(url, host, url.len)));
    }
    put_filter(&out, &d->arena, d->spec->view.filter);
    if (d->spec->view.format != FORMAT_ATOM) /* Atom is the default */
        buf_printf(&out, "&type=%s", format_name(d->spec->view.format));
    return str_dup(&d->arena, buf_view(&out));
}

/* Returns the id that all documents of a merged or filtered log have. */
static struct str own_id(struct drawing *d)
{
    AUTO(buf_release) struct buf name = BUF_INIT(BUF_ANY);

    buf_str(&name, store_log_id(d->store));
    for (size_t i = 0; i < d->spec->view.n_feeds; i++)
        buf_printf(&name, "\n%" PRId64, d->spec->view.feed_ids[i]);
    if (d->spec->view.filter != NULL)
        buf_printf(&name, "\n\n%.*s", STR_ARG(d->spec->view.filter->text));
    return form_urn(&d->arena, buf_view(&name));
}

/* Add links to the whole entry of a metadata record, in several formats. */
static void add_alternates(struct drawing *d)
{
    size_t n = 0;

    for (size_t i = 0; i < d->n_rows; i++) {
        const struct revision *row = &d->rows[i];
        struct feedset set = {.ids = (int64_t[]){row->feed_id}, .n = 1, .page_size = 1};
        struct out_entry *e = &d->entries[n];
        struct out_link *links;
        struct str word;

        if (drawing_feed(d, row->feed_id) == d->n_feeds)
            continue;
        n++;
        if (e->kind != OUT_METADATA)
            continue;
        word = feedset_write(&d->arena, &set, store_secret(d->store));
        links = ARENA_ARRAY(&d->arena, struct out_link, ENTRY_FORMAT_COUNT_);
        for (int k = 0; k < ENTRY_FORMAT_COUNT_; k++)
            links[k] = (struct out_link){
                .rel = STR("alternate"),
                .type = entry_format_bare_type((enum entry_format)k),
                .href = str_printf(&d->arena, "%.*s" PATH_ITEM "/%.*s/%" PRId64 "%s",
                                   STR_ARG(d->spec->origin), STR_ARG(word), row->seq,
                                   entry_format_suffix((enum entry_format)k))};
        e->links = links;
        e->n_links = ENTRY_FORMAT_COUNT_;
    }
}

/* Read the first rows of a page, newest first. */
static enum rc read_page(struct drawing *d, struct reader *r, struct log_page *p, struct err *err)
{
    const struct document_spec *spec = d->spec;
    struct page_set set = {.ids = spec->view.feed_ids,
                           .n_ids = spec->view.n_feeds,
                           .size = spec->page_size,
                           .filter = spec->view.filter};
    struct view v;
    enum rc rc;

    if (spec->part == PART_STATE && spec->log_rows == 0) {
        *p = (struct log_page){0};
        return RC_OK;
    }
    /* a request has had all of them counted before (archive.c); a delivery comes again for the rest
     * (sink_websub.c) */
    rc = reader_page(r, &set, document_is_entry(spec) ? -1 : spec->log_page, p, err);
    if (rc == RC_GONE &&
        drawing_is_delivery(d)) { /* of a filtered log that has no documents any more */
        *p = (struct log_page){0};
        rc = RC_OK;
    }
    /* the log has no entries, so the document is empty */
    if (rc == RC_NOT_FOUND && (document_is_entry(spec) || spec->log_page == 0)) {
        *p = (struct log_page){0};
        return RC_OK;
    }
    if (rc != RC_OK)
        return rc;
    if (spec->part == PART_STATE && spec->log_rows > p->n_rows)
        return err_set(err, RC_NOT_FOUND, "There is no such document yet.");
    if (drawing_is_delivery(d)) {
        rc = drawing_read_news(d, r, VIEW_LOG, err);
        drawing_reverse(d->rows, d->n_rows);
        return rc;
    }
    v = drawing_view(d, VIEW_LOG, p->first_seq - 1, p->last_seq + 1,
                     spec->part == PART_STATE ? spec->log_rows : p->n_rows);
    rc = reader_rows(r, &v, &d->arena, &d->rows, &d->n_rows, err);
    if (rc == RC_OK && !document_is_entry(spec) && d->n_rows < v.len)
        rc = err_set(err, RC_GONE, "This document was taken away just now, because it was old.");
    if (rc == RC_OK)
        drawing_reverse(d->rows, d->n_rows);
    return rc;
}

/* Read all current metadata records, newest first. */
static enum rc read_current(struct drawing *d, struct reader *r, struct err *err)
{
    struct view v;
    int64_t n;
    enum rc rc = reader_count(r, d->spec->view.feed_ids, d->spec->view.n_feeds, false, &n, err);

    if (rc != RC_OK)
        return rc;
    /* with room for rows that come in the meantime */
    v = drawing_view(d, VIEW_MODIFIED_DESC, 0, INT64_MAX, (size_t)n + 1000);
    v.with_deleted = false;
    return reader_rows(r, &v, &d->arena, &d->rows, &d->n_rows, err);
}

/* A feed without a past is one document without links to others (draft-00 section 3). */
static enum rc find_stateless(struct drawing *d, struct reader *r, bool *stateless, struct err *err)
{
    const struct document_spec *spec = d->spec;
    struct feed *feed;
    size_t n = 0;
    enum rc rc = RC_OK;

    if (spec->view.form == FORM_HISTORY && spec->view.n_feeds == 1 && document_is_entry(spec) &&
        !drawing_is_delivery(d))
        rc = reader_feeds(r, spec->view.feed_ids, 1, &d->arena, &feed, &n, err);
    *stateless = rc == RC_OK && n == 1 && feed[0].complete;
    return rc;
}

/* When several feeds have entries with the same id, only the first entry keeps it for its event,
 * because ids in a log are unique (D10). */
static enum rc tell_events_apart(struct drawing *d, struct reader *r, struct err *err)
{
    const struct view *v = &d->spec->view;
    struct revision *firsts = ARENA_ARRAY(&d->arena, struct revision, d->n_rows + 1);
    size_t *places = ARENA_ARRAY(&d->arena, size_t, d->n_rows + 1), n = 0;
    bool *elders = ARENA_ARRAY(&d->arena, bool, d->n_rows + 1);
    enum rc rc;

    for (size_t i = 0, at = 0; i < d->n_rows; i++) {
        const struct revision *row = &d->rows[i];
        struct out_entry *e = &d->entries[at];

        if (drawing_feed(d, row->feed_id) == d->n_feeds)
            continue;
        if (row->seq == row->first_seq && str_is_null(e->id) &&
            str_eq(out_entry_iri(&d->arena, e), row->uid)) {
            places[n] = at;
            firsts[n++] = *row;
        }
        at++;
    }
    rc = reader_elders(r, v->feed_ids, v->n_feeds, firsts, n, elders, err);
    for (size_t i = 0; i < n && rc == RC_OK; i++)
        if (elders[i])
            form_own_id(&d->arena, &firsts[i], store_log_id(d->store), &d->entries[places[i]]);
    return rc;
}

/* The source of an entry in a merged log is its feed as it was when the entry came; on the newest
 * page, too. An entry that was sent once must not change (Simplefeed, rule 2). */
static enum rc read_sources(struct drawing *d, struct reader *r, struct err *err)
{
    struct feed *sources;
    struct out_feed *out;
    size_t at = 0;
    enum rc rc = reader_sources(r, d->rows, d->n_rows, &d->arena, &sources, err);

    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < d->n_rows; i++) {
        if (drawing_feed(d, d->rows[i].feed_id) == d->n_feeds)
            continue;
        if (sources[i].id == 0)
            return err_set(err, RC_NOT_FOUND, "The feed was removed just now.");
        sources[i].last_change_at = d->rows[i].at_us / 1000000;
        out = ARENA_NEW(&d->arena, struct out_feed);
        drawing_head(&d->arena, &sources[i], out);
        d->entries[at++].feed = out;
    }
    return RC_OK;
}

/* With a filter an entry can leave and come back, whatever dates its publisher gives to it. Readers
 * decide by dates alone whether a tombstone hides an entry (RFC 6721 section 3). So from its second
 * revision on, an entry is dated as its tombstones are. */
static void date_returns(struct drawing *d)
{
    for (size_t i = 0, at = 0; i < d->n_rows; i++) {
        const struct revision *row = &d->rows[i];
        struct out_entry *e;

        if (drawing_feed(d, row->feed_id) == d->n_feeds)
            continue;
        e = &d->entries[at++];
        if (e->kind == OUT_ENTRY && row->prev_seq != 0)
            e->at_us = form_event_us(row);
    }
}

/* Read the heads. Times and ids of a page depend only on its rows and on the heads at that time. */
static enum rc read_heads(struct drawing *d, struct reader *r, struct str *current, struct err *err)
{
    const struct document_spec *spec = d->spec;
    int64_t at = d->n_rows > 0 ? d->rows[0].seq : INT64_MAX;
    struct feed *first;
    size_t n_first;
    enum rc rc = reader_feeds_at(r, spec->view.feed_ids, spec->view.n_feeds, at, &d->arena,
                                 &d->feeds, &d->n_feeds, err);

    if (rc == RC_OK)
        rc = reader_feeds_at(r, spec->view.feed_ids, spec->view.n_feeds, 0, &d->arena, &first,
                             &n_first, err);
    if (rc != RC_OK)
        return rc;
    if ((d->n_feeds == 0 && spec->view.n_feeds > 0) || n_first != d->n_feeds)
        return err_set(err, RC_NOT_FOUND, "The feed was removed just now.");
    for (size_t i = 0; i < d->n_feeds; i++) {
        if (d->n_rows > 0)
            d->feeds[i].last_change_at = d->rows[0].at_us / 1000000;
        else if (d->feeds[i].last_change_at > d->modified_at)
            d->modified_at = d->feeds[i].last_change_at;
    }
    *current = n_first > 0 ? entry_url(d, first, n_first) : spec->self;
    rc = drawing_entries(d, r, err);
    if (rc == RC_OK && spec->merged)
        rc = read_sources(d, r, err);
    if (rc == RC_OK && spec->merged && spec->view.form == FORM_EVENTS)
        rc = tell_events_apart(d, r, err);
    d->doc.title =
        spec->merged ? str_printf(&d->arena, "%zu feeds merged", spec->view.n_feeds) : STR_NULL;
    if (spec->merged || spec->view.filter != NULL) {
        d->doc.id = own_id(d);
    } else {
        struct out_feed head;

        drawing_head(&d->arena, &first[0], &head);
        d->doc.id = feed_iri(&d->arena, &head);
    }
    return rc;
}

enum rc draw_pages(struct drawing *d, struct reader *r, struct err *err)
{
    const struct document_spec *spec = d->spec;
    struct feedset set = {.ids = (int64_t *)(uintptr_t)spec->view.feed_ids,
                          .n = spec->view.n_feeds,
                          .page_size = spec->page_size,
                          .filter = filter_text(spec->view.filter)};
    struct str word = feedset_write(&d->arena, &set, store_secret(d->store));
    struct out_doc *doc = &d->doc;
    struct log_page p = {0};
    struct form_page page;
    struct out_link *links = NULL;
    bool complete =
        /* a delivery of news never has all entries */
        spec->part == PART_ALL && !drawing_is_delivery(d);
    bool stateless;
    enum rc rc = find_stateless(d, r, &stateless, err);

    if (rc == RC_OK)
        rc = complete || stateless ? read_current(d, r, err) : read_page(d, r, &p, err);
    page = (struct form_page){
        .n = p.n,
        .n_pages = p.n_pages,
        .rows = p.n_rows,
        .shown = d->n_rows,
        .by_entry = document_is_entry(spec),
        .is_page = !drawing_is_delivery(d) || (spec->view.after_seq < p.first_seq &&
                                               d->position == p.last_seq && d->n_rows == p.n_rows),
        .reaches_back = !drawing_is_delivery(d) || spec->view.after_seq < p.first_seq,
        .base = str_printf(&d->arena, "%.*s%s/%.*s/", STR_ARG(spec->origin),
                           form_ops(spec->view.form)->path, STR_ARG(word)),
        .suffix = format_suffix(spec->view.format),
        .media_type = str_z(&d->arena, format_bare_type(spec->view.format)),
    };
    if (rc == RC_OK && !stateless && form_has(spec->view.form, FORM_SHOWS_NEWEST_VERSIONS))
        d->n_rows = form_newest_versions(&d->arena, d->rows, d->n_rows);
    if (rc == RC_OK)
        rc = read_heads(d, r, &page.entry, err);
    if (rc != RC_OK)
        return rc;
    if (spec->view.form == FORM_METADATA)
        add_alternates(d);
    if (spec->view.filter != NULL && form_has(spec->view.form, FORM_SHOWS_NEWEST_VERSIONS))
        date_returns(d);
    doc->repeats = true;
    doc->self_url = document_is_entry(spec)
                        ? selflink_fill(&d->arena, spec->self, drawing_access_key, d)
                        : form_page_url(spec->view.form, &d->arena, &page, p.n, page.shown);
    if (d->n_rows > 0)
        d->modified_at = d->rows[0].at_us / 1000000;
    doc->updated_at = d->modified_at != TIME_UNKNOWN ? d->modified_at : 0;
    /* Documents of the same second must be distinguishable where the entry of the newest document
     * counts (RFC 5005 section 4.2), and where entries are compared with the document (Atom-PMH) */
    if (d->n_rows > 0 && form_has(spec->view.form, FORM_COUNTS_MICROSECONDS))
        doc->updated_us = d->rows[0].at_us;
    /* its head has only a link to itself; the link to the hub is in the Link field */
    if (complete) {
        for (size_t i = 0; i < d->n_feeds; i++) {
            value_del(d->heads[i].obj, STR("links"));
            value_del(d->heads[i].obj, STR("link"));
        }
        links = ARENA_NEW(&d->arena, struct out_link);
        *links = (struct out_link){STR("current"), str_from(page.media_type), doc->self_url};
        doc->n_links = 1;
    } else if (!stateless && spec->view.n_feeds > 0) { /* a set without feeds has no pages */
        doc->n_links = form_links(spec->view.form, &d->arena, &page, spec->page_size, &links);
    }
    doc->links = links;
    doc->complete = complete;
    doc->archive = form_page_is_archive(spec->view.form, &page);
    if (spec->view.form == FORM_HISTORY)
        doc->state = stateless ? OUT_STATELESS : OUT_STATEFUL;
    return RC_OK;
}

/* api/draw.c - see draw.h. */
#include "api/draw.h"

#include <inttypes.h>
#include <stdio.h>

#include "api/cursor.h"
#include "api/feedset.h"
#include "api/selflink.h"
#include "base/clock.h"
#include "base/limits.h"
#include "feed/json.h"
#include "net/url.h"

struct drawing { /* what the writer is given, in the making */
    const struct render_spec *spec;
    const struct api_cfg *cfg;
    struct store *store;
    struct arena arena;
    struct feed_record *records; /* by id */
    size_t n_records;
    struct revision *rows; /* in the order of the document */
    size_t n_rows;
    struct out_feed *feeds;
    struct out_entry *entries;
    struct out_doc doc;
    int64_t modified_at;
    size_t n_new; /* of a delivery */
    int64_t position;
};

/* ---- what every document has ----------------------------------------------------------------- */

static struct str access_key(void *ctx, int64_t feed_id)
{
    const struct drawing *d = ctx;

    for (size_t i = 0; i < d->n_records; i++)
        if (d->records[i].id == feed_id)
            return d->records[i].access_key;
    return STR_NULL;
}

/* The stored head: {"feed": {...}, facts...} -> the dict of the head and the facts beside it. */
void draw_feed(struct arena *a, const struct feed_record *rec, struct out_feed *out)
{
    struct value *head = NULL;

    if (rec->head.len == 0 || json_read(a, rec->head, &head, NULL) != RC_OK)
        head = value_dict(a);
    out->obj = value_getz(head, "feed");
    if (out->obj == NULL || out->obj->kind != VAL_DICT)
        out->obj = value_dict(a);
    value_del(head, STR("feed"));
    if (value_getz(head, "href") == NULL)
        value_set_textz(a, head, "href", rec->url);
    out->meta = head;
    out->url = rec->url;
    out->id_url = rec->id_url;
    out->ext = rec->ext;
    out->updated_at = rec->last_change_at;
}

static size_t feed_index(const struct drawing *d, int64_t feed_id)
{
    size_t lo = 0, hi = d->n_records;

    while (lo < hi) { /* the ids of a view are sorted */
        size_t mid = (lo + hi) / 2;

        if (d->records[mid].id < feed_id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < d->n_records && d->records[lo].id == feed_id ? lo : d->n_records;
}

/* Heads and entries of the rows; those whose record left between two queries are left out. */
static void make_entries(struct drawing *d)
{
    enum feed_format format = d->spec->format;
    bool copies = format == FORMAT_JSON || format == FORMAT_JSON_OBJ;
    struct str log_id = store_log_id(d->store);
    size_t n = 0;

    d->feeds = ARENA_ARRAY(&d->arena, struct out_feed, d->n_records + 1);
    d->entries = ARENA_ARRAY(&d->arena, struct out_entry, d->n_rows + 1);
    for (size_t i = 0; i < d->n_records; i++)
        draw_feed(&d->arena, &d->records[i], &d->feeds[i]);
    for (size_t i = 0; i < d->n_rows; i++) {
        const struct revision *row = &d->rows[i];
        size_t feed = feed_index(d, row->feed_id);
        struct out_entry *e = &d->entries[n];

        if (feed == d->n_records)
            continue;
        form_entry(d->spec->form, &d->arena, row, &d->feeds[feed], log_id, e);
        if (!copies && row->doc.len > 0 && json_read(&d->arena, row->doc, &e->obj, NULL) != RC_OK)
            e->obj = value_dict(&d->arena);
        n++;
    }
    d->doc.merged = d->spec->merged;
    d->doc.feeds = d->feeds;
    d->doc.n_feeds = d->n_records;
    d->doc.entries = d->entries;
    d->doc.n_entries = n;
}

/* ---- deliveries ------------------------------------------------------------------------------ */

static void reverse(struct revision *rows, size_t n)
{
    for (size_t i = 0; i + 1 < n - i; i++) {
        struct revision swap = rows[i];

        rows[i] = rows[n - 1 - i];
        rows[n - 1 - i] = swap;
    }
}

/* What the log has behind the subscriber's position, oldest first: revisions (VIEW_LOG), or each
 * entry as it is now. */
static enum rc read_news(struct drawing *d, struct reader *r, enum view_order order,
                         struct err *err)
{
    struct view v = {.feed_ids = d->spec->ids,
                     .n_feeds = d->spec->n_ids,
                     .order = order,
                     .after_seq = d->spec->after_seq,
                     .before_seq = INT64_MAX,
                     .len = d->spec->max_new,
                     .with_deleted = true};
    enum rc rc = reader_rows(r, &v, &d->arena, &d->rows, &d->n_rows, err);

    d->position = d->spec->after_seq;
    if (rc == RC_OK && d->n_rows > 0)
        d->position = d->rows[d->n_rows - 1].seq;
    d->n_new = d->n_rows;
    return rc;
}

/* Of a feed's newest entries (D35): in Atom and RSS those that are new or changed, newest first;
 * else the whole document, if there is any news. What was there before anyone looked is none. */
static enum rc read_newest_news(struct drawing *d, struct reader *r, const struct view *whole,
                                struct err *err)
{
    bool is_xml = d->spec->format == FORMAT_ATOM || d->spec->format == FORMAT_RSS;
    enum rc rc = read_news(d, r, VIEW_MODIFIED, err);
    size_t n = 0;

    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < d->n_rows; i++)
        if (!d->rows[i].initial && (!is_xml || d->rows[i].kind != REV_DELETED))
            d->rows[n++] = d->rows[i];
    d->n_rows = d->n_new = n;
    if (is_xml)
        reverse(d->rows, d->n_rows);
    else if (n > 0)
        rc = reader_rows(r, whole, &d->arena, &d->rows, &d->n_rows, err);
    return rc;
}

/* Where the document says who delivers it, behind its other links. */
static void add_hub(struct drawing *d)
{
    struct out_link *links;

    if (str_is_null(d->spec->hub))
        return;
    links = ARENA_ARRAY(&d->arena, struct out_link, d->doc.n_links + 1);
    links[0] = (struct out_link){STR("hub"), STR_NULL, d->spec->hub};
    if (d->doc.n_links > 0)
        memcpy(links + 1, d->doc.links, d->doc.n_links * sizeof *links);
    d->doc.links = links;
    d->doc.n_links++;
}

/* ---- the newest entries: /feed, /feeds, /opml ------------------------------------------------ */

/* How long a document stays as it is, by the plan: the smallest period of its feeds; 0 when there
 * is none. */
static int64_t ttl_of(const struct api_cfg *cfg, const struct feed_record *recs, size_t n)
{
    int64_t ttl = 0;

    for (size_t i = 0; i < n; i++) {
        int64_t s = recs[i].level >= 0 ? cfg->level_period_s[recs[i].level] : recs[i].period_s;

        if (s > 0 && (ttl == 0 || s < ttl))
            ttl = s;
    }
    return ttl;
}

static void add_link(struct drawing *d, const char *rel, struct str href)
{
    struct str media = str_from(feed_format_media_type(d->spec->format));
    struct out_link *links = ARENA_ARRAY(&d->arena, struct out_link, d->doc.n_links + 1);

    if (d->doc.n_links > 0)
        memcpy(links, d->doc.links, d->doc.n_links * sizeof *links);
    links[d->doc.n_links++] = (struct out_link){str_from(rel), str_split(&media, ';'), href};
    d->doc.links = links;
}

static void add_page_link(struct drawing *d, const char *rel, size_t n)
{
    add_link(d, rel,
             selflink_set(&d->arena, d->doc.self_url, "page", str_printf(&d->arena, "%zu", n)));
}

/* RFC 5005 section 3. How many pages a merge has is not known without reading it. */
static enum rc link_pages(struct drawing *d, struct reader *r, bool more, struct err *err)
{
    const struct render_spec *spec = d->spec;
    size_t last = 0;
    int64_t n = 0;
    enum rc rc = RC_OK;

    if (!spec->merged)
        rc = reader_count(r, spec->ids, spec->n_ids, false, &n, err);
    add_page_link(d, "first", 1);
    if (n > 0 && spec->len > 0)
        last = ((size_t)n + spec->len - 1) / spec->len;
    if (spec->page_no > 1) /* behind the end: back to what is there */
        add_page_link(d, "previous", last > 0 && spec->page_no > last ? last : spec->page_no - 1);
    if (more)
        add_page_link(d, "next", spec->page_no + 1);
    if (last > 0)
        add_page_link(d, "last", last);
    return rc;
}

/* A link to the archives, if this document and they lose nothing: every entry that has changed
 * since the newest full page is here, and none of the deletions since then would be missed
 * (ARCH-06). */
static enum rc link_archive(struct drawing *d, struct reader *r, struct err *err)
{
    const struct render_spec *spec = d->spec;
    struct feedset set = {
        .ids = (int64_t *)(uintptr_t)spec->ids, .n = spec->n_ids, .page_size = spec->page_size};
    struct form_page page = {.suffix = spec->format == FORMAT_RSS ? ".rss" : ""};
    struct err none = ERR_INIT;
    int64_t n, n_deleted, shown = 0;
    struct log_page p;
    enum rc rc;

    if (spec->format != FORMAT_ATOM && spec->format != FORMAT_RSS)
        return RC_OK;
    rc = reader_page(r, spec->ids, spec->n_ids, spec->page_size, -1, &p, &none);
    if (rc == RC_NOT_FOUND || (rc == RC_OK && p.n == 0))
        return RC_OK;
    if (rc == RC_OK)
        rc = reader_changed_since(r, spec->ids[0], p.first_seq, &n, &n_deleted, err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < d->n_rows; i++)
        shown += d->rows[i].seq >= p.first_seq;
    if (n_deleted > 0 || shown < n)
        return RC_OK;
    page.base =
        str_printf(&d->arena, "%.*s%s/%.*s/", STR_ARG(spec->origin), form_rules(FORM_ARCHIVE)->path,
                   STR_ARG(feedset_write(&d->arena, &set, store_secret(d->store))));
    add_link(d, "prev-archive",
             form_page_url(FORM_ARCHIVE, &d->arena, &page, p.n - 1, spec->page_size));
    return RC_OK;
}

static enum rc draw_newest(struct drawing *d, struct reader *r, struct err *err)
{
    const struct render_spec *spec = d->spec;
    /* one row more tells whether another page follows */
    struct view view =
        params_view(spec->ids, spec->n_ids, spec->len == 0 ? 0 : spec->len + 1, spec->skip);
    struct out_doc *doc = &d->doc;
    enum rc rc = RC_OK;
    bool more;

    view.after_seq = spec->is_delivery ? 0 : spec->after_seq;
    if (spec->is_delivery)
        rc = read_newest_news(d, r, &view, err);
    else if (spec->len > 0 && spec->n_ids > 0)
        rc = reader_rows(r, &view, &d->arena, &d->rows, &d->n_rows, err);
    if (rc == RC_OK && spec->n_ids > 0)
        rc = reader_feeds(r, spec->ids, spec->n_ids, &d->arena, &d->records, &d->n_records, err);
    if (rc != RC_OK)
        return rc;
    if (!spec->merged && d->n_records == 0)
        return err_set(err, RC_NOT_FOUND, "The feed has just been removed.");
    more = d->n_rows > spec->len &&
           (!spec->is_delivery || spec->format == FORMAT_JSON || spec->format == FORMAT_JSON_OBJ ||
            spec->format == FORMAT_JSONFEED);
    if (more)
        d->n_rows = spec->len;
    make_entries(d);
    for (size_t i = 0; i < d->n_records; i++)
        if (d->records[i].last_change_at > d->modified_at)
            d->modified_at = d->records[i].last_change_at;
    for (size_t i = 0; i < d->n_rows; i++)
        if (d->rows[i].at_us / 1000000 > d->modified_at)
            d->modified_at = d->rows[i].at_us / 1000000;
    doc->self_url = selflink_fill(&d->arena, spec->self, access_key, d);
    doc->id = spec->merged ? spec->id : STR_NULL;
    doc->title = spec->title;
    /* never before a date that is shown, though it be in the future */
    doc->updated_at = d->modified_at != TIME_UNKNOWN ? d->modified_at : 0;
    for (size_t i = 0; i < d->n_rows; i++)
        if (d->rows[i].updated_at > doc->updated_at)
            doc->updated_at = d->rows[i].updated_at;
    doc->ttl_s = ttl_of(d->cfg, d->records, d->n_records);
    for (size_t i = 0; i < d->n_records; i++)
        doc->partial |= d->records[i].partial;
    /* what the publisher says of all its entries is true of all of them only */
    doc->complete = !spec->merged && !spec->is_delivery && d->records[0].complete &&
                    spec->skip == 0 && (int64_t)d->n_rows == d->records[0].n_entries;
    if (more && !str_is_null(spec->next))
        doc->next_url = selflink_fill(&d->arena, spec->next, access_key, d);
    if (spec->page_no > 0)
        return link_pages(d, r, more, err);
    return spec->merged || spec->skip > 0 || spec->after_seq > 0 ? RC_OK : link_archive(d, r, err);
}

/* ---- pages of the log ------------------------------------------------------------------------ */

/* "http://host/archive?url=...": the URL at which the newest page is to be had, by the feeds' first
 * addresses, so that it stays the same. */
static struct str entry_url(struct drawing *d, const struct feed_record *first, size_t n)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    const struct form_rules *rules = form_rules(d->spec->form);

    buf_str(&out, d->spec->origin);
    buf_puts(&out, rules->entry);
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
    if (d->spec->format == FORMAT_RSS)
        buf_puts(&out, "&type=rss");
    return str_dup(&d->arena, buf_view(&out));
}

/* The id that all documents of a merged log share. */
static struct str merged_id(struct drawing *d)
{
    AUTO(buf_release) struct buf name = BUF_INIT(BUF_ANY);

    buf_str(&name, store_log_id(d->store));
    for (size_t i = 0; i < d->spec->n_ids; i++)
        buf_printf(&name, "\n%" PRId64, d->spec->ids[i]);
    return form_urn(&d->arena, buf_view(&name));
}

/* Where a metadata record is found whole, in several formats. */
static void add_alternates(struct drawing *d)
{
    static const struct {
        const char *suffix, *type;
    } offers[] = {
        {".atom", "application/atom+xml"}, {".json", "application/json"}, {".html", "text/html"}};
    size_t n = 0;

    for (size_t i = 0; i < d->n_rows; i++) {
        const struct revision *row = &d->rows[i];
        struct feedset set = {.ids = (int64_t[]){row->feed_id}, .n = 1, .page_size = 1};
        struct out_entry *e = &d->entries[n];
        struct out_link *links;
        struct str word;

        if (feed_index(d, row->feed_id) == d->n_records)
            continue;
        n++;
        if (e->kind != OUT_RECORD)
            continue;
        word = feedset_write(&d->arena, &set, store_secret(d->store));
        links = ARENA_ARRAY(&d->arena, struct out_link, ARRAY_LEN(offers));
        for (size_t k = 0; k < ARRAY_LEN(offers); k++)
            links[k] =
                (struct out_link){.rel = STR("alternate"),
                                  .type = str_from(offers[k].type),
                                  .href = str_printf(&d->arena, "%.*s/item/%.*s/%" PRId64 "%s",
                                                     STR_ARG(d->spec->origin), STR_ARG(word),
                                                     row->seq, offers[k].suffix)};
        e->links = links;
        e->n_links = ARRAY_LEN(offers);
    }
}

/* The first rows of a page, newest first. */
static enum rc read_page(struct drawing *d, struct reader *r, struct log_page *p, struct err *err)
{
    const struct render_spec *spec = d->spec;
    struct view v = {.feed_ids = spec->ids,
                     .n_feeds = spec->n_ids,
                     .order = VIEW_LOG,
                     .before_seq = INT64_MAX,
                     .with_deleted = true};
    enum rc rc;

    if (spec->page_rows == PAGE_NO_ROWS) {
        *p = (struct log_page){0};
        return RC_OK;
    }
    rc = reader_page(r, spec->ids, spec->n_ids, spec->page_size, spec->page, p, err);
    if (rc == RC_NOT_FOUND && spec->page <= 0) { /* a log without entries: an empty document */
        *p = (struct log_page){0};
        return RC_OK;
    }
    if (rc != RC_OK)
        return rc;
    if (spec->page_rows > p->n_rows)
        return err_set(err, RC_NOT_FOUND, "There is no such document yet.");
    if (spec->is_delivery) {
        rc = read_news(d, r, VIEW_LOG, err);
        reverse(d->rows, d->n_rows);
        return rc;
    }
    v.after_seq = p->first_seq - 1;
    v.before_seq = p->last_seq + 1;
    v.len = spec->page_rows > 0 ? spec->page_rows : p->n_rows;
    rc = reader_rows(r, &v, &d->arena, &d->rows, &d->n_rows, err);
    if (rc == RC_OK)
        reverse(d->rows, d->n_rows);
    return rc;
}

/* All current records, newest first. */
static enum rc read_current(struct drawing *d, struct reader *r, struct err *err)
{
    struct view v = {.feed_ids = d->spec->ids,
                     .n_feeds = d->spec->n_ids,
                     .order = VIEW_MODIFIED_DESC,
                     .before_seq = INT64_MAX};
    int64_t n;
    enum rc rc = reader_count(r, d->spec->ids, d->spec->n_ids, false, &n, err);

    if (rc != RC_OK)
        return rc;
    v.len = (size_t)n + 1000; /* with room for what comes meanwhile */
    return reader_rows(r, &v, &d->arena, &d->rows, &d->n_rows, err);
}

/* Draft-00 section 3: a feed without a past is one document, and leads nowhere. */
static enum rc find_stateless(struct drawing *d, struct reader *r, bool *stateless, struct err *err)
{
    const struct render_spec *spec = d->spec;
    struct feed_record *rec;
    size_t n = 0;
    enum rc rc = RC_OK;

    if (spec->form == FORM_HISTORY && spec->n_ids == 1 && spec->page < 0 && !spec->is_delivery)
        rc = reader_feeds(r, spec->ids, 1, &d->arena, &rec, &n, err);
    *stateless = rc == RC_OK && n == 1 && rec[0].complete;
    return rc;
}

/* Times and ids of a page follow from its rows and from the heads of its time alone. */
static enum rc read_heads(struct drawing *d, struct reader *r, struct str *current, struct err *err)
{
    const struct render_spec *spec = d->spec;
    int64_t at = d->n_rows > 0 ? d->rows[0].seq : INT64_MAX;
    struct feed_record *first;
    size_t n_first;
    enum rc rc =
        reader_feeds_at(r, spec->ids, spec->n_ids, at, &d->arena, &d->records, &d->n_records, err);

    if (rc == RC_OK)
        rc = reader_feeds_at(r, spec->ids, spec->n_ids, 0, &d->arena, &first, &n_first, err);
    if (rc != RC_OK)
        return rc;
    if (d->n_records == 0 || n_first != d->n_records)
        return err_set(err, RC_NOT_FOUND, "The feed has just been removed.");
    for (size_t i = 0; i < d->n_records; i++) {
        if (d->n_rows > 0)
            d->records[i].last_change_at = d->rows[0].at_us / 1000000;
        else if (d->records[i].last_change_at > d->modified_at)
            d->modified_at = d->records[i].last_change_at;
    }
    *current = entry_url(d, first, n_first);
    make_entries(d);
    if (spec->merged) {
        d->doc.id = merged_id(d);
        d->doc.title = str_printf(&d->arena, "%zu feeds merged", spec->n_ids);
    } else {
        struct out_feed head;

        draw_feed(&d->arena, &first[0], &head);
        d->doc.id = feed_iri(&d->arena, &head);
        d->doc.title = STR_NULL;
    }
    return RC_OK;
}

static enum rc draw_pages(struct drawing *d, struct reader *r, struct err *err)
{
    const struct render_spec *spec = d->spec;
    struct feedset set = {
        .ids = (int64_t *)(uintptr_t)spec->ids, .n = spec->n_ids, .page_size = spec->page_size};
    struct str word = feedset_write(&d->arena, &set, store_secret(d->store)), media;
    struct out_doc *doc = &d->doc;
    struct log_page p = {0};
    struct form_page page;
    struct out_link *links = NULL;
    bool complete = spec->complete && !spec->is_delivery; /* what is new is never all */
    bool stateless;
    size_t shown;
    enum rc rc = find_stateless(d, r, &stateless, err);

    if (rc == RC_OK)
        rc = complete || stateless ? read_current(d, r, err) : read_page(d, r, &p, err);
    shown = spec->is_delivery ? p.n_rows : d->n_rows;
    if (rc == RC_OK && !stateless && (spec->form == FORM_ARCHIVE || spec->form == FORM_HISTORY))
        d->n_rows = form_newest_versions(d->rows, d->n_rows);
    media = str_from(feed_format_media_type(spec->format));
    page = (struct form_page){
        .n = p.n,
        .n_pages = p.n_pages,
        .rows = p.n_rows,
        .shown = shown,
        .by_entry = spec->page < 0,
        .base = str_printf(&d->arena, "%.*s%s/%.*s/", STR_ARG(spec->origin),
                           form_rules(spec->form)->path, STR_ARG(word)),
        .suffix = spec->format == FORMAT_RSS ? ".rss" : "",
        .media_type = str_z(&d->arena, str_split(&media, ';')),
    };
    if (rc == RC_OK)
        rc = read_heads(d, r, &page.entry, err);
    if (rc != RC_OK)
        return rc;
    if (spec->form == FORM_RECORDS)
        add_alternates(d);
    doc->repeats = true;
    doc->self_url = spec->page < 0 ? selflink_fill(&d->arena, spec->self, access_key, d)
                                   : form_page_url(spec->form, &d->arena, &page, p.n, shown);
    if (d->n_rows > 0)
        d->modified_at = d->rows[0].at_us / 1000000;
    doc->updated_at = d->modified_at != TIME_UNKNOWN ? d->modified_at : 0;
    doc->updated_us = d->n_rows > 0 && spec->form == FORM_RECORDS ? d->rows[0].at_us : 0;
    if (complete) {
        links = ARENA_NEW(&d->arena, struct out_link);
        *links = (struct out_link){STR("current"), str_from(page.media_type), doc->self_url};
        doc->n_links = 1;
    } else if (!stateless) {
        doc->n_links = form_links(spec->form, &d->arena, &page, spec->page_size, &links);
    }
    doc->links = links;
    doc->complete = complete;
    doc->archive = form_page_is_archive(spec->form, &page);
    if (spec->form == FORM_HISTORY)
        doc->state = stateless ? OUT_STATELESS : OUT_STATEFUL;
    return RC_OK;
}

/* ---- streams --------------------------------------------------------------------------------- */

/* The cursor of a row: the seq by which the order goes, and its time. */
static struct str cursor_of(struct drawing *d, int64_t seq, int64_t at_us)
{
    char *text = arena_alloc(&d->arena, CURSOR_TEXT);

    cursor_write(text, store_log_id(d->store), seq, at_us);
    return str_from(text);
}

/* Where a reader stands who got nothing: where he said, or at the end of the feed (D27). */
static enum rc cursor_of_nothing(struct drawing *d, struct reader *r, const struct stream_view *s,
                                 struct str *out, struct err *err)
{
    struct stream_view back = *s;
    struct view v;
    struct revision *rows;
    int64_t at_us;
    size_t n;
    enum rc rc;

    if (d->spec->since.kind != PLACE_NONE && !str_is_null(d->spec->since.text)) {
        *out = d->spec->since.text;
        return RC_OK;
    }
    back.descends = true;
    v = stream_view_of(&back, 0, INT64_MAX, 1);
    rc = reader_rows(r, &v, &d->arena, &rows, &n, err);
    *out = STR("");
    if (rc != RC_OK || n == 0)
        return rc;
    rc = reader_created(r, rows, 1, &at_us, err);
    *out = s->by_creation ? cursor_of(d, rows[0].first_seq, at_us)
                          : cursor_of(d, rows[0].seq, rows[0].at_us);
    return rc;
}

/* The cursor of the stream's last item for who has everything up to the position: of the newest
 * revision up to there, or, by creation, of the newest entry. */
static enum rc cursor_before(struct drawing *d, struct reader *r, const struct stream_view *s,
                             struct str *out, struct err *err)
{
    struct stream_view back = *s;
    struct view v;
    struct revision *rows;
    int64_t at_us;
    size_t n;
    enum rc rc;

    back.descends = true;
    v = stream_view_of(&back, 0, d->spec->after_seq + 1, 1);
    if (!s->by_creation)
        v.order = VIEW_LOG_DESC; /* it may have changed since */
    rc = reader_rows(r, &v, &d->arena, &rows, &n, err);
    *out = STR("");
    if (rc != RC_OK || n == 0)
        return rc;
    if (!s->by_creation) {
        *out = cursor_of(d, rows[0].seq, rows[0].at_us);
        return RC_OK;
    }
    rc = reader_created(r, rows, 1, &at_us, err);
    *out = cursor_of(d, rows[0].first_seq, at_us);
    return rc;
}

static void add_next(struct drawing *d, struct out_stream *stream)
{
    char max[24];

    snprintf(max, sizeof max, "%zu", d->spec->len);
    stream->next =
        selflink_set(&d->arena,
                     selflink_set(&d->arena, d->doc.self_url, "since",
                                  str_concat(&d->arena, STR("cursor%3A"), stream->last_cursor)),
                     "max", str_dup(&d->arena, str_from(max)));
}

static enum rc draw_stream(struct drawing *d, struct reader *r, struct err *err)
{
    const struct render_spec *spec = d->spec;
    struct stream_view s = {.ids = spec->ids,
                            .n_ids = spec->n_ids,
                            .by_creation = spec->by_creation,
                            .descends = spec->descends && !spec->is_delivery};
    struct out_stream *stream = ARENA_NEW(&d->arena, struct out_stream);
    struct out_link *next = ARENA_NEW(&d->arena, struct out_link);
    int64_t since, until, *created;
    struct view v;
    bool more;
    enum rc rc = place_find(r, &spec->since, &s, true, &since, err);

    *stream = (struct out_stream){.prev_cursor = STR_NULL, .next = STR_NULL};
    if (rc == RC_OK)
        rc = place_find(r, &spec->until, &s, false, &until, err);
    if (rc != RC_OK)
        return rc;
    v = s.descends ? stream_view_of(&s, until, since, spec->len + 1)
                   : stream_view_of(&s, since, until, spec->len + 1);
    if (spec->is_delivery) {
        v = stream_view_of(&s, spec->after_seq, INT64_MAX, spec->max_new);
        rc = cursor_before(d, r, &s, &stream->prev_cursor, err);
        if (rc != RC_OK)
            return rc;
    }
    rc = reader_rows(r, &v, &d->arena, &d->rows, &d->n_rows, err);
    if (rc == RC_OK)
        rc = reader_feeds(r, spec->ids, spec->n_ids, &d->arena, &d->records, &d->n_records, err);
    if (rc == RC_OK)
        rc = reader_count(r, spec->ids, spec->n_ids, true, &stream->total, err);
    if (rc != RC_OK)
        return rc;
    if (d->n_records == 0)
        return err_set(err, RC_NOT_FOUND, "The feed has just been removed.");
    more = !spec->is_delivery && d->n_rows > spec->len;
    if (more)
        d->n_rows = spec->len;
    d->n_new = d->n_rows;
    d->position = spec->after_seq;
    if (d->n_rows > 0)
        d->position = s.by_creation ? d->rows[d->n_rows - 1].first_seq : d->rows[d->n_rows - 1].seq;
    created = ARENA_ARRAY(&d->arena, int64_t, d->n_rows + 1);
    rc = reader_created(r, d->rows, d->n_rows, created, err);
    if (rc != RC_OK)
        return rc;
    make_entries(d);
    for (size_t i = 0, k = 0; i < d->n_rows; i++) {
        if (feed_index(d, d->rows[i].feed_id) == d->n_records)
            continue;
        d->entries[k++].created_at = created[i] / 1000000;
        if (d->rows[i].at_us / 1000000 > d->modified_at)
            d->modified_at = d->rows[i].at_us / 1000000;
    }
    d->doc.repeats = true; /* two feeds' items of one id are two items */
    d->doc.self_url = selflink_fill(&d->arena, spec->self, access_key, d);
    d->doc.id = spec->id;
    d->doc.title = spec->title;
    d->doc.stream = stream;
    if (d->n_rows == 0) {
        rc = cursor_of_nothing(d, r, &s, &stream->last_cursor, err);
    } else {
        const struct revision *last = &d->rows[d->n_rows - 1];

        stream->last_cursor = s.by_creation ? cursor_of(d, last->first_seq, created[d->n_rows - 1])
                                            : cursor_of(d, last->seq, last->at_us);
    }
    for (size_t i = 0; i < d->n_records; i++)
        if (d->records[i].last_change_at > d->modified_at)
            d->modified_at = d->records[i].last_change_at;
    d->doc.updated_at = d->modified_at != TIME_UNKNOWN ? d->modified_at : 0;
    if (more) {
        add_next(d, stream);
        *next = (struct out_link){STR("next"), STR("application/atom+xml"), stream->next};
        d->doc.links = next;
        d->doc.n_links = 1;
    }
    return rc;
}

/* JSON-P: a call with the document as its argument; one that is no JSON as one JSON string (D31).
 * The comment keeps the first bytes from being the caller's. */
static void wrap(struct buf *out, struct buf *doc, const struct render_spec *spec)
{
    buf_puts(out, "/**/");
    buf_str(out, spec->callback);
    buf_putc(out, '(');
    if (spec->format == FORMAT_ACTIVITIES)
        buf_str(out, str_trim(buf_view(doc)));
    else
        json_write_text(out, buf_view(doc));
    buf_puts(out, ");\n");
}

/* ---- all ------------------------------------------------------------------------------------- */

enum rc draw_document(const struct render_spec *spec, const struct api_cfg *cfg,
                      struct store *store, struct reader *r, struct buf *out, struct drawn *drawn,
                      struct err *err)
{
    struct drawing d = {.spec = spec,
                        .cfg = cfg,
                        .store = store,
                        .modified_at = TIME_UNKNOWN,
                        .position = spec->after_seq};
    enum rc rc = spec->form == FORM_NEWEST   ? draw_newest(&d, r, err)
                 : spec->form == FORM_STREAM ? draw_stream(&d, r, err)
                                             : draw_pages(&d, r, err);

    if (rc == RC_OK)
        add_hub(&d);
    if (rc == RC_OK && spec->is_delivery && d.n_new == 0) {
        /* nobody will see it */
    } else if (rc == RC_OK && !str_is_null(spec->callback)) {
        AUTO(buf_release) struct buf bare = BUF_INIT(DRAW_MAX);

        feed_write(&bare, spec->format, &d.doc);
        wrap(out, &bare, spec);
    } else if (rc == RC_OK) {
        feed_write(out, spec->format, &d.doc);
    }
    if (rc == RC_OK) {
        if (!buf_ok(out))
            rc = err_set(err, RC_LIMIT, "The document would pass %zu bytes; ask for fewer entries.",
                         DRAW_MAX);
    }
    drawn->modified_at = d.modified_at;
    drawn->is_empty = d.doc.n_entries == 0;
    drawn->n_new = d.n_new;
    drawn->position = d.position;
    drawn->is_private = false;
    for (size_t i = 0; i < d.n_records; i++)
        drawn->is_private = drawn->is_private || !str_is_null(d.records[i].access_key);
    arena_release(&d.arena);
    return rc;
}

/* api/views/draw.c - see draw.h. What all documents have in common, and the call of the drawing
 * function for the form. */
#include "api/views/draw.h"

#include "api/views/drawing.h"
#include "feed/text/json.h"
#include "feed/write/writer.h"
#include "net/url.h"

#define ASKED_MAX 16 /* feeds that are asked about one by one (find_other_feeds) */

/* Add the link to the hub that delivers the document, before its other links. */
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

/* Say where a reader of RSS registers to be told of changes. */
static void add_cloud(struct drawing *d)
{
    struct url_parts parts;
    ssize_t authority, path;

    if (str_is_null(d->spec->cloud) || url_parse(&d->arena, d->spec->cloud, &parts, NULL) != RC_OK)
        return;
    authority = str_find(parts.url, STR("://")) + 3;
    path = str_find(str_slice(parts.url, (size_t)authority, parts.url.len), STR("/"));
    d->doc.cloud =
        (struct out_cloud){.domain = parts.host,
                           .path = str_slice(parts.url, (size_t)(authority + path), parts.url.len),
                           .port = parts.port};
}

/* Write JSON-P: a call with the document as its argument. A document that is not JSON becomes one
 * JSON string (D31). The comment before it keeps the caller from choosing the first bytes. */
static void wrap(struct buf *out, struct buf *doc, const struct document_spec *spec)
{
    buf_puts(out, "/**/");
    buf_str(out, spec->callback);
    buf_putc(out, '(');
    if (format_has(spec->view.format, FORMAT_IS_JSON))
        buf_str(out, str_trim(buf_view(doc)));
    else
        json_write_text(out, buf_view(doc));
    buf_puts(out, ");\n");
}

/* Find the feeds of the set that changed in the second of the document's date. If there is more
 * than one, the document had several states in that second. First fetches do not count, because a
 * set is not served before all its feeds were fetched. There is a query for each, so if they are
 * many, as after a list of feeds was read, the document is doubtful without. */
static enum rc find_other_feeds(struct drawing *d, struct reader *r, struct view v, bool *doubtful,
                                struct err *err)
{
    int64_t id;
    size_t n_now = 0;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < d->n_briefs; i++)
        n_now += d->briefs[i].version / 1000000 >= d->modified_at;
    *doubtful = n_now > ASKED_MAX;
    if (n_now < 2)
        return RC_OK;
    v.feed_ids = &id;
    v.n_feeds = 1;
    for (size_t i = 0; i < d->n_briefs && rc == RC_OK && !*doubtful; i++) {
        struct revision *newest;
        size_t n = 0;

        id = d->briefs[i].id;
        if (d->briefs[i].version / 1000000 < d->modified_at)
            continue;
        rc = reader_rows(r, &v, &d->arena, &newest, &n, err);
        *doubtful =
            rc == RC_OK && (n == 0 || !newest->initial || newest->at_us / 1000000 < d->modified_at);
    }
    return rc;
}

/* Find out whether the document had another state within the second that Last-Modified names (RFC
 * 9110 section 8.8.2.2). All changes of the feeds count, also those that a filter leaves out. All
 * revisions of a batch are of one feed, so the newest batch and the one before it are of the two
 * feeds with the newest revisions. */
static enum rc find_doubt(struct drawing *d, struct reader *r, bool *doubtful, struct err *err)
{
    int64_t ids[2];
    struct view v = drawing_view(d, VIEW_LOG_DESC, 0, INT64_MAX, 1);
    struct revision *newest, *other;
    size_t n = 0, n_other = 0;
    enum rc rc;

    v.filter = NULL;
    v.n_feeds = store_newest_feeds(d->store, v.feed_ids, v.n_feeds, ARRAY_LEN(ids), ids);
    v.feed_ids = ids;
    if (v.n_feeds == 0)
        return find_other_feeds(d, r, v, doubtful, err);
    rc = reader_rows(r, &v, &d->arena, &newest, &n, err);
    if (rc == RC_OK && n > 0) {
        v.before_seq = newest->batch;
        rc = reader_rows(r, &v, &d->arena, &other, &n_other, err);
        v.before_seq = INT64_MAX;
    }
    *doubtful = rc == RC_OK && n_other > 0 && other->at_us / 1000000 >= d->modified_at &&
                !(newest->initial && other->initial && newest->feed_id != other->feed_id);
    return rc != RC_OK || *doubtful ? rc : find_other_feeds(d, r, v, doubtful, err);
}

static enum rc (*const draw_ops[FORM_COUNT_])(struct drawing *, struct reader *, struct err *) = {
#define FORM(id, path, entry_path, draw, entry, traits) [FORM_##id] = draw,
#include "model/forms.def"
#undef FORM
};

static enum rc draw(const struct document_spec *spec, struct store *store, struct reader *r,
                    struct buf *out, struct drawn *drawn, struct err *err)
{
    struct drawing d = {.spec = spec,
                        .store = store,
                        .modified_at = TIME_UNKNOWN,
                        .position = spec->view.after_seq};
    enum rc rc;

    d.briefs = ARENA_ARRAY(&d.arena, struct feed_brief, spec->view.n_feeds + 1);
    d.n_briefs = store_briefs(store, spec->view.feed_ids, spec->view.n_feeds, d.briefs);
    rc = draw_ops[spec->view.form](&d, r, err);

    if (rc == RC_OK) {
        add_hub(&d);
        add_cloud(&d);
    }
    if (rc == RC_OK && spec->extent == EXTENT_DELIVERY && d.n_new == 0) {
        /* nobody will see this document */
    } else if (rc == RC_OK && !str_is_null(spec->callback)) {
        AUTO(buf_release) struct buf bare = BUF_INIT(DRAW_MAX);

        feed_write(&bare, spec->view.format, &d.doc);
        wrap(out, &bare, spec);
    } else if (rc == RC_OK) {
        feed_write(out, spec->view.format, &d.doc);
    }
    if (rc == RC_OK) {
        if (!buf_ok(out))
            rc = err_set(err, RC_LIMIT,
                         "The document would have more than %zu bytes; ask for fewer entries.",
                         DRAW_MAX);
    }
    drawn->is_doubtful = false;
    if (rc == RC_OK && spec->extent != EXTENT_DELIVERY && !spec->is_settled &&
        d.modified_at != TIME_UNKNOWN)
        rc = find_doubt(&d, r, &drawn->is_doubtful, err);
    drawn->modified_at = d.modified_at;
    drawn->is_empty = d.doc.n_entries == 0;
    drawn->n_new = d.n_new;
    drawn->news_at_us = d.news_at_us;
    drawn->position = d.position;
    drawn->is_last = d.is_last;
    drawn->is_private = false;
    for (size_t i = 0; i < d.n_briefs; i++)
        drawn->is_private |= d.briefs[i].is_private;
    arena_release(&d.arena);
    return rc;
}

/* A document of newest entries is read from one state of the database, which is also cheaper than
 * one for each call. Pages of the log are counted up to its end, which a state that was taken
 * before may lack; a delivery looks at the newest state of the feeds. */
static enum rc draw_in_one_state(const struct document_spec *spec, struct store *store,
                                 struct reader *r, struct buf *out, struct drawn *drawn,
                                 struct err *err)
{
    enum rc rc;

    if (spec->view.form != FORM_NEWEST || spec->extent == EXTENT_DELIVERY)
        return draw(spec, store, r, out, drawn, err);
    rc = reader_state_begin(r, err);
    if (rc != RC_OK)
        return rc;
    rc = draw(spec, store, r, out, drawn, err);
    reader_state_end(r);
    return rc;
}

enum rc draw_document(const struct document_spec *spec, struct store *store, struct reader *r,
                      struct buf *out, struct drawn *drawn, struct err *err)
{
    struct err why = ERR_INIT;
    bool used_replica;
    enum rc rc;

    (void)reader_allow_replica(r, true);
    rc = draw_in_one_state(spec, store, r, out, drawn, &why);
    used_replica = reader_allow_replica(r, false);
    if (rc == RC_AGAIN && used_replica) { /* a copy may end what it has begun to answer */
        buf_reset(out);
        rc = draw_in_one_state(spec, store, r, out, drawn, &why);
    }
    if (rc != RC_OK && err != NULL)
        *err = why;
    return rc;
}

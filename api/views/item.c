/* api/views/item.c - GET /item: one revision of an entry as a document, in several formats. The
 * alternates of metadata records lead here (Atom-PMH). A deleted entry is answered with 410. */
#include "api/http/handlers.h"

#include <inttypes.h>

#include "api/http/reply.h"
#include "api/http/task.h"
#include "api/views/drawing.h"
#include "api/views/feedset.h"
#include "api/views/forms.h"
#include "api/views/log_rows.h"
#include "api/views/mirrored.h"
#include "api/views/page_fields.h"
#include "feed/text/json.h"
#include "model/media_types.h"
#include "model/paths.h"
#include "net/http_fields.h"

#define FRESH "max-age=300"
#define FRESH_PRIVATE "private, max-age=300"
#define DOCUMENT_MAX ((size_t)64 * 1024 * 1024)

struct item { /* in the task's arena */
    int64_t feed_id, seq;
    enum entry_format format;
    struct str self;
    struct str mirror; /* as in struct view */
    bool wants_tombstone;
    bool gone, is_private;
    bool is_undated; /* it says what became of files, which changes without it */
    int64_t at;
    struct buf out;
};

static void dispose(struct task *t)
{
    buf_release(&((struct item *)t->data)->out);
}

/* The newest revision of a deleted entry is its deletion. */
static enum rc find_deletion(struct reader *r, const struct revision *row, struct arena *a,
                             struct revision *out, struct err *err)
{
    struct view v = {.feed_ids = &row->feed_id,
                     .n_feeds = 1,
                     .order = VIEW_LOG,
                     .after_seq = row->last_seq - 1,
                     .before_seq = row->last_seq + 1,
                     .len = 1,
                     .with_deleted = true};
    struct revision *rows;
    size_t n;
    enum rc rc = reader_rows(r, &v, a, &rows, &n, err);

    *out = rc == RC_OK && n == 1 ? rows[0] : *row;
    return rc;
}

static enum task_step read_item(struct task *t, struct reader *r)
{
    struct item *item = t->data;
    struct arena *a = &t->arena;
    struct view v = {.feed_ids = &item->feed_id,
                     .n_feeds = 1,
                     .order = VIEW_LOG,
                     .after_seq = item->seq - 1,
                     .before_seq = item->seq + 1,
                     .len = 1,
                     .with_deleted = true};
    struct out_link self = {STR("self"), STR(MEDIA_ATOM), item->self};
    struct feed *feed;
    struct revision *rows;
    struct out_entry e;
    struct out_feed out_feed = {.obj = NULL};
    size_t n;

    t->rc = reader_rows(r, &v, a, &rows, &n, &t->err);
    if (t->rc == RC_OK)
        t->rc = reader_feed(r, item->feed_id, a, &feed, &t->err);
    if (t->rc == RC_NOT_FOUND || (t->rc == RC_OK && n == 0))
        t->rc = item->seq <= store_horizon(t->api->store, &item->feed_id, 1, false)
                    ? err_set(&t->err, RC_GONE, "This revision was taken away, because it was old.")
                    : err_set(&t->err, RC_NOT_FOUND, "There is no such entry.");
    if (t->rc != RC_OK)
        return TASK_ENDS;
    drawing_head(a, feed, &out_feed);
    item->is_private = !log_feed_is_public(t->api->store, item->feed_id);
    item->at = rows[0].at_us / 1000000;
    item->gone = rows[0].gone || rows[0].kind == REV_DELETED;
    if (item->gone) {
        struct revision deletion;

        t->rc = find_deletion(r, &rows[0], a, &deletion, &t->err);
        form_entry(FORM_ARCHIVE, a, &deletion, &out_feed, store_log_id(t->api->store), &e);
        if (t->rc == RC_OK && item->wants_tombstone && e.kind == OUT_TOMBSTONE)
            feed_write_deleted(&item->out, &e);
        return TASK_ENDS;
    }
    form_entry(FORM_NEWEST, a, &rows[0], &out_feed, store_log_id(t->api->store), &e);
    if (json_read(a, rows[0].doc, &e.obj, NULL) != RC_OK)
        e.obj = value_dict(a);
    t->rc = mirrored_item(r, a, item->mirror, e.obj, &e.ext, &t->err);
    if (t->rc != RC_OK)
        return TASK_ENDS;
    if (value_getz(e.obj, "mirror") != NULL) {
        e.json = STR(""); /* which does not have it */
        item->is_undated = true;
    }
    e.links = &self;
    e.n_links = 1;
    feed_write_entry(&item->out, item->format, &e);
    if (!buf_ok(&item->out))
        t->rc = err_set(&t->err, RC_LIMIT, "The document would have more than %zu bytes.",
                        DOCUMENT_MAX);
    return TASK_ENDS;
}

static void on_item(struct task *t, struct request *req)
{
    struct item *item = t->data;
    struct reply reply = REPLY_INIT;
    struct problem p;

    if (t->rc == RC_OK && !item->gone) {
        bool is_private = item->is_private || ask_is_private(&req->ask);
        struct str etag = reply_etag(req->ask.arena, buf_view(&item->out));
        size_t len;
        char *bytes = buf_detach(&item->out, &len);

        reply.media_type = entry_format_media_type(item->format);
        reply.cache = is_private ? FRESH_PRIVATE : FRESH;
        reply.etag = etag;
        reply.modified_at = item->is_undated ? TIME_UNKNOWN : item->at;
        reply.body = blob_new(bytes, len);
        if (item->format == ENTRY_HTML)
            reply.fields = STR(PAGE_FIELDS);
        reply_send(req, &reply);
        blob_unref(&reply.body);
        return;
    }
    if (t->rc == RC_OK && item->out.len > 0) {
        reply_buf(req, 410, MEDIA_ATOM_DELETED MEDIA_UTF8, &item->out, STR("Vary: Accept\r\n"));
        return;
    }
    if (t->rc == RC_OK || t->rc == RC_NOT_FOUND) {
        problem_set(&p, req->ask.arena, PROBLEM_NOT_FOUND,
                    item->gone ? "The publisher has deleted this entry."
                               : "There is no such entry.");
        p.status = item->gone ? 410 : 404;
        p.fields = item->gone ? STR("Vary: Accept\r\n") : STR_NULL;
    } else {
        problem_of_err(&p, req->ask.arena, t->rc, &t->err);
    }
    reply_problem(req, &p);
}

/* A suffix names the format; otherwise Accept decides. */
static bool read_format(struct request *req, struct str *number, struct item *item)
{
    struct str accept = http_request_field(req->http, "accept");
    int best = 0;

    item->wants_tombstone = !str_is_null(accept) &&
                            str_ifind(accept, STR(MEDIA_ATOM_DELETED)) >= 0 &&
                            http_accept_q(accept, STR(MEDIA_ATOM_DELETED)) > 0;
    for (int i = 0; i < ENTRY_FORMAT_COUNT_; i++) {
        struct str suffix = str_from(entry_format_suffix((enum entry_format)i));

        if (!str_ends(*number, suffix))
            continue;
        number->len -= suffix.len;
        item->format = (enum entry_format)i;
        return true;
    }
    req->ask.negotiated = true;
    for (int i = 0; i < ENTRY_FORMAT_COUNT_; i++) {
        int q = http_accept_q(accept, str_from(entry_format_media_type((enum entry_format)i)));

        if (q > best) {
            best = q;
            item->format = (enum entry_format)i;
        }
    }
    return best > 0 || item->wants_tombstone;
}

/* The media types of all formats, with '|' between them. */
static const char *offers(struct arena *a)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    for (int i = 0; i < ENTRY_FORMAT_COUNT_; i++) {
        buf_puts(&out, i > 0 ? "|" : "");
        buf_str(&out, entry_format_bare_type((enum entry_format)i));
    }
    return str_z(a, buf_view(&out));
}

void item_get(struct request *req)
{
    struct str rest = http_request_path(req->http), word;
    struct item wanted = {.out = BUF_INIT(DOCUMENT_MAX)};
    struct feedset set;
    struct problem p;
    struct task *t;
    struct item *item;
    bool is_mirrored;

    rest = str_slice(rest, strlen(PATH_ITEM), rest.len);
    if (str_starts(rest, STR("/")))
        rest = str_slice(rest, 1, rest.len);
    word = str_split(&rest, '/');
    if (!str_is_null(rest) && !read_format(req, &rest, &wanted)) {
        problem_set(&p, req->ask.arena, PROBLEM_NOT_ACCEPTABLE,
                    "The Accept field does not allow any of the types offered here.");
        p.allowed = offers(req->ask.arena);
        p.fields = STR("Vary: Accept\r\n");
        reply_problem(req, &p);
        return;
    }
    if (str_is_null(rest) ||
        !feedset_read(req->ask.arena, word, store_secret(req->ask.api->store), &set) ||
        set.n != 1 || !str_to_i64(rest, &wanted.seq) || wanted.seq < 1 || wanted.seq == INT64_MAX ||
        rest.ptr[0] == '0' || rest.ptr[0] == '+') {
        problem_set(&p, req->ask.arena, PROBLEM_NOT_FOUND,
                    "There is no such entry. Entries are found by following links.");
        reply_problem(req, &p);
        return;
    }
    wanted.feed_id = set.ids[0];
    if (!params_flag(&req->ask.params, req->ask.arena, PARAM_of_mirror, &is_mirrored, &p)) {
        reply_problem(req, &p);
        return;
    }
    t = task_new(req, read_item, on_item);
    item = ARENA_NEW(&t->arena, struct item);
    *item = wanted;
    item->mirror = is_mirrored ? str_dup(&t->arena, req->ask.origin) : STR_NULL;
    item->self =
        str_printf(&t->arena, "%.*s" PATH_ITEM "/%.*s/%" PRId64 "%s", STR_ARG(req->ask.origin),
                   STR_ARG(word), wanted.seq, entry_format_suffix(ENTRY_ATOM));
    t->data = item;
    t->dispose = dispose;
    task_start(t);
}

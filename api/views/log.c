/* api/views/log.c - GET /log: the revisions after a position in the log, with a long poll.
 *
 * `feedmill tail` uses it: a client that keeps the cursor of the last answer misses nothing. */
#include "api/http/handlers.h"

#include <inttypes.h>

#include "api/http/reply.h"
#include "api/http/task.h"
#include "api/views/cursor_find.h"
#include "api/views/document.h"
#include "api/views/feeds_asked.h"
#include "api/views/feedset.h"
#include "api/views/history.h"
#include "api/views/log_query.h"
#include "api/views/log_rows.h"
#include "api/views/log_wait.h"
#include "api/views/mirrored.h"
#include "api/views/seen.h"
#include "base/limits.h"
#include "feed/text/json.h"
#include "feed/write/showing.h"
#include "model/media_types.h"
#include "model/paths.h"

#define MARGIN_MS 60000
#define LOOK_MAX 20000 /* rows that one look reads, whether they are shown or not */
/* After so many bytes of entries, a look stops. Rows that are left out count, too. */
#define LOOK_BYTES ((size_t)8 * 1024 * 1024)
#define ANSWER_MAX ((size_t)256 * 1024 * 1024)

struct log_look { /* one look at the log */
    struct log_query query;
    struct str origin; /* of links; null: rows have none */
    int64_t until_ms;  /* monotonic: the request waits so long */
    int64_t seen;      /* the end of the log before the look */
    size_t n_rows;
    int64_t end;   /* position up to which everything was read */
    int64_t floor; /* of the cursor of the answer */
    bool is_cut;   /* it stopped at LOOK_MAX or LOOK_BYTES */
    struct buf out;
};

static void look(struct request *req, const struct log_query *query, int64_t until_ms);

static void dispose(struct task *t)
{
    struct log_look *l = t->data;

    buf_release(&l->out);
}

/* Add two members to the object that `out` ends with: where the revision has an address of its own,
 * and which one of its entry came before. */
static void write_links(struct task *t, struct buf *out, const struct revision *row)
{
    const struct log_look *l = t->data;
    struct feedset set = {.ids = (int64_t[]){row->feed_id}, .n = 1, .page_size = 1};
    struct str word = feedset_write(&t->arena, &set, store_secret(t->api->store));

    out->len--; /* without the closing brace */
    buf_puts(out, ",\"item\":");
    json_write_text(out, str_printf(&t->arena, "%.*s" PATH_ITEM "/%.*s/%" PRId64,
                                    STR_ARG(l->origin), STR_ARG(word), row->seq));
    if (row->prev_seq > 0)
        buf_printf(out, ",\"prev\":%" PRId64 "}", row->prev_seq);
    else
        buf_puts(out, ",\"prev\":null}");
}

static void write_rows(struct task *t, const struct revision *rows, size_t n,
                       const struct log_feeds *feeds, struct str log_id)
{
    struct log_look *l = t->data;

    buf_puts(&l->out, "{\"revisions\":[");
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_putc(&l->out, ',');
        log_row_write(&l->out, &rows[i], feeds, log_id, l->query.edition, l->floor);
        if (!str_is_null(l->origin) && buf_ok(&l->out))
            write_links(t, &l->out, &rows[i]);
    }
    buf_puts(&l->out, "]");
}

/* Everything in this range was looked at: the rows that were found, and what follows them. Events
 * of feeds have numbers of the log, too, and revisions are removed with their feed, so the end of
 * the log may have no row. A caller that reads the whole log still comes to its end, and one with a
 * filter does not have the same revisions judged again. */
static void move_on(struct log_look *l, const struct view *view, int64_t *at_us)
{
    int64_t end = view->before_seq <= l->seen ? view->before_seq - 1 : l->seen;

    if ((!view->all_feeds && view->filter == NULL) || l->end >= end)
        return;
    l->end = end;
    if (view->filter != NULL)
        *at_us = 0; /* that of the last row may be long before */
}

/* Read the rows after l->end, at most view.len. Sets where the look ended: at the last row, or
 * further on when rows were left out. */
static enum rc read_rows(struct task *t, struct reader *r, struct revision **out, int64_t *at_us)
{
    struct log_look *l = t->data;
    struct view view = l->query.view;
    struct revision *all = ARENA_ARRAY(&t->arena, struct revision, view.len + 1), *rows;
    size_t looked = 0, bytes = 0, n = view.len, kept;
    bool is_bounded = false;

    while (l->n_rows < l->query.view.len && n == view.len && !l->is_cut) {
        enum rc rc;

        view.after_seq = l->end;
        view.before_seq = l->query.view.before_seq;
        view.len = l->query.view.len - l->n_rows;
        is_bounded = log_query_bound(&view, l->end) && view.before_seq <= l->seen;
        rc = reader_rows(r, &view, &t->arena, &rows, &n, &t->err);
        if (rc != RC_OK)
            return rc;
        looked += n;
        if (n > 0) {
            l->end = rows[n - 1].seq;
            *at_us = rows[n - 1].at_us;
        }
        for (size_t i = 0; i < n; i++)
            bytes += rows[i].doc.len;
        l->is_cut = looked >= LOOK_MAX || bytes >= LOOK_BYTES || (is_bounded && n < view.len);
        kept = n;
        if (l->query.view.all_feeds && l->query.caller.role != ROLE_ADMIN)
            rc = seen_keep(t->api->store, t->api->subs, r, &l->query.caller, rows, n, &kept, &t->err);
        if (rc != RC_OK)
            return rc;
        for (size_t i = 0; i < kept; i++)
            all[l->n_rows++] = rows[i];
    }
    if (n < view.len && (!l->is_cut || is_bounded))
        move_on(l, &view, at_us);
    *out = all;
    return RC_OK;
}

static enum task_step work(struct task *t, struct reader *r)
{
    struct log_look *l = t->data;
    struct arena *a = &t->arena;
    struct str log_id = store_log_id(t->api->store);
    struct revision *rows = NULL;
    struct log_feeds feeds = {NULL, 0};
    int64_t seq, at_us = 0;
    char cursor[CURSOR_TEXT];

    t->rc = cursor_find(r, &l->query.from, &l->query.view, true, &seq, &t->err);
    l->end = seq;
    if (t->rc == RC_OK && l->query.view.len > 0)
        t->rc = read_rows(t, r, &rows, &at_us);
    if (t->rc == RC_OK)
        t->rc = history_check(r, &l->query.view, &l->query.from, seq, &l->floor, &t->err);
    if (t->rc == RC_OK)
        t->rc = log_feeds_read(r, a, rows, l->n_rows, &feeds, &t->err);
    if (t->rc == RC_OK && at_us == 0)
        t->rc = log_time_of(r, a, l->end, &at_us, &t->err);
    if (t->rc != RC_OK)
        return TASK_ENDS;
    t->rc = mirrored_rows(r, a, l->query.view.mirror, rows, l->n_rows, &t->err);
    if (t->rc != RC_OK)
        return TASK_ENDS;
    for (size_t i = 0; i < l->n_rows; i++)
        rows[i].doc = showing_document(a, &l->query.view, rows[i].doc);
    seq = l->end;
    write_rows(t, rows, l->n_rows, &feeds, log_id);
    cursor_write_over(cursor, log_id, l->query.edition, seq, l->floor, at_us);
    buf_printf(&l->out, ",\"seq\":%lld,\"cursor\":\"%s\",\"last_seq\":%lld,\"log\":\"%.*s\"}\n",
               (long long)seq, cursor, (long long)store_last_seq(t->api->store), STR_ARG(log_id));
    if (!buf_ok(&l->out))
        t->rc = err_set(&t->err, RC_LIMIT,
                        "The answer would have more than %zu bytes; ask for fewer "
                        "revisions with `max`.",
                        ANSWER_MAX);
    return TASK_ENDS;
}

struct log_wish { /* of a request that waits; in its arena */
    struct log_query query;
    int64_t until_ms;
};

static void on_wake(struct request *req, bool timed_out, void *ctx);

static void wait_for_news(struct request *req, const struct log_query *query, int64_t seen,
                          struct log_wish *wish)
{
    log_wait_start(req, query->view.feed_ids, query->view.n_feeds, query->view.all_feeds,
                   query->has_sets ? query->shown : LOG_WAIT_NO_SETS, seen,
                   wish->until_ms - clock_mono_ms(), on_wake, wish);
}

/* Its views are what they were when the request came, or it is at its end. Its feeds are those of now: a
 * folder may have got one, and one of a view may be protected since then. */
static void look_again(struct request *req, void *ctx)
{
    AUTO(arena_release) struct arena a = ARENA_INIT; /* it may wake often */
    struct log_wish *wish = ctx;
    struct log_query now = wish->query;
    int64_t seen = store_last_seq(req->ask.api->store);
    struct ask ask = req->ask;
    struct problem p;

    ask.arena = &a;
    if (!feeds_asked_is_edition(&ask, wish->query.edition)) {
        cursor_view_changed(&a, &p);
    } else if (log_query_feeds(&ask, &now, &p)) {
        now.view.len = wish->query.view.len;
        /* no query is needed to know that nothing has come */
        if (wish->until_ms != 0 &&
            store_seq_of(ask.api->store, now.view.feed_ids, now.view.n_feeds) <= now.from.seq)
            wait_for_news(req, &now, seen, wish);
        else
            look(req, &now, wish->until_ms);
        return;
    }
    reply_problem(req, &p);
}

static void on_wake(struct request *req, bool timed_out, void *ctx)
{
    struct log_wish *wish = ctx;

    if (timed_out) /* one last look gives the empty answer */
        wish->until_ms = 0;
    if (wish->query.has_sets)
        sub_book_renew(req, look_again, wish);
    else
        look(req, &wish->query, wish->until_ms);
}

static void done(struct task *t, struct request *req)
{
    struct log_look *l = t->data;
    int64_t wait_ms = l->until_ms - clock_mono_ms();

    if (t->rc != RC_OK) {
        struct problem p;

        problem_of_err(&p, req->ask.arena, t->rc, &t->err);
        if (t->rc == RC_LIMIT)
            p.status = 422;
        if (t->rc == RC_GONE)
            history_tell(&req->ask, &l->query.view, l->query.edition, &p);
        reply_problem(req, &p);
    } else if (l->n_rows == 0 && !l->is_cut && l->query.view.len > 0 && wait_ms > 0) {
        struct log_wish *wish = ARENA_NEW(req->ask.arena, struct log_wish);
        struct view *view = &wish->query.view;

        *wish = (struct log_wish){l->query, l->until_ms};
        wish->query.from =
            (struct cursor_spec){.kind = CURSOR_SEQ, .seq = l->end, .floor = l->floor};
        document_copy_view(req->ask.arena, &l->query.view, view);
        wish->query.edition = str_dup(req->ask.arena, l->query.edition);
        wait_for_news(req, &wish->query, l->seen, wish);
    } else {
        reply_buf(req, 200, MEDIA_JSON, &l->out, STR_NULL);
    }
}

/* It was read once already, so it is right. */
static bool wants_links(struct request *req)
{
    struct problem p;
    bool wants;

    return params_flag(&req->ask.params, req->ask.arena, PARAM_links, &wants, &p) && wants;
}

static void look(struct request *req, const struct log_query *query, int64_t until_ms)
{
    struct task *t = task_new(req, work, done);
    struct log_look *l = ARENA_NEW(&t->arena, struct log_look);

    *l = (struct log_look){.query = *query, .until_ms = until_ms, .out = BUF_INIT(ANSWER_MAX)};
    l->query.lasting = STR_NULL; /* of event streams */
    l->origin = wants_links(req) ? str_dup(&t->arena, req->ask.origin) : STR_NULL;
    l->seen = store_last_seq(req->ask.api->store);
    document_copy_view(&t->arena, &query->view, &l->query.view);
    l->query.edition = str_dup(&t->arena, query->edition);
    t->data = l;
    t->dispose = dispose;
    task_start(t);
}

void log_get(struct request *req)
{
    struct log_query query = {.from = {.kind = CURSOR_SEQ, .seq = 0}};
    int64_t max, timeout_s;
    struct str since;
    struct problem p;
    bool links;

    if (!log_query_feeds(&req->ask, &query, &p) ||
        !params_one(&req->ask.params, req->ask.arena, PARAM_since, &since, &p) ||
        !params_flag(&req->ask.params, req->ask.arena, PARAM_links, &links, &p) ||
        !params_count(&req->ask.params, req->ask.arena, PARAM_max, &max, &p) ||
        !params_count(&req->ask.params, req->ask.arena, PARAM_timeout, &timeout_s, &p) ||
        (!str_is_null(since) && !log_query_from(req, param_name(PARAM_since), since, &query, &p))) {
        reply_problem(req, &p);
        return;
    }
    query.view.len = (size_t)max;
    request_hold(req, timeout_s * 1000 + MARGIN_MS);
    look(req, &query, clock_mono_ms() + timeout_s * 1000);
}

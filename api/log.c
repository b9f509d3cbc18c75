/* api/log.c - GET /log: the revisions after a place in the log, with a long poll.
 *
 * The base of `feedmill tail`: whoever keeps the cursor of the last answer misses nothing.
 */
#include "api/resources.h"

#include "api/cursor.h"
#include "api/log_wait.h"
#include "api/reply.h"
#include "api/shapes.h"
#include "base/limits.h"
#include "feed/json.h"

#define WAIT_MAX_S 300
#define MARGIN_MS 60000
#define ANSWER_MAX ((size_t)256 * 1024 * 1024)

/* What a request asks for; in the call's arena. */
struct log_ask {
    struct position from; /* what is behind it, in the view */
    struct view view;
    int64_t until_ms; /* monotonic: waits so long */
};

struct log_look { /* one look at the log */
    struct log_ask ask;
    int64_t seen; /* the end of the log before the look */
    size_t n_rows;
    int64_t after; /* where it began */
    struct buf out;
};

static void look(struct call *c, struct log_ask *ask);

static void dispose(struct task *t)
{
    struct log_look *l = t->data;

    buf_release(&l->out);
}

/* The event time of a seq, for a cursor that stands where no row is at hand. */
static enum rc time_of(struct reader *r, struct arena *a, int64_t seq, int64_t *at_us,
                       struct err *err)
{
    struct view view = {.all_feeds = true,
                        .order = VIEW_LOG_DESC,
                        .before_seq = seq == INT64_MAX ? seq : seq + 1,
                        .len = 1,
                        .with_deleted = true};
    struct revision *rows;
    size_t n;
    enum rc rc = reader_rows(r, &view, a, &rows, &n, err);

    if (rc == RC_OK)
        *at_us = n > 0 ? rows[0].at_us : 0;
    return rc;
}

/* The records of the rows' feeds, by id. */
static enum rc read_feeds(struct reader *r, struct arena *a, const struct revision *rows, size_t n,
                          struct feed_record **feeds, size_t *n_feeds, struct err *err)
{
    int64_t *ids = ARENA_ARRAY(a, int64_t, n + 1);
    size_t n_ids;

    for (size_t i = 0; i < n; i++)
        ids[i] = rows[i].feed_id;
    n_ids = view_ids_sort(ids, n);
    *n_feeds = 0;
    return n_ids == 0 ? RC_OK : reader_feeds(r, ids, n_ids, a, feeds, n_feeds, err);
}

static struct str url_of(const struct feed_record *feeds, size_t n, int64_t id)
{
    for (size_t lo = 0, hi = n; lo < hi;) {
        size_t mid = (lo + hi) / 2;

        if (feeds[mid].id == id)
            return feeds[mid].url;
        if (feeds[mid].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return STR_NULL;
}

static void write_rows(struct buf *out, struct arena *a, const struct revision *rows, size_t n,
                       const struct feed_record *feeds, size_t n_feeds, struct str log_id)
{
    buf_puts(out, "{\"revisions\":[");
    for (size_t i = 0; i < n; i++) {
        struct str url = url_of(feeds, n_feeds, rows[i].feed_id);

        if (i > 0)
            buf_putc(out, ',');
        json_write(out, shape_revision(a, &rows[i], url, log_id));
        if (rows[i].doc.len > 0 && buf_ok(out)) {
            out->len--; /* reopen the object: the stored document is copied, not parsed */
            buf_puts(out, ",\"entry\":");
            buf_str(out, rows[i].doc);
            buf_putc(out, '}');
        }
    }
    buf_puts(out, "]");
}

static bool work(struct task *t, struct reader *r)
{
    struct log_look *l = t->data;
    struct arena *a = &t->arena;
    struct view view = l->ask.view;
    struct str log_id = store_log_id(t->api->store);
    struct revision *rows = NULL;
    struct feed_record *feeds = NULL;
    size_t n_feeds = 0;
    int64_t seq, at_us = 0;
    char cursor[CURSOR_TEXT];

    seq = l->ask.from.seq;
    if (l->ask.from.kind == POSITION_TIME)
        t->rc = reader_seq_at(r, l->ask.from.at_us - 1, &seq, &t->err);
    view.after_seq = l->after = seq;
    if (t->rc == RC_OK && l->ask.view.len > 0)
        t->rc = reader_rows(r, &view, a, &rows, &l->n_rows, &t->err);
    if (t->rc == RC_OK)
        t->rc = read_feeds(r, a, rows, l->n_rows, &feeds, &n_feeds, &t->err);
    if (t->rc == RC_OK && l->n_rows == 0)
        t->rc = time_of(r, a, seq, &at_us, &t->err);
    if (t->rc != RC_OK)
        return true;
    if (l->n_rows > 0) {
        seq = rows[l->n_rows - 1].seq;
        at_us = rows[l->n_rows - 1].at_us;
    }
    write_rows(&l->out, a, rows, l->n_rows, feeds, n_feeds, log_id);
    cursor_write(cursor, log_id, seq, at_us);
    buf_printf(&l->out, ",\"seq\":%lld,\"cursor\":\"%s\",\"last_seq\":%lld,\"log\":\"%.*s\"}\n",
               (long long)seq, cursor, (long long)store_last_seq(t->api->store), STR_ARG(log_id));
    if (!buf_ok(&l->out))
        t->rc = err_set(&t->err, RC_LIMIT,
                        "The answer would pass %zu bytes; ask for fewer "
                        "revisions with `max`.",
                        ANSWER_MAX);
    return true;
}

static void own_ids(struct arena *a, struct view *view)
{
    int64_t *copy = ARENA_ARRAY(a, int64_t, view->n_feeds + 1);

    if (view->n_feeds > 0)
        memcpy(copy, view->feed_ids, view->n_feeds * sizeof(*copy));
    view->feed_ids = copy;
}

static void on_wake(struct call *c, bool timed_out, void *ctx)
{
    struct log_ask *ask = ctx;

    if (timed_out)
        ask->until_ms = 0; /* one last look makes the empty answer */
    look(c, ask);
}

static void done(struct task *t, struct call *c)
{
    struct log_look *l = t->data;
    int64_t wait_ms = l->ask.until_ms - clock_mono_ms();

    if (t->rc != RC_OK) {
        struct problem p;

        problem_of_err(&p, c->arena, t->rc, &t->err);
        if (t->rc == RC_LIMIT)
            p.status = 422;
        reply_problem(c, &p);
    } else if (l->n_rows == 0 && l->ask.view.len > 0 && wait_ms > 0) {
        struct log_ask *ask = ARENA_NEW(c->arena, struct log_ask);

        *ask = l->ask;
        ask->from = (struct position){.kind = POSITION_SEQ, .seq = l->after};
        own_ids(c->arena, &ask->view);
        log_wait_start(c, ask->view.feed_ids, ask->view.n_feeds, ask->view.all_feeds, l->seen,
                       wait_ms, on_wake, ask);
    } else {
        reply_buf(c, 200, "application/json", &l->out, STR_NULL);
    }
}

static void look(struct call *c, struct log_ask *ask)
{
    struct task *t = task_new(c, work, done);
    struct log_look *l = ARENA_NEW(&t->arena, struct log_look);

    *l = (struct log_look){.ask = *ask, .out = BUF_INIT(ANSWER_MAX)};
    l->seen = store_last_seq(c->api->store);
    own_ids(&t->arena, &l->ask.view);
    t->data = l;
    t->dispose = dispose;
    task_start(t);
}

/* The feeds of `url`, which must be known: this call fetches nothing. */
static bool read_ids(struct call *c, struct log_ask *ask, struct problem *p)
{
    struct wanted_url *urls;
    int64_t *ids;
    size_t n;

    if (!params_urls(&c->params, c->arena, false, &urls, &n, p))
        return false;
    ids = ARENA_ARRAY(c->arena, int64_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct feed_brief brief;

        if (!store_find_feed(c->api->store, urls[i].url, urls[i].credential, &brief)) {
            problem_parameter(p, c->arena, "url", urls[i].shown, NULL,
                              "No feed is known by this URL; GET /feed or POST /sub makes it "
                              "known.");
            p->kind = PROBLEM_NOT_FOUND;
            return false;
        }
        ids[i] = brief.id;
    }
    ask->view.all_feeds = n == 0;
    ask->view.feed_ids = ids;
    ask->view.n_feeds = view_ids_sort(ids, n);
    return true;
}

void log_get(struct call *c)
{
    struct log_ask ask = {
        .from = {.kind = POSITION_SEQ, .seq = 0},
        .view = {.order = VIEW_LOG, .before_seq = INT64_MAX, .with_deleted = true},
    };
    int64_t max, timeout_s;
    struct str since;
    struct problem p;

    if (!read_ids(c, &ask, &p) || !params_one(&c->params, c->arena, "since", &since, &p) ||
        !params_count(&c->params, c->arena, "max", DEFAULT_LEN, LIMIT_LEN, &max, &p) ||
        !params_count(&c->params, c->arena, "timeout", 0, WAIT_MAX_S, &timeout_s, &p) ||
        (!str_is_null(since) &&
         !position_read(c->arena, "since", since, store_log_id(c->api->store),
                        store_last_seq(c->api->store), true, &ask.from, &p))) {
        reply_problem(c, &p);
        return;
    }
    ask.view.len = (size_t)max;
    ask.until_ms = clock_mono_ms() + timeout_s * 1000;
    call_hold(c, timeout_s * 1000 + MARGIN_MS);
    look(c, &ask);
}

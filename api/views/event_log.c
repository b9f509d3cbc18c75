/* api/views/event_log.c - see event_log.h. */
#include "api/views/event_log.h"

#include <pthread.h>

#include "api/views/history.h"
#include "api/views/log_rows.h"
#include "api/views/mirrored.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "feed/write/showing.h"
#include "model/cursor.h"

#define ROWS_FIRST 16   /* rows of the first look of a batch; the next looks take more ... */
#define ROWS_MOST 256   /* ... up to this */
#define LOOK_MAX 20000  /* rows that one batch looks at, shown or not */
#define POSTED_MAX 16   /* batches that the loops have not taken yet */
#define JUDGED_MAX 4000 /* numbers of the log that one batch of a filter goes through */
#define RETRY_MS 1000   /* after the log could not be read */

/* ---- batches ---- */

struct event_batch *event_batch_ref(struct event_batch *b)
{
    atomic_fetch_add(&b->refs, 1);
    return b;
}

void event_batch_unref(struct event_batch **bp)
{
    struct event_batch *b = *bp;

    *bp = NULL;
    if (b == NULL || atomic_fetch_sub(&b->refs, 1) > 1)
        return;
    for (size_t i = 0; i < b->n; i++)
        blob_unref(&b->events[i].blob);
    arena_release(&b->arena);
    mem_free(b);
}

/* A batch that is being filled. */
struct filling {
    struct store *store;
    struct sub_book *subs;
    const struct caller *only;
    struct str edition;
    struct arena arena; /* of the owners */
    int64_t floor; /* of the cursors */
    struct event *events;
    size_t n, cap, len;
    int64_t end;
    int64_t end_us; /* 0: not known yet */
    bool is_full;
};

static struct blob *write_event(const struct filling *f, const struct revision *row,
                                const struct log_feeds *feeds)
{
    struct str log_id = store_log_id(f->store);
    struct buf out = BUF_INIT(BUF_ANY);
    char cursor[CURSOR_TEXT], *bytes;
    size_t len;

    cursor_write_over(cursor, log_id, f->edition, row->seq, f->floor, row->at_us);
    buf_printf(&out, "event: %s\nid: %s\ndata: ", revision_kind_name(row->kind), cursor);
    log_row_write(&out, row, feeds, log_id, f->edition, f->floor);
    buf_puts(&out, "\n\n");
    bytes = buf_detach(&out, &len);
    return blob_new(bytes, len);
}

/* Add rows, until the batch is full. */
static void fill(struct filling *f, const struct revision *rows, size_t n, const struct log_feeds *feeds,
                 const struct seen *seen)
{
    for (size_t i = 0; i < n; i++) {
        struct event e = {.seq = rows[i].seq, .feed_id = rows[i].feed_id};
        size_t len;

        e.seen = seen[i];
        if (f->only == NULL || seen_by(&e.seen, f->only)) {
            e.blob = write_event(f, &rows[i], feeds);
            len = blob_bytes(e.blob).len;
            f->is_full = f->n > 0 && f->len + len > EVENT_BATCH_BYTES;
            if (f->is_full) {
                blob_unref(&e.blob);
                return;
            }
            f->events = mem_grow(f->events, &f->cap, f->n + 1, sizeof *f->events);
            f->events[f->n++] = e;
            f->len += len;
        }
        f->end = e.seq;
        f->end_us = rows[i].at_us;
    }
}

/* Everything up to here was looked at, whether it had rows or not. */
static void move_on(struct filling *f, int64_t end)
{
    if (f->end >= end)
        return;
    f->end = end;
    f->end_us = 0;
}

static enum rc look(struct reader *r, struct filling *f, const struct view *view, size_t len,
                    size_t *n, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct view part = *view;
    struct revision *rows;
    struct log_feeds feeds;
    struct seen *seen = ARENA_ARRAY(&a, struct seen, len + 1);
    enum rc rc;

    part.after_seq = f->end;
    part.len = len;
    rc = reader_rows(r, &part, &a, &rows, n, err);
    if (rc == RC_OK)
        rc = log_feeds_read(r, &a, rows, *n, &feeds, err);
    if (rc == RC_OK)
        rc = mirrored_rows(r, &a, view->mirror, rows, *n, err);
    memset(seen, 0, (len + 1) * sizeof *seen);
    if (rc == RC_OK && view->all_feeds)
        rc = seen_read(f->store, f->subs, r, rows, *n, &f->arena, seen, err);
    for (size_t i = 0; rc == RC_OK && i < *n; i++)
        rows[i].doc = showing_document(&a, view, rows[i].doc);
    if (rc == RC_OK)
        fill(f, rows, *n, &feeds, seen);
    return rc;
}

static enum rc time_of(struct reader *r, int64_t seq, int64_t *at_us, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;

    return log_time_of(r, &a, seq, at_us, err);
}

static struct event_batch *batch_new(size_t n)
{
    struct event_batch *b = mem_zalloc(sizeof *b + n * sizeof b->events[0]);

    atomic_init(&b->refs, 1);
    return b;
}

enum rc event_batch_read(struct reader *r, struct store *s, struct sub_book *subs, const struct view *view,
                         const struct caller *only, struct str edition, int64_t from, int64_t floor,
                         struct event_batch **out, struct err *err)
{
    struct filling f = {.store = s,
                        .subs = subs,
                        .only = only,
                        .edition = edition,
                        .floor = floor,
                        .end = from};
    int64_t last = store_last_seq(s); /* before it is read: all up to here will be seen */
    size_t looked = 0, len = ROWS_FIRST, n;
    struct view part = *view;
    enum rc rc;

    if (view->filter != NULL && last - from > JUDGED_MAX) { /* others have their turn in between */
        last = from + JUDGED_MAX;
        part.before_seq = last + 1;
    }
    do {
        rc = look(r, &f, &part, len, &n, err);
        looked += n;
        if (rc == RC_OK && n < len && !f.is_full)
            move_on(&f, last);
        if (n < len)
            break;
        len = len * 2 < ROWS_MOST ? len * 2 : ROWS_MOST;
    } while (rc == RC_OK && !f.is_full && looked < LOOK_MAX);
    if (rc == RC_OK)
        rc = history_check(r, view, &(struct cursor_spec){.kind = CURSOR_SEQ, .floor = floor}, from,
                           &floor, err);
    if (rc == RC_OK && f.end_us == 0)
        rc = time_of(r, f.end, &f.end_us, err);
    stats_inc(STAT_event_reads_total);
    if (rc == RC_OK) {
        struct event_batch *b = batch_new(f.n);

        b->from = from;
        b->end = f.end;
        b->end_us = f.end_us;
        b->n = f.n;
        b->len = f.len + arena_size(&f.arena);
        b->arena = f.arena;
        if (f.n > 0)
            memcpy(b->events, f.events, f.n * sizeof *f.events);
        *out = b;
    } else {
        for (size_t i = 0; i < f.n; i++)
            blob_unref(&f.events[i].blob);
        arena_release(&f.arena);
    }
    mem_free(f.events);
    return rc;
}

/* ---- the thread ---- */

STAILQ_HEAD(work_list, event_work);
LIST_HEAD(tail_list, event_tail);

struct event_log {
    struct store *store;
    struct sub_book *subs;
    pthread_t thread;
    bool joined;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t more;  /* CLOCK_MONOTONIC */
    struct work_list work, slow_work;
    struct tail_list tails;
    int64_t tail_end; /* what was committed up to here, the loops have got */
    int64_t retry_mono_ms;
    int n_posted;
    bool stopping;
};

/* A batch on its way to a loop. */
struct handover {
    struct event_log *log;
    struct event_tail *tail;
    struct event_batch *batch;
};

static void on_handover(void *ctx)
{
    struct handover *d = ctx;
    struct event_log *l = d->log;

    pthread_mutex_lock(&l->lock);
    l->n_posted--;
    pthread_cond_signal(&l->more);
    pthread_mutex_unlock(&l->lock);
    d->tail->fn(d->tail->ctx, d->batch);
    mem_free(d);
}

static bool tail_is_due(const struct event_log *l)
{
    return !LIST_EMPTY(&l->tails) && l->n_posted < POSTED_MAX &&
           store_last_seq(l->store) > l->tail_end && clock_mono_ms() >= l->retry_mono_ms;
}

static void hand_out(struct event_log *l, struct event_batch *batch)
{
    struct event_tail *t;

    LIST_FOREACH (t, &l->tails, link) {
        struct handover *d = NEW(struct handover);

        *d = (struct handover){l, t, event_batch_ref(batch)};
        l->n_posted++;
        loop_post(t->loop, on_handover, d);
    }
    l->tail_end = batch->end;
}

/* What follows cannot be given without a gap, so the streams end. Their clients come again and are
 * told. */
static struct event_batch *batch_gone(struct store *s, int64_t from)
{
    struct event_batch *b = batch_new(0);

    b->from = from;
    b->end = store_last_seq(s);
    b->is_gone = true;
    return b;
}

/* Under the lock, which is given up for the reading. */
static void read_tail(struct event_log *l, struct reader *r)
{
    const struct view all = {
        .all_feeds = true, .order = VIEW_LOG, .before_seq = INT64_MAX, .with_deleted = true};
    struct event_batch *batch = NULL;
    struct err err = ERR_INIT;
    int64_t from = l->tail_end;
    enum rc rc;

    pthread_mutex_unlock(&l->lock);
    rc = event_batch_read(r, l->store, l->subs, &all, NULL, STR_NULL, from, 0, &batch, &err);
    if (rc == RC_GONE) {
        batch = batch_gone(l->store, from);
        rc = RC_OK;
    }
    if (rc != RC_OK)
        log_warn("events", "read_failed", "error=%s retry_ms=%d", log_quote(str_from(err.text)),
                 RETRY_MS);
    pthread_mutex_lock(&l->lock);
    if (rc != RC_OK)
        l->retry_mono_ms = clock_mono_ms() + RETRY_MS;
    else if (l->tail_end == from) /* else all streams have left meanwhile, and others have come */
        hand_out(l, batch);
    event_batch_unref(&batch);
}

/* The first of a list, if there is one. */
static void run_work(struct event_log *l, struct work_list *list, struct reader *r)
{
    struct event_work *w = STAILQ_FIRST(list);

    if (w == NULL)
        return;
    STAILQ_REMOVE_HEAD(list, link);
    pthread_mutex_unlock(&l->lock);
    w->run(w, r);
    pthread_mutex_lock(&l->lock);
}

static void wait_for_more(struct event_log *l)
{
    struct timespec until = clock_mono_after_ms(RETRY_MS);

    if (l->retry_mono_ms > clock_mono_ms())
        pthread_cond_timedwait(&l->more, &l->lock, &until);
    else
        pthread_cond_wait(&l->more, &l->lock);
}

static void *run(void *ctx)
{
    struct event_log *l = ctx;
    struct reader *r = NULL;

    pthread_mutex_lock(&l->lock);
    while (!l->stopping) {
        bool tail = tail_is_due(l);
        bool work = !STAILQ_EMPTY(&l->work) || !STAILQ_EMPTY(&l->slow_work);

        if (!tail && !work) {
            wait_for_more(l);
            continue;
        }
        if (r == NULL) {
            pthread_mutex_unlock(&l->lock);
            r = reader_open(l->store);
            pthread_mutex_lock(&l->lock);
        }
        run_work(l, &l->work, r); /* before the tail: a stream that may not see a feed any more ends first */
        if (tail && r == NULL)
            l->retry_mono_ms = clock_mono_ms() + RETRY_MS;
        else if (tail)
            read_tail(l, r);
        run_work(l, &l->work, r);
        run_work(l, &l->slow_work, r);
    }
    while (!STAILQ_EMPTY(&l->work) || !STAILQ_EMPTY(&l->slow_work)) {
        run_work(l, &l->work, NULL);
        run_work(l, &l->slow_work, NULL);
    }
    pthread_mutex_unlock(&l->lock);
    reader_close(&r);
    return NULL;
}

/* ---- from outside ---- */

struct event_log *event_log_new(struct store *s, struct sub_book *subs)
{
    struct event_log *l = NEW(struct event_log);
    pthread_condattr_t attr;

    l->store = s;
    l->subs = subs;
    STAILQ_INIT(&l->work);
    STAILQ_INIT(&l->slow_work);
    LIST_INIT(&l->tails);
    pthread_mutex_init(&l->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&l->more, &attr);
    pthread_condattr_destroy(&attr);
    ASSERT(pthread_create(&l->thread, NULL, run, l) == 0);
    return l;
}

void event_log_notice(struct event_log *l)
{
    pthread_mutex_lock(&l->lock);
    if (!LIST_EMPTY(&l->tails))
        pthread_cond_signal(&l->more);
    pthread_mutex_unlock(&l->lock);
}

void event_log_stop(struct event_log *l)
{
    if (l->joined)
        return;
    pthread_mutex_lock(&l->lock);
    l->stopping = true;
    pthread_cond_signal(&l->more);
    pthread_mutex_unlock(&l->lock);
    pthread_join(l->thread, NULL);
    l->joined = true;
}

void event_log_free(struct event_log **lp)
{
    struct event_log *l = *lp;

    if (l == NULL)
        return;
    event_log_stop(l);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->more);
    mem_free(l);
    *lp = NULL;
}

int64_t event_log_join(struct event_log *l, struct event_tail *tail)
{
    int64_t end;

    pthread_mutex_lock(&l->lock);
    if (LIST_EMPTY(&l->tails)) /* nobody has looked since the last one left */
        l->tail_end = store_last_seq(l->store);
    LIST_INSERT_HEAD(&l->tails, tail, link);
    end = l->tail_end;
    pthread_mutex_unlock(&l->lock);
    return end;
}

void event_log_leave(struct event_log *l, struct event_tail *tail)
{
    pthread_mutex_lock(&l->lock);
    LIST_REMOVE(tail, link);
    pthread_mutex_unlock(&l->lock);
}

bool event_log_run(struct event_log *l, struct event_work *w)
{
    bool taken;

    pthread_mutex_lock(&l->lock);
    taken = !l->stopping;
    if (taken) {
        if (w->is_first)
            STAILQ_INSERT_HEAD(&l->work, w, link);
        else
            STAILQ_INSERT_TAIL(w->is_slow ? &l->slow_work : &l->work, w, link);
        pthread_cond_signal(&l->more);
    }
    pthread_mutex_unlock(&l->lock);
    return taken;
}

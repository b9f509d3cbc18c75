/* api/views/event_streams.c - see event_streams.h.
 *
 * A loop keeps the last batches of what was committed. A stream that stands within them is served
 * from there: that is how news reach streams, and how a client that reads slowly for a moment goes
 * on. A stream that stands further back has the log read for its question; streams with the same
 * question at the same position share one reading.
 *
 * So do streams with a filter, and streams that show less of entries, also for what was just
 * committed: a document is parsed for it, and what has left is told by the revision before. Only
 * batches without any event of their feeds are passed over on the loop. Such readings take turns
 * with those of the log on its thread, one for each question and position. If there are more of
 * them than it can do, each takes more commits together.
 *
 * A stream is freed when its client has left (on_gone) or when it is ended here. The first never
 * happens inside a call of http_stream_send() or http_stream_end(), so streams can be walked over.
 */
#include "api/views/event_streams.h"

#include <stdio.h>

#include "api/http/reply.h"
#include "api/http/ticket.h"
#include "api/http/token_book.h"
#include "api/views/cursor_find.h"
#include "api/views/event_log.h"
#include "api/views/event_questions.h"
#include "api/views/feeds_asked.h"
#include "api/views/history.h"
#include "api/views/log_rows.h"
#include "api/views/sub_book.h"
#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "model/filter.h"

#define RETRY_MS 2000                /* what a client is told to wait before it comes again */
#define OPEN_MS 60000                /* for the look that opens a stream */
#define UNSENT_MAX EVENT_BATCH_BYTES /* a stream waits with so much, or with one larger event */
#define KEPT_MAX 64                  /* batches that a loop keeps ... */
#define KEPT_BYTES                                                                                 \
    ((size_t)4 * 1024 * 1024) /* ... and their bytes; the newest stays in any case                 \
                               */
#define PIECES_MAX 64         /* events given to a stream in one call */

struct event_stream {
    TAILQ_ENTRY(event_stream) link;       /* in the order of their next comments */
    LIST_ENTRY(event_stream) reader_link; /* with `reading` */
    struct event_loop *home;
    struct http_stream *http;
    struct question *question;
    struct feeds_kept *kept;   /* what was asked, if its feeds may change; NULL: they may not */
    struct reading *reading;   /* it waits for this; NULL: for nothing */
    int64_t position;          /* it was given everything up to here */
    int64_t floor;             /* what was taken away up to here its client knows to be lost */
    int64_t told;              /* the last id that its client has got */
    int64_t position_us;       /* the event time of `position`, when that is greater than `told` */
    int64_t beat_mono_ms;      /* its next comment */
    struct caller caller;      /* that opened it, without its source */
    const struct api_cfg *cfg; /* the options by which it was admitted */
};
TAILQ_HEAD(stream_list, event_stream);
LIST_HEAD(reading_streams, event_stream);

/* A look at the log for the streams with this question at this position. */
struct reading {
    struct event_work work;
    LIST_ENTRY(reading) link;
    struct event_loop *home;
    struct question *question; /* held */
    int64_t from, floor;
    struct reading_streams streams;
    struct event_batch *batch; /* NULL: it failed */
};
LIST_HEAD(reading_list, reading);

/* The streams of one http loop. */
struct event_loop {
    LIST_ENTRY(event_loop) link;
    struct events *events;
    struct loop *loop;
    struct event_tail tail;
    struct stream_list streams;
    struct reading_list readings;
    struct map questions;
    struct loop_timer *beat;
    int64_t tail_end; /* the end of the newest batch */
    struct event_batch *kept[KEPT_MAX];
    size_t n_kept, kept_len;
};
LIST_HEAD(event_loop_list, event_loop);

struct events {
    struct api *api;
    struct store *store;
    struct event_log *log;
    int64_t beat_ms;
    struct blob *comment;
    atomic_int n_changing; /* streams whose feeds may change */
    atomic_bool is_told;   /* that they may have changed, and nobody has looked yet */
    struct event_work looking;
    pthread_mutex_t lock; /* guards the rest */
    struct event_loop_list loops;
    bool ended;
};

/* ---- giving ---- */

struct handful { /* what is given in one call */
    struct blob *pieces[PIECES_MAX];
    size_t n, len;
};

static void give_handful(struct event_stream *s, struct handful *h)
{
    if (h->n > 0)
        http_stream_send(s->http, h->pieces, h->n);
    stats_add(STAT_events_total, (int64_t)h->n);
    h->n = h->len = 0;
}

/* May this stream wait with so much more? One event may be larger than that, and goes alone. */
static bool has_room(const struct event_stream *s, const struct handful *h, size_t len)
{
    size_t waits = http_stream_unsent(s->http) + h->len;

    return waits == 0 || waits + len <= UNSENT_MAX;
}

/* Give what the stream asks for of a batch in which it stands, and which was read for its question,
 * or has nothing to be judged. False: there is no room for more; it stands where it got to. */
static bool give(struct event_stream *s, const struct event_batch *batch)
{
    struct handful h = {.n = 0};

    for (size_t i = 0; i < batch->n; i++) {
        const struct event *e = &batch->events[i];
        size_t len = blob_bytes(e->blob).len;

        if (e->seq <= s->position || !question_wants(s->question, e))
            continue;
        if (h.n == PIECES_MAX || !has_room(s, &h, len))
            give_handful(s, &h);
        if (!has_room(s, &h, len))
            return false;
        h.pieces[h.n++] = blob_ref(e->blob);
        h.len += len;
        s->position = s->told = e->seq;
    }
    give_handful(s, &h);
    if (s->position < batch->end) {
        s->position = batch->end;
        s->position_us = batch->end_us;
    }
    return true;
}

/* Is there anything in the batch that must be read for this stream? */
static bool must_be_read(const struct event_stream *s, const struct event_batch *batch)
{
    if (!question_reads_alone(s->question))
        return false;
    for (size_t i = batch->n; i-- > 0 && batch->events[i].seq > s->position;)
        if (question_wants(s->question, &batch->events[i]))
            return true;
    return false;
}

/* The batch in which the position stands; NULL: the loop does not keep it. */
static struct event_batch *kept_at(const struct event_loop *el, int64_t position)
{
    for (size_t i = el->n_kept; i-- > 0;)
        if (el->kept[i]->from <= position)
            return position < el->kept[i]->end ? el->kept[i] : NULL;
    return NULL;
}

static void start_reading(struct event_stream *s);

/* Give the stream what there is, as long as its client reads. */
static void advance(struct event_stream *s)
{
    struct event_loop *el = s->home;

    while (s->reading == NULL && s->position < el->tail_end) {
        struct event_batch *batch = kept_at(el, s->position);

        if (batch == NULL || must_be_read(s, batch)) {
            if (http_stream_unsent(s->http) == 0)
                start_reading(s);
            return;
        }
        if (!give(s, batch))
            return;
    }
}

/* ---- life of a stream ---- */

static void forget_batches(struct event_loop *el, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        el->kept_len -= el->kept[i]->len;
        event_batch_unref(&el->kept[i]);
    }
    el->n_kept -= n;
    memmove(el->kept, el->kept + n, el->n_kept * sizeof el->kept[0]);
}

static void stream_free(struct event_stream *s)
{
    struct event_loop *el = s->home;

    if (s->reading != NULL)
        LIST_REMOVE(s, reader_link);
    TAILQ_REMOVE(&el->streams, s, link);
    question_drop(&el->questions, s->question);
    if (s->kept != NULL)
        atomic_fetch_sub(&el->events->n_changing, 1);
    feeds_kept_free(&s->kept);
    mem_free(s);
    stats_add(STAT_event_streams, -1);
    if (!TAILQ_EMPTY(&el->streams))
        return;
    event_log_leave(el->events->log, &el->tail);
    loop_timer_cancel(&el->beat);
    forget_batches(el, el->n_kept);
}

static void on_gone(void *ctx)
{
    stream_free(ctx);
}

static void on_room(void *ctx)
{
    advance(ctx);
}

static void end_stream(struct event_stream *s)
{
    http_stream_end(s->http);
    stream_free(s);
}

static void end_streams(struct event_loop *el,
                        bool (*which)(const struct event_stream *s, int64_t feed_id),
                        int64_t feed_id)
{
    struct event_stream *s, *next;

    for (s = TAILQ_FIRST(&el->streams); s != NULL; s = next) {
        next = TAILQ_NEXT(s, link);
        if (which(s, feed_id))
            end_stream(s);
    }
}

/* ---- comments ---- */

static void on_beat(void *ctx);

/* A comment that also says where the stream stands, so that a client that comes again after a long
 * time does not have all of that read once more. An id without data is
 * not dispatched as an event. */
static struct blob *id_line(struct str log_id, struct str edition, int64_t seq, int64_t floor,
                            int64_t at_us)
{
    char cursor[CURSOR_TEXT], text[CURSOR_TEXT + 16];
    int n;

    cursor_write_over(cursor, log_id, edition, seq, floor, at_us);
    n = snprintf(text, sizeof text, ":\nid: %s\n\n", cursor);
    return blob_copy(str_of(text, (size_t)n));
}

static void set_beat(struct event_loop *el)
{
    struct event_stream *first = TAILQ_FIRST(&el->streams);

    if (first != NULL && el->beat == NULL)
        el->beat = loop_timer_start(el->loop, first->beat_mono_ms - clock_mono_ms(), on_beat, el);
}

static bool has_lost_right(const struct event_stream *s, int64_t feed_id UNUSED)
{
    return !ask_may_go_on(s->home->events->api, s->cfg, &s->caller);
}

static void on_beat(void *ctx)
{
    struct event_loop *el = ctx;
    int64_t now = clock_mono_ms();
    struct event_stream *s;

    el->beat = NULL;
    while ((s = TAILQ_FIRST(&el->streams)) != NULL && s->beat_mono_ms <= now) {
        struct blob *comment = el->events->comment;

        s->beat_mono_ms = now + el->events->beat_ms;
        TAILQ_REMOVE(&el->streams, s, link);
        TAILQ_INSERT_TAIL(&el->streams, s, link);
        if (has_lost_right(s, 0)) {
            end_stream(s);
            continue;
        }
        if (http_stream_unsent(s->http) > 0)
            continue; /* what waits there does the same service */
        if (s->told < s->position) {
            comment = id_line(store_log_id(el->events->store), s->question->edition, s->position,
                              s->floor, s->position_us);
            s->told = s->position;
        } else {
            blob_ref(comment);
        }
        http_stream_send(s->http, &comment, 1);
    }
    set_beat(el);
}

static bool is_any(const struct event_stream *s UNUSED, int64_t feed_id UNUSED)
{
    return true;
}

/* ---- what is committed ---- */

static void keep(struct event_loop *el, struct event_batch *batch)
{
    if (el->n_kept == KEPT_MAX)
        forget_batches(el, 1);
    el->kept[el->n_kept++] = batch;
    el->kept_len += batch->len;
    while (el->kept_len > KEPT_BYTES && el->n_kept > 1)
        forget_batches(el, 1);
}

static void on_tail(void *ctx, struct event_batch *batch)
{
    struct event_loop *el = ctx;
    struct event_stream *s;

    if (TAILQ_EMPTY(&el->streams) || batch->from != el->tail_end) {
        event_batch_unref(&batch); /* it was sent before all streams left, or others came */
        return;
    }
    if (batch->is_gone) {
        event_batch_unref(&batch);
        end_streams(el, is_any, 0);
        return;
    }
    keep(el, batch);
    el->tail_end = batch->end;
    TAILQ_FOREACH (s, &el->streams, link)
        advance(s);
}

/* ---- what was committed before ---- */

static void on_read(void *ctx)
{
    struct reading *reading = ctx;
    struct event_loop *el = reading->home;
    struct event_stream *s;

    LIST_REMOVE(reading, link);
    while ((s = LIST_FIRST(&reading->streams)) != NULL) {
        LIST_REMOVE(s, reader_link);
        s->reading = NULL;
        if (reading->batch == NULL)
            end_stream(s); /* its client comes again */
        else if (give(s, reading->batch))
            advance(s);
    }
    question_drop(&el->questions, reading->question);
    event_batch_unref(&reading->batch);
    mem_free(reading);
}

/* The thread of the event log. */
static void read_back(struct event_work *w, struct reader *r)
{
    struct reading *reading = CONTAINER_OF(w, struct reading, work);
    const struct question *q = reading->question;
    const struct caller *only = q->view.all_feeds && q->caller.role != ROLE_ADMIN ? &q->caller : NULL;
    const struct events *e = reading->home->events;

    if (r == NULL ||
        event_batch_read(r, e->store, e->api->subs, &q->view, only, q->edition,
                         reading->from, reading->floor, &reading->batch, NULL) != RC_OK)
        reading->batch = NULL;
    loop_post(reading->home->loop, on_read, reading);
}

static void start_reading(struct event_stream *s)
{
    struct event_loop *el = s->home;
    struct reading *reading;

    LIST_FOREACH (reading, &el->readings, link)
        if (reading->question == s->question && reading->from == s->position &&
            reading->floor == s->floor)
            break;
    if (reading == NULL) {
        reading = NEW(struct reading);
        *reading = (struct reading){
            .work = {.run = read_back, .is_slow = question_reads_alone(s->question)},
            .home = el,
            .question = s->question,
            .from = s->position,
            .floor = s->floor};
        if (!event_log_run(el->events->log, &reading->work)) {
            mem_free(reading); /* the server is stopping, and ends the stream */
            return;
        }
        s->question->n_holders++;
        LIST_INIT(&reading->streams);
        LIST_INSERT_HEAD(&el->readings, reading, link);
    }
    s->reading = reading;
    LIST_INSERT_HEAD(&reading->streams, s, reader_link);
}

/* ---- opening ---- */

/* The look that finds the position of a request. */
struct opening {
    struct event_work work;
    struct ticket ticket;
    struct store *store;
    struct log_query query; /* feeds and filter are in the request's arena: for its loop only */
    enum rc rc;
    struct err err;
    int64_t seq, floor, at_us;
};

static struct event_loop *loop_of(struct events *e, struct loop *loop)
{
    struct event_loop *el;

    pthread_mutex_lock(&e->lock);
    LIST_FOREACH (el, &e->loops, link)
        if (el->loop == loop)
            break;
    if (el == NULL) {
        el = NEW(struct event_loop);
        el->events = e;
        el->loop = loop;
        el->tail = (struct event_tail){.loop = loop, .fn = on_tail, .ctx = el};
        TAILQ_INIT(&el->streams);
        LIST_INIT(&el->readings);
        LIST_INSERT_HEAD(&e->loops, el, link);
    }
    pthread_mutex_unlock(&e->lock);
    return el;
}

/* The first lines: they give the position a name before there is an event, so that a client that
 * is cut off early goes on from here. */
static struct blob *preamble(struct str log_id, struct str edition, int64_t seq, int64_t floor,
                             int64_t at_us)
{
    char cursor[CURSOR_TEXT], text[CURSOR_TEXT + 64];
    int n;

    cursor_write_over(cursor, log_id, edition, seq, floor, at_us);
    n = snprintf(text, sizeof text, "retry: %d\nid: %s\n\n", RETRY_MS, cursor);
    return blob_copy(str_of(text, (size_t)n));
}

static struct http_stream *reply(struct request *req, struct event_stream *s)
{
    struct reply r = REPLY_INIT;

    r.media_type = "text/event-stream";
    r.cache = "no-store";
    r.fields = STR("X-Accel-Buffering: no\r\n");
    return reply_stream(req, &r, on_room, on_gone, s);
}

static void reply_ended(struct request *req)
{
    struct http_stream *http = reply(req, NULL);

    if (http != NULL)
        http_stream_end(http);
}

static bool has_ended(struct events *e)
{
    bool ended;

    pthread_mutex_lock(&e->lock);
    ended = e->ended;
    pthread_mutex_unlock(&e->lock);
    return ended;
}

static void tell_sets(struct events *e);

static void open_stream(struct request *req, const struct opening *o)
{
    struct events *e = req->ask.api->events;
    struct event_loop *el = loop_of(e, http_request_loop(req->http));
    struct event_stream *s;
    struct blob *first;

    if (has_ended(e)) {
        reply_ended(req);
        return;
    }
    s = NEW(struct event_stream);
    s->home = el;
    s->question = question_take(&el->questions, &o->query);
    if (o->query.has_sets) {
        s->kept = feeds_kept_new(&req->ask, o->query.lasting);
        atomic_fetch_add(&e->n_changing, 1);
        if (sub_book_edition(req->ask.api->subs) !=
            o->query.shown) /* it has changed since it was asked */
            tell_sets(e);
    }
    s->position = s->told = o->seq;
    s->floor = o->floor;
    s->caller = req->ask.caller;
    s->caller.source = STR_NULL;
    s->cfg = req->ask.cfg;
    s->beat_mono_ms = clock_mono_ms() + e->beat_ms;
    s->http = reply(req, s);
    ASSERT(s->http != NULL); /* it is a GET, and its client is there */
    stats_add(STAT_event_streams, 1);
    if (TAILQ_EMPTY(&el->streams))
        el->tail_end = event_log_join(e->log, &el->tail);
    TAILQ_INSERT_TAIL(&el->streams, s, link);
    set_beat(el);
    first = preamble(store_log_id(e->store), s->question->edition, o->seq, o->floor, o->at_us);
    http_stream_send(s->http, &first, 1);
    advance(s);
}

static void on_found(struct request *req, void *work)
{
    struct opening *o = work;
    struct problem p;

    if (req != NULL && o->rc == RC_OK) {
        open_stream(req, o);
    } else if (req != NULL && o->rc == RC_CLOSED) {
        reply_ended(req);
    } else if (req != NULL) {
        problem_of_err(&p, req->ask.arena, o->rc, &o->err);
        if (o->rc == RC_GONE)
            history_tell(&req->ask, &o->query.view, o->query.edition, &p);
        reply_problem(req, &p);
    }
    mem_free(o);
}

/* The thread of the event log. */
static void find_position(struct event_work *w, struct reader *r)
{
    struct opening *o = CONTAINER_OF(w, struct opening, work);
    AUTO(arena_release) struct arena a = ARENA_INIT;
    const struct view all = {.all_feeds = true, .order = VIEW_LOG, .with_deleted = true};

    if (r == NULL)
        o->rc = RC_CLOSED;
    else
        o->rc = cursor_find(r, &o->query.from, &all, true, &o->seq, &o->err);
    if (o->rc == RC_OK)
        o->rc = history_check(r, &o->query.view, &o->query.from, o->seq, &o->floor, &o->err);
    if (o->rc == RC_OK)
        o->rc = log_time_of(r, &a, o->seq, &o->at_us, &o->err);
    ticket_post(&o->ticket, on_found, o);
}

void events_start(struct request *req, const struct log_query *query)
{
    struct opening *o;

    if (str_eqz(http_request_method(req->http), "HEAD")) {
        reply_ended(req);
        return;
    }
    o = NEW(struct opening);
    o->work.run = find_position;
    o->query = *query;
    o->ticket = ticket_take(req, OPEN_MS);
    if (event_log_run(req->ask.api->events->log, &o->work))
        return;
    reply_ended(req);
    mem_free(o);
}

/* ---- all loops ---- */

static void look_at_sets(struct event_work *w, struct reader *r);

struct events *events_new(struct api *api, struct store *s, int64_t beat_ms)
{
    struct events *e = NEW(struct events);

    e->api = api;
    e->looking.run = look_at_sets;
    e->looking.is_first = true;
    e->store = s;
    e->beat_ms = beat_ms;
    e->comment = blob_copy(STR(":\n\n"));
    pthread_mutex_init(&e->lock, NULL);
    LIST_INIT(&e->loops);
    e->log = event_log_new(s, api->subs);
    return e;
}

static bool is_of_feed(const struct event_stream *s, int64_t feed_id)
{
    return question_names(s->question, feed_id);
}

/* Does it name a feed that is gone? */
static bool is_of_gone(const struct event_stream *s, int64_t feed_id UNUSED)
{
    const struct question *q = s->question;
    struct feed_brief feed;

    for (size_t i = 0; i < q->view.n_feeds; i++)
        if (!store_brief(s->home->events->store, q->view.feed_ids[i], &feed))
            return true;
    return false;
}

static void post_to_loops(struct events *e, loop_fn *fn)
{
    struct event_loop *el;

    LIST_FOREACH (el, &e->loops, link)
        loop_post(el->loop, fn, el);
}

static void end_all(void *ctx)
{
    end_streams(ctx, is_any, 0);
}

static void on_look(void *ctx)
{
    end_streams(ctx, has_lost_right, 0);
}

struct merger {
    struct event_loop *home;
    int64_t feed_id;
};

static void on_merger(void *ctx)
{
    struct merger *m = ctx;

    end_streams(m->home, is_of_feed, m->feed_id);
    mem_free(m);
}

/* Another feed has taken this one over. Streams that name it are ended: their clients come again
 * from where they stand, and their URL then leads to the other feed. */
static void tell_merger(struct events *e, int64_t feed_id)
{
    struct event_loop *el;

    pthread_mutex_lock(&e->lock);
    LIST_FOREACH (el, &e->loops, link) {
        struct merger *m = NEW(struct merger);

        *m = (struct merger){el, feed_id};
        loop_post(el->loop, on_merger, m);
    }
    pthread_mutex_unlock(&e->lock);
}

static void on_anew(void *ctx)
{
    end_streams(ctx, is_of_gone, 0);
}

/* All was read anew, and nothing says which feeds were taken over meanwhile. */
static void tell_anew(struct events *e)
{
    pthread_mutex_lock(&e->lock);
    post_to_loops(e, on_anew);
    pthread_mutex_unlock(&e->lock);
}

void events_look(struct events *e)
{
    pthread_mutex_lock(&e->lock);
    post_to_loops(e, on_look);
    pthread_mutex_unlock(&e->lock);
}

/* Would it now be another stream? Its feeds, its filter or the definition of its views may have
 * changed. */
static bool is_another(const struct event_stream *s, int64_t feed_id UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    const struct view *had = &s->question->view;
    struct log_query now;
    struct problem p;
    struct ask ask;

    if (s->kept == NULL)
        return false;
    ask = feeds_kept_ask(s->kept, &a);
    return !log_query_feeds(&ask, &now, &p) || now.view.n_feeds != had->n_feeds ||
           !str_eq(now.edition, s->question->edition) ||
           !str_eq(now.lasting, feeds_kept_lasting(s->kept)) ||
           (had->n_feeds > 0 &&
            memcmp(now.view.feed_ids, had->feed_ids, had->n_feeds * sizeof *had->feed_ids) != 0);
}

static void on_sets(void *ctx)
{
    end_streams(ctx, is_another, 0);
}

/* The thread of the event log. Streams that would be others now are ended, and their clients come
 * again from where they stand; those of a view that was changed are told to start again. */
static void look_at_sets(struct event_work *w, struct reader *r)
{
    struct events *e = CONTAINER_OF(w, struct events, looking);
    struct err err = ERR_INIT;

    atomic_store(&e->is_told, false);
    if (r == NULL)
        return;
    if (sub_book_refresh(e->api->subs, r, &err) != RC_OK) /* the next change is looked at again */
        log_debug("api", "sets_not_read", "error=%s", log_quote(str_from(err.text)));
    pthread_mutex_lock(&e->lock);
    post_to_loops(e, on_sets);
    pthread_mutex_unlock(&e->lock);
}

static void tell_sets(struct events *e)
{
    if (atomic_load(&e->n_changing) > 0 && !atomic_exchange(&e->is_told, true) &&
        !event_log_run(e->log, &e->looking))
        atomic_store(&e->is_told, false);
}

void events_notice(struct events *e, const struct commit_notice *notice)
{
    event_log_notice(e->log);
    if (notice->n_subs > 0 || notice->has_view_news || notice->has_protected || notice->is_anew)
        tell_sets(e);
    if (notice->is_anew)
        tell_anew(e);
    for (size_t i = 0; i < notice->n_feeds; i++)
        if (notice->feeds[i].is_gone)
            tell_merger(e, notice->feeds[i].feed_id);
}

void events_stop(struct events *e)
{
    event_log_stop(e->log);
    pthread_mutex_lock(&e->lock);
    e->ended = true;
    post_to_loops(e, end_all);
    pthread_mutex_unlock(&e->lock);
}

void events_free(struct events **ep)
{
    struct events *e = *ep;
    struct event_loop *el;

    if (e == NULL)
        return;
    while ((el = LIST_FIRST(&e->loops)) != NULL) {
        LIST_REMOVE(el, link);
        map_release(&el->questions, NULL);
        mem_free(el);
    }
    event_log_free(&e->log);
    blob_unref(&e->comment);
    pthread_mutex_destroy(&e->lock);
    mem_free(e);
    *ep = NULL;
}

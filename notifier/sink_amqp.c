/* notifier/sink_amqp.c - messages to an exchange of a broker: one for each revision.
 *
 * A delivery is a run of the log: what the subscription gets next, of all its feeds, in the order
 * of the log. All of its messages are on their way together, and each is acknowledged alone. The
 * body of a message is the object of /log. Each message names the cursor of the one before it. */
#include <inttypes.h>

#include "base/clock.h"
#include "feed/text/json.h"
#include "feed/write/log_object.h"
#include "model/cursor.h"
#include "notifier/carrier_amqp.h"
#include "notifier/push_job.h"

/* As in entries.c: below this, moving the position is not worth a write. */
#define SKIP_MIN 256

#define EVENT_TYPE STR("feed.state")
#define TEST STR("test")

/* What is written into. */
struct writing {
    struct push_job *job;
    struct reader *r;
    struct amqp_load *load;
    struct broker_message *messages;
    size_t *ends;
    struct log_mark *marks;
    struct log_mark prev;
    struct str log_id, url; /* url: of feed_id */
    int64_t feed_id;
    bool is_full;
};

static struct str cursor_text(struct arena *a, struct str log_id, struct log_mark mark)
{
    char text[CURSOR_TEXT];

    cursor_write(text, log_id, mark.seq, mark.at_us);
    return str_dup(a, str_from(text));
}

static enum rc read_url(struct writing *w, int64_t feed_id)
{
    struct str title;
    enum rc rc;

    if (w->feed_id == feed_id)
        return RC_OK;
    rc = reader_feed_name(w->r, feed_id, w->job->arena, &w->url, &title, &w->job->err);
    w->feed_id = rc == RC_OK ? feed_id : 0;
    return rc;
}

static void write_event(struct buf *body, const struct feed_event *event, struct str url,
                        struct str log_id)
{
    char cursor[CURSOR_TEXT], at[CLOCK_TEXT];

    cursor_write(cursor, log_id, event->seq, event->at_us);
    clock_rfc3339_us(event->at_us, at);
    buf_printf(body,
               "{\"seq\":%" PRId64
               ",\"cursor\":\"%s\",\"at\":\"%s\",\"kind\":\"%s\",\"feed\":%" PRId64 ",\"url\":",
               event->seq, cursor, at, feed_event_name(event->kind), event->feed_id);
    json_write_text(body, url);
    buf_puts(body, ",\"detail\":");
    if (str_is_null(event->detail))
        buf_puts(body, "null");
    else
        json_write_text(body, event->detail);
    buf_putc(body, '}');
}

/* Add the message whose body was written. False: it does not fit any more. */
static bool add(struct writing *w, struct str type, struct str kind, struct log_mark mark)
{
    struct arena *a = w->job->arena;
    struct amqp_load *load = w->load;
    struct buf *body = &w->job->load.body;
    size_t i = load->n, end = i == 0 ? 0 : w->ends[i - 1];

    if (!buf_ok(body) || (i > 0 && body->len > SINK_BODY_USUAL)) {
        if (i > 0)
            body->len = end; /* without what was begun */
        w->is_full = true;
        return false;
    }
    w->messages[i] =
        (struct broker_message){.key = amqp_key_fill(a, load->to.key, w->feed_id, kind),
                                .type = type,
                                .id = str_printf(a, "%.*s:%" PRId64, STR_ARG(w->log_id), mark.seq),
                                .prev_cursor = cursor_text(a, w->log_id, w->prev),
                                .cursor = cursor_text(a, w->log_id, mark),
                                .feed_url = w->url,
                                .subscription = w->job->sub_id,
                                .at_s = mark.at_us / 1000000};
    w->ends[i] = body->len;
    w->marks[i] = mark;
    w->prev = mark;
    load->n++;
    return true;
}

static enum rc add_revision(struct writing *w, const struct revision *rev)
{
    struct str kind = str_from(revision_kind_name(rev->kind));
    enum rc rc = read_url(w, rev->feed_id);

    if (rc != RC_OK)
        return rc;
    log_object_write(&w->job->load.body, rev, w->url, w->log_id);
    add(w, kind, kind, (struct log_mark){rev->seq, rev->at_us});
    return RC_OK;
}

static enum rc add_event(struct writing *w, const struct feed_event *event)
{
    enum rc rc = read_url(w, event->feed_id);

    if (rc != RC_OK)
        return rc;
    write_event(&w->job->load.body, event, w->url, w->log_id);
    add(w, EVENT_TYPE, str_from(feed_event_name(event->kind)),
        (struct log_mark){event->seq, event->at_us});
    return RC_OK;
}

/* Get ready to write at most `max` messages. */
static enum rc begin(struct writing *w, struct push_job *job, struct reader *r, size_t max)
{
    struct amqp_load *load = ARENA_NEW(job->arena, struct amqp_load);
    enum rc rc = amqp_url_read(job->arena, job->sub->endpoint, &load->to, &job->err);

    *w = (struct writing){.job = job,
                          .r = r,
                          .load = load,
                          .messages = ARENA_ARRAY(job->arena, struct broker_message, max),
                          .ends = ARENA_ARRAY(job->arena, size_t, max),
                          .marks = ARENA_ARRAY(job->arena, struct log_mark, max),
                          .prev = job->sub->chain,
                          .log_id = store_log_id(job->store),
                          .url = STR_NULL};
    load->messages = w->messages;
    load->ends = w->ends;
    job->load.own = load;
    job->load.body.max = SINK_BODY_MAX;
    return rc;
}

/* Write revisions and events in the order of the log, as many as fit. */
static enum rc write_run(struct writing *w, const struct push_run *run)
{
    size_t i = 0, k = 0;
    enum rc rc = RC_OK;

    while (rc == RC_OK && !w->is_full && (i < run->n || k < run->n_events)) {
        if (k == run->n_events || (i < run->n && run->revisions[i].seq < run->events[k].seq))
            rc = add_revision(w, &run->revisions[i++]);
        else
            rc = add_event(w, &run->events[k++]);
    }
    return rc;
}

/* At most so many messages (outcome_halvings()). */
static size_t run_max(const struct push_job *job)
{
    size_t n = job->max_entries >> job->n_halved;

    return n > 0 ? n : 1;
}

static enum push_found amqp_draw(struct push_job *job, struct reader *r)
{
    struct push_run run;
    struct writing w;
    enum rc rc;

    rc = reader_push_run(r, job->sub, run_max(job), SINK_BODY_USUAL, job->arena, &run, &job->err);
    if (rc != RC_OK)
        return PUSH_UNREAD;
    job->position = run.skip_to;
    if (run.n + run.n_events == 0)
        return run.is_cut || run.skip_to >= job->sub->position + SKIP_MIN ? PUSH_SKIP
                                                                          : PUSH_NOTHING;
    if (begin(&w, job, r, run.n + run.n_events) != RC_OK)
        return PUSH_UNSENDABLE;
    if (write_run(&w, &run) != RC_OK)
        return PUSH_UNREAD;
    if (w.load->n == 0) {
        err_set(&job->err, RC_LIMIT, "an entry makes a message of more than %zu bytes",
                SINK_BODY_MAX);
        return PUSH_UNSENDABLE;
    }
    job->marks = w.marks;
    job->n_entries = w.load->n;
    job->first = w.marks[0];
    job->last = w.marks[w.load->n - 1];
    if (run.n > 0 && run.revisions[0].seq == job->first.seq)
        job->uid = str_dup(job->arena, run.revisions[0].uid);
    job->dead = run.dead;
    job->position = run.dead == NULL ? job->last.seq : job->sub->position;
    job->is_last = run.is_all && !w.is_full;
    return PUSH_READY;
}

/* A message of the type `test`, whose key has the kind `test` and the first feed. */
static enum push_found amqp_draw_test(struct push_job *job, struct reader *r)
{
    struct writing w;

    if (begin(&w, job, r, 1) != RC_OK)
        return PUSH_UNSENDABLE;
    if (job->sub->n_feeds > 0 && read_url(&w, job->sub->feeds[0].feed_id) != RC_OK)
        return PUSH_UNREAD;
    buf_printf(&job->load.body, "{\"kind\":\"test\",\"subscription\":%" PRId64 "}", job->sub_id);
    add(&w, TEST, TEST, job->sub->chain);
    w.messages[0].id = STR("test");
    w.messages[0].at_s = clock_now_s();
    return PUSH_READY;
}

static enum sink_verdict amqp_judge(struct arena *a, const struct carrier_answer *answer,
                                    struct str *why)
{
    if (answer->rc == RC_OK)
        return SINK_DELIVERED;
    if (answer->n_taken > 0)
        *why =
            str_printf(a, "%zu of the messages were taken; then: %s", answer->n_taken, answer->err);
    else
        *why = str_dup(a, str_from(answer->err));
    return answer->rc == RC_LIMIT ? SINK_REFUSED : SINK_FAILED;
}

const struct sink sink_amqp = {.draw = amqp_draw, .draw_test = amqp_draw_test, .judge = amqp_judge};

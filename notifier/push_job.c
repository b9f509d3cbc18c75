/* notifier/push_job.c - from a position to a call. */
#include "notifier/push_job.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/stats.h"

/* A position that lags behind revisions nobody wants costs nothing but the length of a search, so
 * it is written only after this many. */
#define SKIP_MIN 256

struct push_job *push_job_new(int64_t sub_id, size_t max_entries, struct bodies *bodies)
{
    struct push_job *job = NEW(struct push_job);

    job->bodies = bodies;
    job->sub_id = sub_id;
    job->max_entries = max_entries < 1 ? 1 : max_entries;
    job->arena = arena_new();
    job->call.body = (struct buf)BUF_INIT(SINK_BODY_MAX);
    return job;
}

void push_job_free(struct push_job **jp)
{
    struct push_job *job = *jp;

    *jp = NULL;
    if (job == NULL)
        return;
    buf_release(&job->call.body);
    blob_unref(&job->call.shared);
    arena_free(&job->arena);
    mem_free(job);
}

/* All that the rest of a body depends on: a revision never changes but for its document, which what
 * is volatile in it may replace. */
static void key_of(const struct sink *sink, const struct sink_push *push,
                   unsigned char key[BODIES_KEY_LEN])
{
    struct buf all = BUF_INIT(BUF_ANY);
    unsigned char digest[16];

    buf_append(&all, sink->name, strlen(sink->name) + 1);
    buf_append(&all, &push->url.len, sizeof push->url.len);
    buf_str(&all, push->url);
    for (size_t i = 0; i < push->n; i++) {
        digest_content(push->revisions[i].doc, digest);
        buf_append(&all, &push->revisions[i].seq, sizeof push->revisions[i].seq);
        buf_append(&all, digest, sizeof digest);
    }
    digest_content(buf_view(&all), key);
    buf_release(&all);
}

/* The body, from the ring of those made last where it is there. */
static enum rc render_body(struct push_job *job, const struct sink_push *push)
{
    struct buf *body = &job->call.body;
    unsigned char key[BODIES_KEY_LEN];
    struct buf front = BUF_INIT(BUF_ANY);
    struct body rest = {.bytes = NULL};
    enum rc rc = RC_OK;

    if (job->sink->front == NULL)
        return job->sink->render(job->arena, push, body, &job->err);
    key_of(job->sink, push, key);
    job->sink->front(&front, push->sub_id);
    if (bodies_get(job->bodies, key, job->arena, &rest)) {
        buf_str(body, buf_view(&front));
        buf_str(body, blob_bytes(rest.bytes));
    } else {
        rc = job->sink->render(job->arena, push, body, &job->err);
        if (rc == RC_OK && str_starts(buf_view(body), buf_view(&front))) {
            rest.bytes = blob_copy(str_slice(buf_view(body), front.len, body->len));
            bodies_put(job->bodies, key, &rest);
        } else {
            bodies_give_up(job->bodies, key);
        }
    }
    blob_unref(&rest.bytes);
    buf_release(&front);
    return rc;
}

/* Render as many of the revisions as fit into one call: all, or a half, a quarter ... of them. */
static enum push_found render(struct push_job *job, struct str url, const struct revision *revs,
                              size_t n)
{
    enum rc rc;

    for (;; n /= 2) {
        struct sink_push push = {job->sub_id, url, revs, n};

        buf_reset(&job->call.body);
        job->sink->head(job->arena, &push, &job->call);
        rc = render_body(job, &push);
        if (rc != RC_LIMIT || n == 1)
            break;
    }
    job->n_entries = n;
    job->feed_id = revs[0].feed_id;
    job->position = revs[n - 1].seq;
    return rc == RC_OK ? PUSH_CALL : PUSH_UNSENDABLE;
}

/* Is there nothing after what has been rendered? Saves most deliveries another turn. */
static bool is_last(struct push_job *job, struct reader *r)
{
    struct subscription sub = *job->sub;
    struct revision *revs = NULL;
    struct str url = STR_NULL;
    size_t n = 1;
    int64_t skip_to = 0;

    sub.position = job->position;
    return reader_next_push(r, &sub, 1, job->arena, &revs, &n, &url, &skip_to, NULL) == RC_OK &&
           n == 0;
}

/* ---- topics ---------------------------------------------------------------------------------- */

/* All that a topic's document depends on: the topic, what its reader has, and the version of the
 * feeds, taken before anything of them is read. */
static void key_of_topic(const struct push_job *job, const struct hub_lease *lease, size_t max,
                         unsigned char key[BODIES_KEY_LEN])
{
    const struct subscription *sub = job->sub;
    int64_t *ids = ARENA_ARRAY(job->arena, int64_t, sub->n_feeds + 1);
    struct buf all = BUF_INIT(BUF_ANY);

    for (size_t i = 0; i < sub->n_feeds; i++)
        ids[i] = sub->feeds[i].feed_id;
    buf_printf(&all, HUB_SINK "\n%" PRId64 " %" PRId64 " %zu\n",
               store_version(job->store, ids, sub->n_feeds), sub->position, max);
    for (size_t i = 0; i < sub->n_feeds; i++)
        buf_printf(&all, "%" PRId64 ",", ids[i]);
    buf_str(&all, lease->topic);
    digest_content(buf_view(&all), key);
    buf_release(&all);
}

/* The topic's document with at most so many entries: one drawing for all who have got the same so
 * far. */
static enum rc draw_once(struct push_job *job, struct reader *r, const struct hub_lease *lease,
                         size_t max, struct body *out)
{
    struct buf drawn = BUF_INIT(SINK_BODY_MAX);
    unsigned char key[BODIES_KEY_LEN];

    key_of_topic(job, lease, max, key);
    if (bodies_get(job->bodies, key, job->arena, out))
        return out->rc;
    *out = (struct body){.doc = {.position = job->sub->position}};
    out->rc = job->draw(job->draw_ctx, r, lease->topic, job->sub->position, max, job->arena, &drawn,
                        &out->doc, &job->err);
    stats_inc(STAT_hub_drawn_total);
    if (out->rc == RC_OK && drawn.len > 0) {
        size_t len;
        char *bytes = buf_detach(&drawn, &len);

        out->bytes = blob_new(bytes, len);
    }
    if (out->rc == RC_OK || out->rc == RC_LIMIT)
        bodies_put(job->bodies, key, out);
    else
        bodies_give_up(job->bodies, key);
    buf_release(&drawn);
    return out->rc;
}

/* The topic's document with as many entries as fit into one call. */
static enum push_found draw_topic(struct push_job *job, struct reader *r,
                                  const struct hub_lease *lease)
{
    size_t max = job->max_entries;
    struct body body;
    enum rc rc;

    while ((rc = draw_once(job, r, lease, max, &body)) == RC_LIMIT && max > 1)
        max /= 2;
    if (rc == RC_LIMIT)
        err_set(&job->err, RC_LIMIT, "one entry makes a delivery of more than %zu bytes",
                SINK_BODY_MAX);
    if (rc == RC_LIMIT || rc == RC_NOT_FOUND)
        return PUSH_UNSENDABLE;
    if (rc != RC_OK)
        return PUSH_UNREAD;
    job->call.shared = body.bytes;
    job->position = body.doc.position;
    job->n_entries = body.doc.n_entries;
    job->is_last = body.doc.is_last;
    if (body.doc.n_entries == 0)
        return body.doc.position > job->sub->position ? PUSH_SKIP : PUSH_NOTHING;
    websub_head(job->arena, lease, &body.doc, &job->call);
    return PUSH_CALL;
}

static enum push_found find_delivery(struct push_job *job, struct reader *r)
{
    struct hub_lease lease;
    enum rc rc = reader_hub_lease(r, job->sub_id, job->arena, &lease, &job->err);

    if (rc == RC_NOT_FOUND ||
        (rc == RC_OK && (lease.ends_at <= clock_now_s() || job->draw == NULL)))
        return PUSH_ENDED;
    if (rc == RC_OK)
        rc = reader_endpoint_credential(r, job->sub_id, job->arena, &job->credential, &job->err);
    job->sink = &sink_websub;
    job->is_leased = true;
    return rc == RC_OK ? draw_topic(job, r, &lease) : PUSH_UNREAD;
}

static enum push_found find_next(struct push_job *job, struct reader *r)
{
    struct subscription *subs = NULL;
    struct revision *revs = NULL;
    struct str url = STR_NULL;
    size_t n = 0;
    int64_t skip_to = 0;

    if (reader_subs(r, &job->sub_id, 1, job->arena, &subs, &n, &job->err) != RC_OK)
        return PUSH_UNREAD;
    if (n == 0 || str_is_null(subs[0].endpoint))
        return PUSH_ENDED;
    job->sub = &subs[0];
    if (job->sub->state == SUB_SUSPENDED)
        return PUSH_SUSPENDED;
    if (str_eqz(job->sub->sink, HUB_SINK))
        return find_delivery(job, r);
    if (reader_next_push(r, job->sub, job->max_entries, job->arena, &revs, &n, &url, &skip_to,
                         &job->err) != RC_OK)
        return PUSH_UNREAD;
    job->position = skip_to;
    if (n == 0)
        return skip_to >= job->sub->position + SKIP_MIN ? PUSH_SKIP : PUSH_NOTHING;
    job->sink = sink_find(job->sub->sink);
    if (job->sink == NULL) {
        err_set(&job->err, RC_UNSUPPORTED, "no way to push is named \"%.*s\"",
                STR_ARG(job->sub->sink));
        return PUSH_UNSENDABLE;
    }
    if (reader_endpoint_credential(r, job->sub_id, job->arena, &job->credential, &job->err) !=
        RC_OK)
        return PUSH_UNREAD;
    return render(job, url, revs, n);
}

void push_job_read(struct push_job *job, struct reader *r)
{
    job->found = find_next(job, r);
    if (job->found == PUSH_CALL && !job->is_leased)
        job->is_last = is_last(job, r);
}

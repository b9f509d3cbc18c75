/* notifier/sink_rsscloud.c - rssCloud: tells a handler that a feed has changed, and nothing more.
 *
 * Whatever has happened since the last notification is one notification. Any status 2xx means
 * delivered, also with a fault of XML-RPC. A handler that fails several times in a row has left:
 * its registration ends. */
#include "base/clock.h"
#include "model/hub.h"
#include "notifier/carrier_http.h"
#include "notifier/cloud.h"
#include "notifier/push_job.h"

#define FAILURES_MAX 5

/* As in entries.c: below this, moving the position is not worth a write. */
#define SKIP_MIN 256

/* Put the notification into the job. */
static void fill(struct push_job *job, const struct hub_lease *lease)
{
    struct http_load *own = ARENA_NEW(job->arena, struct http_load);
    struct str type = cloud_write(&job->load.body, lease->protocol, lease->procedure, lease->topic);

    own->method = STR("POST");
    own->fields[0] = (struct http_field){STR("Content-Type"), type};
    own->n_fields = 1;
    job->load.own = own;
    job->n_entries = 1;
    job->is_last = true;
}

static enum push_found rsscloud_draw(struct push_job *job, struct reader *r)
{
    int64_t last = store_last_seq(job->store); /* before the look at the log */
    struct hub_lease lease;
    struct push_next next;
    enum rc rc = reader_hub_lease(r, job->sub_id, job->arena, &lease, &job->err);

    if (rc == RC_NOT_FOUND || (rc == RC_OK && lease.ends_at <= clock_now_s()))
        return PUSH_ENDED;
    if (rc == RC_OK)
        rc = reader_next_push(r, job->sub, 1, job->arena, &next, &job->err);
    if (rc != RC_OK)
        return PUSH_UNREAD;
    job->position = next.skip_to;
    if (next.feed_id == 0)
        return next.is_cut || next.skip_to >= job->sub->position + SKIP_MIN ? PUSH_SKIP
                                                                            : PUSH_NOTHING;
    job->feed_id = next.feed_id;
    job->first = (struct log_mark){next.revisions[0].seq, next.revisions[0].at_us};
    job->last = job->first;
    job->position = last > job->first.seq ? last : job->first.seq;
    fill(job, &lease);
    return PUSH_READY;
}

/* A status 2xx counts, whatever becomes of the page that a handler answers with. */
static enum sink_verdict rsscloud_judge(struct arena *a, const struct carrier_answer *answer,
                                        struct str *why)
{
    if (answer->status >= 200 && answer->status < 300)
        return SINK_DELIVERED;
    *why = carrier_http_why(a, "handler", answer);
    return answer->rc == RC_OK && answer->status == 410 ? SINK_GONE : SINK_FAILED;
}

const struct sink sink_rsscloud = {.is_leased = true,
                                   .max_failures = FAILURES_MAX,
                                   .draw = rsscloud_draw,
                                   .judge = rsscloud_judge};

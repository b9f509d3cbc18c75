/* notifier/sink_websub.c - content distribution (WebSub 7): sends the document of a topic, signed.
 *
 * The document is drawn elsewhere (topic_draw_fn in notifier.h), once for all subscribers that have
 * received the same so far. Any status 2xx means delivered, whatever the body of the answer is, and
 * even if it does not come. 410 ends the subscription. A redirect is a failure: a callback that has
 * moved must be subscribed again. */
#include <inttypes.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/stats.h"
#include "model/hub.h"
#include "notifier/carrier_http.h"
#include "notifier/push_job.h"

#define SKIP_MIN 256

/* Make the key from everything that a topic's document depends on: the topic, the subscriber's
 * position, what it follows, and the version of the feeds, which is read before anything else. */
static void key_of(const struct push_job *job, const struct hub_lease *lease, size_t max,
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
    buf_printf(&all, "\n%.*s\n%.*s\n", STR_ARG(sub->asks), STR_ARG(sub->filter));
    buf_str(&all, lease->topic);
    digest_content(buf_view(&all), key);
    buf_release(&all);
}

/* Draw the topic's document with at most `max` entries, once for all subscribers that have received
 * the same so far. */
static enum rc draw_once(struct push_job *job, struct reader *r, const struct hub_lease *lease,
                         size_t max, struct body *out)
{
    struct buf drawn = BUF_INIT(SINK_BODY_MAX);
    unsigned char key[BODIES_KEY_LEN];

    key_of(job, lease, max, key);
    if (bodies_get(job->bodies, key, job->arena, out))
        return out->rc;
    *out = (struct body){.doc = {.position = job->sub->position}};
    out->rc = job->draw(job->draw_ctx, r, lease->topic, job->sub, max, job->arena, &drawn,
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

/* Set method and fields of a delivery whose bytes are ready: content type, links and signature. */
static void fill_head(struct arena *a, const struct hub_lease *lease,
                      const struct topic_document *doc, struct carrier_load *load)
{
    struct http_load *own = ARENA_NEW(a, struct http_load);
    unsigned char mac[DIGEST_MAX_LEN];
    char hex[2 * DIGEST_MAX_LEN + 1];
    size_t n;

    load->own = own;
    own->method = STR("POST");
    own->fields[0] = (struct http_field){STR("Content-Type"), str_from(doc->media_type)};
    own->fields[1] =
        (struct http_field){STR("Link"), str_printf(a, "<%.*s>; rel=\"hub\", <%.*s>; rel=\"self\"",
                                                    STR_ARG(doc->hub), STR_ARG(doc->self))};
    own->n_fields = 2;
    if (str_is_null(lease->secret))
        return;
    n = digest_hmac(lease->legacy ? DIGEST_SHA1 : DIGEST_SHA256, lease->secret,
                    blob_bytes(load->shared), mac);
    digest_hex(mac, n, hex);
    own->fields[own->n_fields++] = (struct http_field){
        STR("X-Hub-Signature"), str_printf(a, "%s=%s", lease->legacy ? "sha1" : "sha256", hex)};
}

/* Where a filter lets nothing through, the position is not written for each revision. */
static int64_t skip_min(const struct subscription *sub)
{
    return str_is_null(sub->filter) ? 1 : SKIP_MIN;
}

/* Draw the topic's document with as many entries as fit into one delivery. */
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
        return rc == RC_TIMEOUT ? PUSH_LATER : PUSH_UNREAD;
    job->load.shared = body.bytes;
    job->position = body.doc.position;
    job->n_entries = body.doc.n_entries;
    job->news_at_us = body.doc.news_at_us;
    job->is_last = body.doc.is_last;
    if (body.doc.n_entries == 0)
        return body.doc.position >= job->sub->position + skip_min(job->sub) ? PUSH_SKIP
                                                                            : PUSH_NOTHING;
    fill_head(job->arena, lease, &body.doc, &job->load);
    return PUSH_READY;
}

static enum push_found websub_draw(struct push_job *job, struct reader *r)
{
    struct hub_lease lease;
    enum rc rc = reader_hub_lease(r, job->sub_id, job->arena, &lease, &job->err);

    if (rc == RC_NOT_FOUND)
        return PUSH_ENDED;
    if (rc != RC_OK)
        return PUSH_UNREAD;
    if (lease.ends_at <= clock_now_s() || job->draw == NULL)
        return PUSH_ENDED;
    return draw_topic(job, r, &lease);
}

static enum sink_verdict websub_judge(struct arena *a, const struct carrier_answer *answer,
                                      struct str *why)
{
    if (answer->status >= 200 && answer->status < 300)
        return SINK_DELIVERED;
    *why = carrier_http_why(a, "callback", answer);
    return answer->rc == RC_OK && answer->status == 410 ? SINK_GONE : SINK_FAILED;
}

const struct sink sink_websub = {.is_leased = true, .draw = websub_draw, .judge = websub_judge};

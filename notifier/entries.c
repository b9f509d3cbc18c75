/* notifier/entries.c - makes the body of a delivery from the entries after a position.
 *
 * Many subscriptions get the same entries. The part of the body that is the same for all of them is
 * made once (bodies.h). */
#include "base/digest.h"
#include "notifier/push_job.h"

/* When the position is behind revisions that the subscription does not get, only a search takes
 * longer. So the position is written only when it can move by at least this much. */
#define SKIP_MIN 256

/* Make the key from everything that the shared part of a body depends on. A revision does not
 * change, but its document is replaced when something volatile in it changes. */
static void key_of(const struct sink *sink, const struct sink_push *push,
                   unsigned char key[BODIES_KEY_LEN])
{
    struct buf all = BUF_INIT(BUF_ANY);
    unsigned char digest[16];

    buf_append(&all, &sink, sizeof sink);
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

/* Make the body. The part after its front may have been made for another subscription; otherwise it
 * is made here and shared. */
static enum rc draw_body(struct push_job *job, const struct sink_push *push)
{
    const struct sink_entries *entries = &job->sink->entries;
    struct buf *body = &job->load.body;
    unsigned char key[BODIES_KEY_LEN];
    struct buf front = BUF_INIT(BUF_ANY);
    struct body rest = {.bytes = NULL};
    enum rc rc = RC_OK;

    if (entries->front == NULL)
        return entries->body(job->arena, push, body, &job->err);
    key_of(job->sink, push, key);
    entries->front(&front, push->sub_id);
    if (bodies_get(job->bodies, key, job->arena, &rest)) {
        buf_str(body, buf_view(&front));
        buf_str(body, blob_bytes(rest.bytes));
    } else {
        rc = entries->body(job->arena, push, body, &job->err);
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

/* Put as many of the revisions as fit into one body: all, half, a quarter and so on. */
static enum push_found draw_some(struct push_job *job, struct str url, const struct revision *revs,
                                 size_t n)
{
    enum rc rc;

    for (;; n /= 2) {
        struct sink_push push = {job->sub_id, url, revs, n};

        buf_reset(&job->load.body);
        job->sink->entries.head(job->arena, &push, &job->load);
        rc = draw_body(job, &push);
        if (rc != RC_LIMIT || n == 1)
            break;
    }
    job->n_entries = n;
    job->feed_id = revs[0].feed_id;
    job->position = revs[n - 1].seq;
    return rc == RC_OK ? PUSH_READY : PUSH_UNSENDABLE;
}

/* Returns true when nothing follows the entries of this body. Then most deliveries need no second
 * turn. */
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

enum push_found entries_draw(struct push_job *job, struct reader *r)
{
    struct revision *revs = NULL;
    struct str url = STR_NULL;
    enum push_found found;
    size_t n = 0;
    int64_t skip_to = 0;

    if (reader_next_push(r, job->sub, job->max_entries, job->arena, &revs, &n, &url, &skip_to,
                         &job->err) != RC_OK)
        return PUSH_UNREAD;
    job->position = skip_to;
    if (n == 0)
        return skip_to >= job->sub->position + SKIP_MIN ? PUSH_SKIP : PUSH_NOTHING;
    found = draw_some(job, url, revs, n);
    if (found == PUSH_READY)
        job->is_last = is_last(job, r);
    return found;
}

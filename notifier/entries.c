/* notifier/entries.c - makes the body of a delivery from the entries after a position.
 *
 * Many subscriptions get the same entries. The part of the body that is the same for all of them is
 * made once (bodies.h). */
#include "notifier/entries.h"

#include "base/digest.h"
#include "notifier/push_job.h"

/* When the position is behind revisions that the subscription does not get, only a search takes
 * longer. So the position is written only when it can move by at least this much. */
#define SKIP_MIN 256

#define KEY_USUAL 400 /* bytes of names of which a key is made, mostly */

/* Make the key from everything that the shared part of a body depends on. A revision does not
 * change, but its document is replaced when something volatile in it changes. */
static void key_of(const struct sink *sink, const struct sink_push *push,
                   unsigned char key[BODIES_KEY_LEN])
{
    const struct str texts[] = {push->url, push->log_id, push->feed_url, push->title};
    struct buf all = BUF_INIT(BUF_ANY);
    unsigned char digest[16];

    buf_reserve(&all, KEY_USUAL + push->n * (sizeof push->revisions[0].seq + sizeof digest));
    buf_append(&all, &sink, sizeof sink);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        buf_append(&all, &texts[i].len, sizeof texts[i].len);
        buf_str(&all, texts[i]);
    }
    for (size_t i = 0; i < push->n; i++) {
        digest_content(push->revisions[i].doc, digest);
        buf_append(&all, &push->revisions[i].seq, sizeof push->revisions[i].seq);
        buf_append(&all, digest, sizeof digest);
    }
    digest_content(buf_view(&all), key);
    buf_release(&all);
}

/* Make the body. The part after its front may have been made for another subscription; then it is
 * not copied. Otherwise it is made here and shared. */
static enum rc draw_body(struct push_job *job, struct sink_push *push)
{
    const struct sink_entries *entries = &job->sink->entries;
    struct buf *body = &job->load.body;
    unsigned char key[BODIES_KEY_LEN];
    struct body rest = {.bytes = NULL};
    struct str front;
    enum rc rc = RC_OK;

    push->front_len = 0;
    blob_unref(&job->load.shared);
    if (entries->front == NULL || push->event != NULL)
        return entries->body(job->arena, push, body, &job->err);
    key_of(job->sink, push, key);
    entries->front(body, push);
    front = buf_view(body);
    if (bodies_get(job->bodies, key, job->arena, &rest)) {
        job->load.shared = blob_ref(rest.bytes);
        rc = body->len + blob_bytes(rest.bytes).len > body->max ? RC_LIMIT : RC_OK;
    } else {
        front = str_dup(job->arena, front);
        buf_reset(body);
        rc = entries->body(job->arena, push, body, &job->err);
        if (rc == RC_OK && str_starts(buf_view(body), front)) {
            rest.bytes = blob_copy(str_slice(buf_view(body), front.len, body->len));
            rest.print = entries->print == NULL ? STR_NULL : entries->print(job->arena, push);
            bodies_put(job->bodies, key, &rest);
        } else {
            bodies_give_up(job->bodies, key);
        }
    }
    push->front_len = rest.bytes == NULL ? 0 : front.len;
    push->print = rest.print;
    blob_unref(&rest.bytes);
    return rc;
}

void entries_cut(struct sink_push *push, size_t n)
{
    push->n = n;
    if (n > 0)
        push->last = (struct log_mark){push->revisions[n - 1].seq, push->revisions[n - 1].at_us};
    if (push->dead_id != 0)
        push->last = push->prev;
}

/* Put as many of the revisions as fit into one body: all, half, a quarter and so on. Which ones
 * follows from the log and the subscription alone, so a delivery that is tried again, even after a
 * restart, has the same entries. */
static enum rc draw_some(struct push_job *job, struct sink_push *push)
{
    const struct sink_entries *entries = &job->sink->entries;
    enum rc rc;

    job->load.body.max = SINK_BODY_USUAL;
    for (;; push->n /= 2) {
        entries_cut(push, push->n);
        buf_reset(&job->load.body);
        rc = draw_body(job, push);
        if (rc != RC_LIMIT)
            break;
        if (push->n <= 1 && job->load.body.max == SINK_BODY_MAX)
            break;
        if (push->n <= 1) {
            job->load.body.max = SINK_BODY_MAX;
            push->n *= 2; /* the same again */
        }
    }
    return rc == RC_OK ? entries->seal(job->arena, push, &job->load, &job->err) : rc;
}

static struct log_mark *marks_of(struct arena *a, const struct sink_push *push)
{
    struct log_mark *marks = ARENA_ARRAY(a, struct log_mark, push->n + 1);

    for (size_t i = 0; i < push->n; i++)
        marks[i] = (struct log_mark){push->revisions[i].seq, push->revisions[i].at_us};
    if (push->event != NULL)
        marks[0] = (struct log_mark){push->event->seq, push->event->at_us};
    return marks;
}

/* Read what the sink wants to know besides. */
static enum rc read_more(struct push_job *job, struct reader *r, int64_t feed_id,
                         struct sink_push *push)
{
    const struct sink_entries *entries = &job->sink->entries;

    if (entries->has_settings) {
        push->settings = job->settings;
        push->hooks = job->hooks;
    }
    if (!entries->names_feed || feed_id == 0)
        return RC_OK;
    return reader_feed_name(r, feed_id, job->arena, &push->feed_url, &push->title, &job->err);
}

enum push_found entries_seek(struct push_job *job, struct reader *r, struct push_next *next,
                             struct sink_push *push)
{
    if (reader_next_push(r, job->sub, job->max_entries, job->arena, next, &job->err) != RC_OK)
        return PUSH_UNREAD;
    job->position = next->skip_to;
    if (next->feed_id == 0)
        return next->is_cut || next->skip_to >= job->sub->position + SKIP_MIN ? PUSH_SKIP
                                                                              : PUSH_NOTHING;
    *push = (struct sink_push){.sub_id = job->sub_id,
                               .url = next->shown_url,
                               .revisions = next->revisions,
                               .n = next->n,
                               .event = next->event.seq != 0 ? &next->event : NULL,
                               .log_id = store_log_id(job->store),
                               .prev = job->sub->chain,
                               .last = {next->event.seq, next->event.at_us},
                               .feed_url = STR_NULL,
                               .title = STR_NULL,
                               .settings = STR_NULL,
                               .generation = job->sub->generation,
                               .dead_id = next->dead == NULL ? 0 : next->dead->id};
    return read_more(job, r, next->feed_id, push) == RC_OK ? PUSH_READY : PUSH_UNREAD;
}

/* Returns true when nothing follows the entries of this body. Then most deliveries need no second
 * turn. */
static bool is_last(struct push_job *job, struct reader *r)
{
    bool is_so = false;

    return job->dead == NULL &&
           reader_is_drained(r, job->sub, job->position, &is_so, NULL) == RC_OK && is_so;
}

void entries_note(struct push_job *job, struct reader *r, const struct push_next *next,
                  const struct sink_push *push)
{
    job->feed_id = next->feed_id;
    job->n_entries = push->event != NULL ? 1 : push->n;
    job->dead = next->dead;
    job->last = push->last;
    job->marks = marks_of(job->arena, push);
    job->first = job->marks[0];
    if (push->event == NULL)
        job->uid = str_dup(job->arena, push->revisions[0].uid);
    job->position = next->dead == NULL ? push->last.seq : job->sub->position;
    job->is_last = is_last(job, r);
}

enum push_found entries_draw(struct push_job *job, struct reader *r)
{
    struct push_next next;
    struct sink_push push;
    enum push_found found = entries_seek(job, r, &next, &push);
    enum rc rc;

    if (found != PUSH_READY)
        return found;
    rc = draw_some(job, &push);
    entries_note(job, r, &next, &push);
    return rc == RC_OK ? PUSH_READY : PUSH_UNSENDABLE;
}

struct sink_push entries_none(const struct push_job *job)
{
    return (struct sink_push){.sub_id = job->sub_id,
                              .url = job->sub->n_feeds > 0 ? job->sub->feeds[0].url : STR(""),
                              .log_id = store_log_id(job->store),
                              .prev = job->sub->chain,
                              .last = job->sub->chain,
                              .feed_url = STR_NULL,
                              .title = STR_NULL,
                              .settings = STR_NULL,
                              .generation = job->sub->generation};
}

enum push_found entries_draw_test(struct push_job *job, struct reader *r)
{
    const struct sink_entries *entries = &job->sink->entries;
    struct sink_push push = entries_none(job);

    if (read_more(job, r, 0, &push) != RC_OK)
        return PUSH_UNREAD;
    if (entries->body(job->arena, &push, &job->load.body, &job->err) != RC_OK ||
        entries->seal(job->arena, &push, &job->load, &job->err) != RC_OK)
        return PUSH_UNSENDABLE;
    return PUSH_READY;
}

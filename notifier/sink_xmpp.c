/* notifier/sink_xmpp.c - Smart Feeds over XMPP: messages with entries as items (xmpp_message.h).
 *
 * The items are drawn elsewhere (items_draw_fn in notifier.h), once for all subscriptions of these
 * feeds that get the same. What the server of the receiver has counts as delivered: servers drop a
 * headline when its receiver is not online, and tell nobody. The receiver sees it from
 * PreviousCursor (docs/delivery.md). */
#include "base/digest.h"
#include "base/stats.h"
#include "feed/filter/filter.h"
#include "model/view.h"
#include "net/component.h"
#include "net/jid.h"
#include "notifier/carrier_xmpp.h"
#include "notifier/entries.h"
#include "notifier/push_job.h"
#include "notifier/xmpp_message.h"

#define ITEMS_MAX (COMPONENT_STANZA_MAX - XMPP_FRAME_MAX)

/* The stream to which the subscription belongs. */
static struct items_wanted stream_of(struct push_job *job, const struct sink_push *push)
{
    int64_t *ids = ARENA_ARRAY(job->arena, int64_t, job->sub->n_feeds + 1);

    for (size_t i = 0; i < job->sub->n_feeds; i++)
        ids[i] = job->sub->feeds[i].feed_id;
    return (struct items_wanted){.feed_ids = ids,
                                 .n_feeds = view_ids_sort(ids, job->sub->n_feeds),
                                 .revisions = push->revisions,
                                 .n = push->n,
                                 .max_bytes = ITEMS_MAX};
}

/* Make the key from everything that the items depend on: the feeds of the stream, the entries, and
 * the version of their feed, whose head may give an entry its author. */
static enum rc key_of(struct push_job *job, struct reader *r, const struct items_wanted *wanted,
                      int64_t feed_id, unsigned char key[BODIES_KEY_LEN])
{
    struct buf all = BUF_INIT(BUF_ANY);
    unsigned char digest[16];
    struct feed *feeds;
    size_t n;
    enum rc rc = reader_feeds(r, &feed_id, 1, job->arena, &feeds, &n, &job->err);

    if (rc == RC_OK && n == 0)
        rc = err_set(&job->err, RC_NOT_FOUND, "the feed was removed just now");
    if (rc != RC_OK)
        return rc;
    buf_puts(&all, "xmpp\n");
    buf_append(&all, &feeds[0].version, sizeof feeds[0].version);
    for (size_t i = 0; i < wanted->n_feeds; i++)
        buf_append(&all, &wanted->feed_ids[i], sizeof wanted->feed_ids[i]);
    for (size_t i = 0; i < wanted->n; i++) {
        digest_content(wanted->revisions[i].doc, digest);
        buf_append(&all, &wanted->revisions[i].seq, sizeof wanted->revisions[i].seq);
        buf_append(&all, digest, sizeof digest);
    }
    digest_content(buf_view(&all), key);
    buf_release(&all);
    return RC_OK;
}

static enum rc draw_items(struct push_job *job, struct reader *r, const struct items_wanted *wanted,
                          struct body *out)
{
    struct item_text *items = ARENA_ARRAY(job->arena, struct item_text, wanted->n + 1);
    struct buf drawn = BUF_INIT(BUF_ANY);
    enum rc rc = job->draw_items(job->draw_ctx, r, wanted, job->arena, items, &job->err);
    size_t len;
    char *bytes;

    if (rc != RC_OK)
        return rc;
    stats_inc(STAT_xmpp_drawn_total);
    *out = (struct body){.rc = RC_OK};
    out->doc.n_entries = xmpp_items_write(&drawn, items, wanted->n, ITEMS_MAX);
    bytes = buf_detach(&drawn, &len);
    out->bytes = blob_new(bytes, len);
    return RC_OK;
}

/* Draw as many of the entries as fit into one message, once for all subscriptions that get them. */
static enum rc draw_once(struct push_job *job, struct reader *r, const struct items_wanted *wanted,
                         int64_t feed_id, struct body *out)
{
    unsigned char key[BODIES_KEY_LEN];
    enum rc rc = key_of(job, r, wanted, feed_id, key);

    if (rc != RC_OK || bodies_get(job->bodies, key, job->arena, out))
        return rc;
    rc = draw_items(job, r, wanted, out);
    if (rc == RC_OK)
        bodies_put(job->bodies, key, out);
    else
        bodies_give_up(job->bodies, key);
    return rc;
}

/* The first delivery says where the subscription began as its subscriber can know it: by the last
 * item of the stream at that time. */
static enum rc read_begin(struct push_job *job, struct reader *r, const struct items_wanted *stream,
                          struct log_mark *begin)
{
    struct view v = {
        .order = VIEW_LOG_DESC,
        .feed_ids = stream->feed_ids,
        .n_feeds = stream->n_feeds,
        .before_seq = begin->seq + 1,
        .len = 1,
        .with_deleted = true,
        .filter = str_is_null(job->sub->filter) ? NULL : filter_read(job->arena, job->sub->filter)};
    struct revision *rows;
    size_t n;
    enum rc rc = reader_rows(r, &v, job->arena, &rows, &n, &job->err);

    if (rc == RC_OK && n > 0)
        *begin = (struct log_mark){rows[0].seq, rows[0].at_us};
    return rc;
}

/* Fill in what is of this subscription alone. */
static enum rc address(struct push_job *job, struct reader *r, const struct items_wanted *stream,
                       struct sink_push *push, struct xmpp_message *m)
{
    enum rc rc;

    if (job->component == NULL || job->draw_items == NULL)
        return err_set(&job->err, RC_UNSUPPORTED,
                       "this daemon is not connected to an XMPP server (--xmpp-server)");
    *m = (struct xmpp_message){.push = push,
                               .from = component_name(job->component),
                               .to = jid_of_url(job->arena, job->sub->endpoint)};
    m->total = -1;
    rc = !str_is_null(job->sub->filter)
             ? RC_OK
             : reader_count(r, stream->feed_ids, stream->n_feeds, true, &m->total, &job->err);
    if (rc == RC_OK && job->sub->n_delivered == 0)
        rc = read_begin(job, r, stream, &push->prev);
    return rc;
}

static enum push_found seal(struct push_job *job, const struct xmpp_message *m)
{
    struct xmpp_load *own = ARENA_NEW(job->arena, struct xmpp_load);
    struct url_parts parts;

    if (jid_url_parse(job->arena, job->sub->endpoint, &parts, &job->err) != RC_OK ||
        xmpp_message_write(job->arena, m, &job->load.body, &job->err) != RC_OK)
        return PUSH_UNSENDABLE;
    *own = (struct xmpp_load){.id = xmpp_message_id(job->arena, m->push), .host = parts.host};
    job->load.own = own;
    return PUSH_READY;
}

static enum push_found failed(enum rc rc)
{
    return rc == RC_UNSUPPORTED ? PUSH_UNSENDABLE : PUSH_UNREAD;
}

static enum push_found xmpp_draw(struct push_job *job, struct reader *r)
{
    struct push_next next;
    struct sink_push push;
    struct items_wanted wanted;
    struct xmpp_message m;
    struct body shared;
    enum push_found found = entries_seek(job, r, &next, &push);
    enum rc rc;

    if (found != PUSH_READY)
        return found;
    wanted = stream_of(job, &push);
    rc = address(job, r, &wanted, &push, &m);
    if (rc == RC_OK)
        rc = draw_once(job, r, &wanted, next.feed_id, &shared);
    if (rc != RC_OK)
        return failed(rc);
    entries_cut(&push, shared.doc.n_entries);
    m.items = blob_bytes(shared.bytes);
    found = seal(job, &m);
    blob_unref(&shared.bytes);
    entries_note(job, r, &next, &push);
    return found;
}

static enum push_found xmpp_draw_test(struct push_job *job, struct reader *r)
{
    struct sink_push push = entries_none(job);
    struct items_wanted stream = stream_of(job, &push);
    struct xmpp_message m;
    enum rc rc = reader_sink_settings(r, job->sub_id, job->arena, &push.settings, &job->err);

    if (rc == RC_OK)
        rc = address(job, r, &stream, &push, &m);
    return rc == RC_OK ? seal(job, &m) : failed(rc);
}

/* What the condition of an error means (RFC 6120 section 8.3.3). */
static const struct {
    const char *condition;
    enum sink_verdict verdict;
} verdicts[] = {
    {"gone", SINK_GONE}, /* nobody has this address any more, or ever had */
    {"item-not-found", SINK_GONE},
    {"jid-malformed", SINK_GONE},
    {"not-acceptable", SINK_REFUSED}, /* this message will never be taken */
    {"bad-request", SINK_REFUSED},
    {"policy-violation", SINK_REFUSED},
};

static enum sink_verdict xmpp_judge(struct arena *a, const struct carrier_answer *answer,
                                    struct str *why)
{
    struct str condition = answer->body;

    if (answer->rc != RC_OK) {
        *why = str_dup(a, str_from(answer->err));
        return SINK_FAILED;
    }
    if (answer->body.len == 0)
        return SINK_DELIVERED;
    *why = str_printf(a, "the message was answered by an error: %.*s", STR_ARG(answer->body));
    condition = str_split(&condition, ':');
    for (size_t i = 0; i < ARRAY_LEN(verdicts); i++)
        if (str_eqz(condition, verdicts[i].condition))
            return verdicts[i].verdict;
    return SINK_FAILED;
}

const struct sink sink_xmpp = {.in_snapshot = true,
                               .draw = xmpp_draw,
                               .entries = {.has_settings = true},
                               .draw_test = xmpp_draw_test,
                               .judge = xmpp_judge};

/* storage/apply_content.c - stores the result of a request for the content of a metadata record
 * (Atom-PMH).
 *
 * The content becomes a revision of its entry, so all consumers get it. The essence of the entry
 * does not change: the next document of the feed, which has no content, is compared with it. If the
 * entry has a newer revision than the one that led to the request, the answer is void. If all
 * alternates of a metadata record are gone in two checks, and the feed was fetched between them,
 * the entry is deleted.
 */
#include "base/clock.h"
#include "storage/apply_parts.h"

#define RETRY_S 2 /* pause after the first failure of an entry or feed; further ones double it */
#define RETRY_MOST_S 86400
#define WAIT_MOST_S 3600 /* longest pause of a whole feed */
#define OURS_S 60        /* pause when the cause is on our side */
#define GONE_AGAIN_S 5   /* pause between the two checks of a content that is gone */
#define FEED_OLD_S 60

static int64_t later(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

static int64_t doubled(int failures, int64_t most)
{
    int64_t s = (int64_t)RETRY_S << (failures < 0 ? 0 : failures < 20 ? failures : 20);

    return s < most ? s : most;
}

/* Store the entry with its content, as a revision that replaces the one without. */
static void store_content(struct txn *t, struct op *op, struct feed_row *row, struct held_entry *e)
{
    const struct content_outcome *o = &op->as.content;
    struct revision r = *e->newest;

    r.seq = r.batch = txn_next_seq(t);
    r.at_us = txn_next_at_us(t);
    r.kind = REV_CHANGED;
    r.doc = o->doc;
    r.ext = o->ext;
    r.summary = o->summary;
    r.author = o->author;
    op->result.n_changed = 1;
    apply_revision(t, row, e, &r);
}

/* Delete the entry. The deletion has the date of the version that is gone, so that a later version
 * brings the entry back. */
static void delete_metadata(struct txn *t, struct op *op, struct feed_row *row,
                            struct held_entry *e)
{
    int64_t now = op->as.content.checked_at;
    struct revision r = {.seq = txn_next_seq(t),
                         .at_us = txn_next_at_us(t),
                         .feed_id = row->feed.id,
                         .kind = REV_DELETED,
                         .sort_at = e->row.sort_at,
                         .published_at = TIME_UNKNOWN,
                         .updated_at =
                             e->row.updated_us == TIME_UNKNOWN ? now : e->row.updated_us / 1000000,
                         .title = STR_NULL,
                         .link = STR_NULL,
                         .summary = STR_NULL,
                         .author = STR_NULL,
                         .doc = STR(""),
                         .ext = STR("")};

    r.batch = r.seq;
    e->row.dead_at = later(r.updated_at, now); /* r.at_us may not be known yet */
    op->result.n_deleted = 1;
    apply_revision(t, row, e, &r);
}

/* The alternate has no content that can be stored: go on to the next one. After the last one, the
 * entry stays without content, or is gone. */
static void go_on(struct txn *t, struct op *op, struct feed_row *row, struct held_entry *e)
{
    const struct content_outcome *o = &op->as.content;
    struct content_row *c = &e->content;
    struct feed *r = &row->feed;

    c->n_gone += o->answer == ANSWER_GONE;
    c->form = o->form + 1;
    c->failures = 0;
    if (c->form < o->n_forms)
        return;
    if (c->n_gone < o->n_forms || o->n_forms == 0) {
        c->state = CONTENT_NONE;
        return;
    }
    c->form = c->n_gone = 0;
    c->try_at = o->checked_at + GONE_AGAIN_S;
    if (c->gone_at == TIME_UNKNOWN) {
        c->gone_at = o->checked_at;
        op->result.wants_feed = r->last_success_at < o->checked_at - FEED_OLD_S;
        return;
    }
    if (r->last_success_at < c->gone_at - FEED_OLD_S) { /* the feed was not fetched meanwhile */
        c->try_at = o->checked_at + FEED_OLD_S;
        op->result.wants_feed = true;
        return;
    }
    c->state = CONTENT_GONE;
    delete_metadata(t, op, row, e);
}

/* Request the content again later. If the publisher has trouble, all contents of its feed wait. */
static void wait_for(const struct content_outcome *o, struct feed *r, struct content_row *c)
{
    int64_t wait_s = later(doubled(c->failures, RETRY_MOST_S), o->retry_after_s);
    int64_t feed_s = later(doubled(r->content_failures - 1, WAIT_MOST_S), o->retry_after_s);

    if (o->is_ours) {
        c->try_at = r->content_wait_at = o->checked_at + OURS_S;
        return;
    }
    c->try_at = o->checked_at + (wait_s < RETRY_MOST_S ? wait_s : RETRY_MOST_S);
    c->failures++;
    if (o->is_lone)
        return;
    if (r->content_failures > 0 || o->retry_after_s > 0) /* a single failure is the record's own */
        r->content_wait_at = o->checked_at + (feed_s < RETRY_MOST_S ? feed_s : RETRY_MOST_S);
    r->content_failures++;
}

/* The entry, if the answer still counts; else NULL. */
static struct held_entry *find_record(struct txn *t, const struct content_outcome *o)
{
    struct held_entry *e = rows_entry_by_id(&t->rows, o->entry_id);

    if (e == NULL || !e->has_content || e->content.state != CONTENT_OPEN || e->row.deleted ||
        e->row.seq != o->seq || e->row.feed_id != o->feed_id)
        return NULL;
    return o->answer == ANSWER_CONTENT && e->newest->seq != o->seq ? NULL : e;
}

enum rc apply_content(struct txn *t, struct op *op)
{
    const struct content_outcome *o = &op->as.content;
    struct held_entry *e;
    struct feed_row row;
    int64_t since = t->last_seq + 1;
    enum rc rc = apply_load(t, op, o->feed_id, false, &row);

    op->result.id = o->feed_id;
    if (rc != RC_OK)
        return rc;
    e = find_record(t, o);
    txn_feed(t, o->feed_id); /* the notice must say what is due next, even if this is void */
    if (e == NULL || apply_is_of_another(o->secrets, &row.feed)) /* then it stays open */
        return RC_OK;
    rows_touch(&t->rows, ROW_ENTRY, e);
    e->has_new_content = true;
    if (o->answer != ANSWER_OPEN) {
        row.feed.content_failures = 0;
        row.feed.content_wait_at = TIME_UNKNOWN;
    }
    switch (o->answer) {
    case ANSWER_CONTENT:
        e->content.state = CONTENT_STORED;
        store_content(t, op, &row, e);
        break;
    case ANSWER_OTHER:
    case ANSWER_GONE:
        go_on(t, op, &row, e);
        break;
    case ANSWER_OPEN:
        wait_for(o, &row.feed, &e->content);
        break;
    }
    if (t->last_seq >= since) {
        txn_revisions(t, o->feed_id, since);
        op->result.last_seq = t->last_seq;
        row.feed.last_change_at = o->checked_at;
        row.feed.version = txn_next_version(t);
    }
    rows_save_feed(&t->rows, &row);
    return RC_OK;
}

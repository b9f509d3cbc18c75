/* storage/tail.c - from a commit to the directory and the listeners. */
#include "storage/tail.h"

#include <inttypes.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "storage/brief.h"

#define LISTENERS_MAX 8
#define LOAD_AT_ONCE 512 /* feeds that are read together at the start */

struct tail {
    struct directory *dir;
    struct listener {
        store_notice_fn *fn;
        void *ctx;
    } listeners[LISTENERS_MAX];
    size_t n_listeners;
};

struct tail *tail_new(struct directory *dir)
{
    struct tail *t = NEW(struct tail);

    t->dir = dir;
    return t;
}

void tail_free(struct tail **tp)
{
    mem_free(*tp);
    *tp = NULL;
}

void tail_listen(struct tail *t, store_notice_fn *fn, void *ctx)
{
    ASSERT(t->n_listeners < LISTENERS_MAX);
    t->listeners[t->n_listeners++] = (struct listener){fn, ctx};
}

/* ---- the start ------------------------------------------------------------------------------- */

static enum rc load_some(struct tail *t, struct db *db, const int64_t *ids, size_t n,
                         struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct directory_feed *feeds = ARENA_ARRAY(&a, struct directory_feed, n + 1);
    struct key_run *runs = ARENA_ARRAY(&a, struct key_run, n + 1);
    enum rc rc = db->reads->briefs_load(db, ids, NULL, n, &a, feeds, err);

    if (rc == RC_OK)
        rc = db->reads->briefs_keys(db, ids, n, runs, err);
    if (rc != RC_OK)
        return rc;
    directory_lock(t->dir);
    for (size_t i = 0; i < n; i++) {
        directory_put(t->dir, &feeds[i]);
        directory_set_keys(t->dir, ids[i], runs[i].keys, runs[i].n, runs[i].complete);
    }
    directory_unlock(t->dir);
    return RC_OK;
}

enum rc tail_load(struct tail *t, struct db *db, int64_t last_seq, struct err *err)
{
    int64_t ids[LOAD_AT_ONCE], after = 0;
    size_t n = 0;
    enum rc rc;

    do {
        rc = db->reads->briefs_ids(db, after, LOAD_AT_ONCE, ids, &n, err);
        if (rc == RC_OK && n > 0) {
            rc = load_some(t, db, ids, n, err);
            after = ids[n - 1];
        }
    } while (rc == RC_OK && n > 0);
    directory_lock(t->dir);
    directory_set_last_seq(t->dir, last_seq);
    directory_unlock(t->dir);
    return rc;
}

/* ---- one commit ------------------------------------------------------------------------------ */

/* Do the note and what the directory has already say all that the directory keeps? */
static bool is_told(const struct txn *t, const struct txn_feed *f)
{
    return f->row != NULL && !f->is_read && f->merged_into == 0 && !f->is_new && !f->has_names &&
           !f->reload_keys && !brief_asks_contents(&f->row->feed) &&
           directory_edition(t->dir, f->id) != 0;
}

/* Read what the directory keeps of the feeds which[0..n). */
static enum rc read_some(struct txn *t, const size_t *which, size_t n, struct tail_news *out,
                         struct err *err)
{
    struct arena *a = &out->arena;
    int64_t *ids = ARENA_ARRAY(a, int64_t, n + 1);
    const struct feed_row **rows = ARENA_ARRAY(a, const struct feed_row *, n + 1);
    struct directory_feed *feeds = ARENA_ARRAY(a, struct directory_feed, n + 1);
    enum rc rc;

    for (size_t i = 0; i < n; i++) {
        const struct txn_feed *f = &t->feeds[which[i]];

        ids[i] = f->merged_into == 0 ? f->id : 0; /* no feed has the id 0 */
        rows[i] = f->is_read || f->merged_into != 0 ? NULL : f->row;
    }
    rc = t->db->reads->briefs_load(t->db, ids, rows, n, a, feeds, err);
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        out->feeds[which[i]] = feeds[i];
        if (!t->feeds[which[i]].reload_keys || feeds[i].brief.id == 0)
            continue;
        out->runs[which[i]] = ARENA_NEW(a, struct key_run);
        rc = t->db->reads->briefs_keys(t->db, &ids[i], 1, out->runs[which[i]], err);
    }
    return rc;
}

static enum rc read_feeds(struct txn *t, struct tail_news *out, struct err *err)
{
    struct arena *a = &out->arena;
    size_t *which = ARENA_ARRAY(a, size_t, t->n_feeds + 1), n = 0;

    out->feeds = ARENA_ARRAY(a, struct directory_feed, t->n_feeds + 1);
    out->renews = ARENA_ARRAY(a, bool, t->n_feeds + 1);
    out->runs = ARENA_ARRAY(a, struct key_run *, t->n_feeds + 1);
    for (size_t i = 0; i < t->n_feeds; i++) {
        const struct txn_feed *f = &t->feeds[i];

        out->renews[i] = is_told(t, f);
        if (out->renews[i])
            out->feeds[i] = brief_of(f->row, TIME_UNKNOWN, NULL, 0, f->last_seq, f->event_seq);
        else
            which[n++] = i;
    }
    return n == 0 ? RC_OK : read_some(t, which, n, out, err);
}

static const struct feed_notice *feed_notices(const struct txn *t, struct tail_news *news)
{
    struct feed_notice *list = ARENA_ARRAY(&news->arena, struct feed_notice, t->n_feeds + 1);

    for (size_t i = 0; i < t->n_feeds; i++) {
        const struct txn_feed *f = &t->feeds[i];
        const struct feed_brief *b = &news->feeds[i].brief;

        list[i] =
            (struct feed_notice){.feed_id = f->id,
                                 .merged_into = f->merged_into,
                                 .next_fetch_at = b->id == 0 ? TIME_UNKNOWN : b->next_fetch_at,
                                 .content_at = b->id == 0 ? TIME_UNKNOWN : b->content_at,
                                 .first_seq = f->first_seq,
                                 .has_event = f->has_event,
                                 .is_new = f->is_new,
                                 .is_pinged = f->is_pinged};
    }
    return list;
}

/* Where the log ends. A transaction that has added nothing may not know that. */
static int64_t last_seq(const struct txn *t)
{
    return t->last_seq < NUMBERS_HERE ? t->last_seq : directory_last_seq(t->dir);
}

enum rc tail_read(struct txn *t, struct tail_news *out, struct err *err)
{
    enum rc rc;

    txn_fold(t);
    rc = read_feeds(t, out, err);
    if (rc != RC_OK)
        return rc;
    out->notice = (struct commit_notice){.last_seq = last_seq(t),
                                         .feeds = feed_notices(t, out),
                                         .n_feeds = t->n_feeds,
                                         .sub_ids = t->subs,
                                         .n_subs = t->n_subs,
                                         .tried_sub_ids = t->tried_subs,
                                         .n_tried_subs = t->n_tried_subs,
                                         .settled = t->settled,
                                         .n_settled = t->n_settled,
                                         .has_hub_news = t->has_hub_news};
    out->keys = t->keys;
    out->n_keys = t->n_keys;
    out->edited = t->edited;
    out->n_edited = t->n_edited;
    return RC_OK;
}

void tail_news_release(struct tail_news *news)
{
    arena_release(&news->arena);
}

static void publish(struct tail *t, const struct tail_news *news)
{
    const struct commit_notice *notice = &news->notice;

    directory_lock(t->dir);
    for (size_t i = 0; i < notice->n_feeds; i++) {
        if (news->feeds[i].brief.id == 0)
            directory_remove(t->dir, notice->feeds[i].feed_id);
        else if (news->renews[i])
            directory_renew(t->dir, &news->feeds[i]);
        else
            directory_put(t->dir, &news->feeds[i]);
    }
    for (size_t i = 0; i < news->n_edited; i++)
        directory_edited(t->dir, news->edited[i]);
    for (size_t i = 0; i < news->n_keys; i++)
        directory_key(t->dir, &news->keys[i]);
    for (size_t i = 0; i < notice->n_feeds; i++)
        if (news->runs[i] != NULL)
            directory_set_keys(t->dir, notice->feeds[i].feed_id, news->runs[i]->keys,
                               news->runs[i]->n, news->runs[i]->complete);
    directory_set_last_seq(t->dir, notice->last_seq);
    directory_unlock(t->dir);
}

static bool says_anything(const struct commit_notice *notice)
{
    return notice->n_feeds > 0 || notice->n_subs > 0 || notice->n_settled > 0 ||
           notice->has_hub_news;
}

/* Deletions remove keys from the directory. If a feed has few left, but has more in the database,
 * read them. */
static void refill_keys(struct tail *t, struct db *db, const struct tail_news *news)
{
    struct key_run *run = NULL;
    struct err err = ERR_INIT;

    for (size_t i = 0; i < news->n_keys; i++) {
        int64_t id = news->keys[i].feed_id;

        if (!directory_wants_keys(t->dir, id))
            continue;
        if (run == NULL)
            run = NEW(struct key_run);
        if (db->reads->briefs_keys(db, &id, 1, run, &err) != RC_OK) {
            log_warn("storage", "keys_unread", "feed=%" PRId64 " error=%s effect=slower_reads", id,
                     log_quote(str_from(err.text)));
            break;
        }
        directory_lock(t->dir);
        directory_set_keys(t->dir, id, run->keys, run->n, run->complete);
        directory_unlock(t->dir);
    }
    mem_free(run);
}

void tail_take(struct tail *t, struct db *db, const struct tail_news *news)
{
    publish(t, news);
    for (size_t i = 0; i < t->n_listeners && says_anything(&news->notice); i++)
        t->listeners[i].fn(t->listeners[i].ctx, &news->notice);
    refill_keys(t, db, news);
}

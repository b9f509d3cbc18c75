/* storage/tail.c - from a commit to the directory and the listeners.
 *
 * What the directory has of a feed is never newer than what it says of the end of the log: views
 * end there, and a document that lacks the newest rows must not be kept under their version. So
 * notices of other nodes are read together with the feeds that they name, in one snapshot, and all
 * of that is published at once. */
#include "storage/tail.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "model/view.h"
#include "storage/brief.h"

#define LISTENERS_MAX 8
#define LOAD_AT_ONCE 512 /* feeds that are read together at the start */
#define FOLLOW_MAX 4096  /* notices that are held in memory */
#define FOLLOW_KEYS 1024 /* feeds whose keys are read with them; those of others are forgotten */
#define SUBS_AT_ONCE 256 /* subscriptions of which the ids are read together */

struct tail {
    struct directory *dir;
    struct listener {
        store_notice_fn *fn;
        void *ctx;
    } listeners[LISTENERS_MAX];
    size_t n_listeners;
    pthread_mutex_t turn;   /* guards the rest, and the order of what is published */
    struct log_place place; /* what was published last */
    int64_t told; /* the last notice of which the listeners know; after an error lower than the
                     place, and then all must be read anew */
    struct {
        int64_t after, upto;
    } untold;                /* notices that were never told, because all was read anew */
    int64_t protections;     /* directory_protections() of which the listeners know */
    _Atomic int64_t applied; /* place.last_notice, for everybody */
    _Atomic int64_t known;   /* of which the directory may know; raised before it changes */
    _Atomic int64_t fork;    /* place.fork, for everybody */
};

struct tail *tail_new(struct directory *dir)
{
    struct tail *t = NEW(struct tail);

    t->dir = dir;
    pthread_mutex_init(&t->turn, NULL);
    return t;
}

void tail_free(struct tail **tp)
{
    if (*tp == NULL)
        return;
    pthread_mutex_destroy(&(*tp)->turn);
    mem_free(*tp);
    *tp = NULL;
}

int64_t tail_applied(struct tail *t)
{
    return t->applied;
}

int64_t tail_known(struct tail *t)
{
    return t->known;
}

int64_t tail_fork(struct tail *t)
{
    return t->fork;
}

static void set_place(struct tail *t, const struct log_place *place)
{
    t->place = *place;
    t->known = place->last_notice;
    t->applied = place->last_notice;
}

static void set_told(struct tail *t)
{
    t->told = t->place.last_notice;
}

void tail_listen(struct tail *t, store_notice_fn *fn, void *ctx)
{
    pthread_mutex_lock(&t->turn);
    ASSERT(t->n_listeners < LISTENERS_MAX);
    t->listeners[t->n_listeners++] = (struct listener){fn, ctx};
    pthread_mutex_unlock(&t->turn);
}

/* ---- the start ------------------------------------------------------------------------------- */

/* The next feeds after *after, which moves to the last of them. */
static enum rc load_some(struct directory *dir, struct db *db, int64_t *after, size_t *n,
                         struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct directory_feed *feeds = ARENA_ARRAY(&a, struct directory_feed, LOAD_AT_ONCE);
    enum rc rc = db->reads->briefs_after(db, *after, LOAD_AT_ONCE, &a, feeds, n, err);

    if (rc != RC_OK || *n == 0)
        return rc;
    directory_lock(dir);
    for (size_t i = 0; i < *n; i++)
        directory_put(dir, &feeds[i]);
    directory_unlock(dir);
    *after = feeds[*n - 1].brief.id;
    db->reads->shrink(db); /* each row is read once */
    return RC_OK;
}

static enum rc load_all(struct directory *dir, struct db *db, int64_t last_seq, struct err *err)
{
    int64_t after = 0;
    size_t n = 0;
    enum rc rc;

    do
        rc = load_some(dir, db, &after, &n, err);
    while (rc == RC_OK && n > 0);
    directory_lock(dir);
    directory_set_last_seq(dir, last_seq);
    directory_unlock(dir);
    return rc;
}

static enum rc read_place(struct db *db, struct log_place *out, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct log_notice *none;
    size_t n;

    return db->reads->notices(db, INT64_MAX, 0, &a, out, &none, &n, err);
}

enum rc tail_load(struct tail *t, struct db *db, int64_t last_seq, struct err *err)
{
    struct log_place place = {.last_seq = last_seq};
    enum rc rc;

    rc = db->reads->snapshot(db, err);
    if (rc != RC_OK)
        return rc;
    if (db->reads->notices != NULL)
        rc = read_place(db, &place, err);
    if (rc == RC_OK)
        rc = load_all(t->dir, db, place.last_seq, err);
    db->reads->snapshot_end(db);
    if (db->reads->notices == NULL)
        return rc;
    set_place(t, &place);
    set_told(t);
    t->fork = place.fork;
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
        rc = t->db->reads->briefs_keys(t->db, &ids[i], 1, DIRECTORY_KEYS, out->runs[which[i]], err);
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
            out->feeds[i] = brief_of(f->row, TIME_UNKNOWN, NULL, 0, f->event_seq);
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
                                 .is_gone = b->id == 0,
                                 .next_fetch_at = b->id == 0 ? TIME_UNKNOWN : b->next_fetch_at,
                                 .content_at = b->id == 0 ? TIME_UNKNOWN : b->content_at,
                                 .first_seq = f->first_seq,
                                 .has_event = f->has_event,
                                 .is_new = f->is_new,
                                 .is_pinged = f->is_pinged,
                                 .is_by_hand = f->is_by_hand,
                                 .is_wanted = f->is_wanted,
                                 .is_answered = f->is_answered,
                                 .answer = f->answer};
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
                                         .has_hub_news = t->has_hub_news,
                                         .has_view_news = t->has_view_news};
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
           notice->has_hub_news || notice->has_view_news || notice->has_protected;
}

/* What the directory has learned of protected feeds is told with the first notice after it, whichever node
 * has changed them. */
static void tell(struct tail *t, const struct commit_notice *notice)
{
    struct commit_notice told = *notice;
    int64_t protections = directory_protections(t->dir);

    told.has_protected = protections != t->protections;
    t->protections = protections;
    for (size_t i = 0; i < t->n_listeners && says_anything(&told); i++)
        t->listeners[i].fn(t->listeners[i].ctx, &told);
}

void tail_take(struct tail *t, const struct tail_news *news)
{
    publish(t, news);
    tell(t, &news->notice);
}

/* ---- following other nodes ------------------------------------------------------------------- */

/* Ids. The first n_sorted are ascending, each once. */
struct id_list {
    int64_t *ids;
    size_t n, cap, n_sorted;
};

/* What is read of notices, and of the feeds that they name. However many notices there are, only
 * some are held at once. If there are more, each is read twice in one snapshot: to learn what is to
 * be published, and to tell of it. A node that is far behind would otherwise have to read all
 * anew, and be as far behind after it. */
struct following {
    struct arena arena;
    struct log_place place;
    struct arena part; /* of the next two */
    struct log_notice *notices;
    size_t n_notices;
    bool is_one_part;             /* they are all that there are */
    struct id_list named;         /* the feeds, ascending, each once */
    struct id_list keyed;         /* those whose keys have changed, the same */
    struct directory_feed *feeds; /* of the named ones; brief.id 0: the feed is gone */
    struct key_run *runs;         /* the same; NULL: the keys are forgotten */
};

static void following_release(struct following *f)
{
    mem_free(f->runs);
    mem_free(f->named.ids);
    mem_free(f->keyed.ids);
    arena_release(&f->part);
    arena_release(&f->arena);
}

static void add_id(struct id_list *l, int64_t id)
{
    l->ids = mem_grow(l->ids, &l->cap, l->n + 1, sizeof *l->ids);
    l->ids[l->n++] = id;
}

static void add_ids(struct id_list *l, const int64_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add_id(l, ids[i]);
}

static void sort_ids(struct id_list *l)
{
    l->n = l->n_sorted = view_ids_sort(l->ids, l->n);
}

/* A feed may be in all notices. */
static void bound_ids(struct id_list *l)
{
    if (l->n > 2 * l->n_sorted + FOLLOW_MAX)
        sort_ids(l);
}

static int by_number(const void *x, const void *y)
{
    const int64_t *a = x, *b = y;

    return *a < *b ? -1 : *a > *b;
}

static const int64_t *find_id(const struct id_list *l, int64_t id)
{
    return l->n == 0 ? NULL : bsearch(&id, l->ids, l->n, sizeof *l->ids, by_number);
}

static size_t index_of(const struct following *f, int64_t id)
{
    return (size_t)(find_id(&f->named, id) - f->named.ids);
}

/* Read the next notices. */
static enum rc read_part(struct following *f, struct db *db, int64_t after, struct err *err)
{
    arena_release(&f->part);
    return db->reads->notices(db, after, FOLLOW_MAX, &f->part, &f->place, &f->notices,
                              &f->n_notices, err);
}

static void collect(struct following *f)
{
    for (size_t i = 0; i < f->n_notices; i++)
        for (size_t k = 0; k < f->notices[i].n_feeds; k++) {
            add_id(&f->named, f->notices[i].feeds[k].feed_id);
            if (f->notices[i].has_keys[k])
                add_id(&f->keyed, f->notices[i].feeds[k].feed_id);
        }
    bound_ids(&f->named);
    bound_ids(&f->keyed);
}

/* Read which feeds have changed since the last time. *is_broken: notices are missing, or the log is
 * another one than before. */
static enum rc read_notices(struct tail *t, struct following *f, struct db *db, bool *is_broken,
                            struct err *err)
{
    int64_t left;
    enum rc rc = read_part(f, db, t->place.last_notice, err);

    if (rc != RC_OK)
        return rc;
    left = f->place.last_notice - t->place.last_notice;
    stats_set(STAT_tail_behind, left);
    *is_broken = f->place.timeline != t->place.timeline || t->told != t->place.last_notice;
    f->is_one_part = left == (int64_t)f->n_notices;
    while (rc == RC_OK && !*is_broken) {
        collect(f);
        left -= (int64_t)f->n_notices;
        if (left == 0)
            break;
        *is_broken = f->n_notices < FOLLOW_MAX || left < 0;
        if (!*is_broken)
            rc = read_part(f, db, f->notices[f->n_notices - 1].n, err);
    }
    return rc;
}

static enum rc read_named(struct following *f, struct db *db, struct err *err)
{
    const struct id_list *l = &f->named;
    enum rc rc = RC_OK;

    f->feeds = ARENA_ARRAY(&f->arena, struct directory_feed, l->n + 1);
    for (size_t at = 0; at < l->n && rc == RC_OK; at += LOAD_AT_ONCE)
        rc = db->reads->briefs_load(db, l->ids + at, NULL,
                                    l->n - at < LOAD_AT_ONCE ? l->n - at : LOAD_AT_ONCE, &f->arena,
                                    f->feeds + at, err);
    if (rc != RC_OK || l->n == 0 || l->n > FOLLOW_KEYS)
        return rc;
    f->runs = mem_zalloc(l->n * sizeof *f->runs);
    return db->reads->briefs_keys(db, l->ids, l->n, DIRECTORY_KEYS, f->runs, err);
}

static void publish_following(struct tail *t, const struct following *f)
{
    t->known = f->place.last_notice;
    directory_lock(t->dir);
    for (size_t i = 0; i < f->named.n; i++) {
        int64_t id = f->named.ids[i];

        if (f->feeds[i].brief.id == 0) {
            directory_remove(t->dir, id);
            continue;
        }
        directory_put(t->dir, &f->feeds[i]);
        if (f->runs != NULL)
            directory_set_keys(t->dir, id, f->runs[i].keys, f->runs[i].n, f->runs[i].complete);
        else if (find_id(&f->keyed, id) != NULL)
            directory_forget_keys(t->dir, id, f->feeds[i].newest_at);
    }
    directory_set_last_seq(t->dir, f->place.last_seq);
    directory_unlock(t->dir);
    set_place(t, &f->place);
}

static void set_times(struct feed_notice *n, const struct directory_feed *f)
{
    n->is_gone = f->brief.id == 0;
    n->next_fetch_at = f->brief.id == 0 ? TIME_UNKNOWN : f->brief.next_fetch_at;
    n->content_at = f->brief.id == 0 ? TIME_UNKNOWN : f->brief.content_at;
}

/* Tell of these feeds only when they are fetched next: the rest is in their notice, if they have
 * one. */
static void tell_times(struct tail *t, struct following *f, const int64_t *ids, size_t n)
{
    struct feed_notice *feeds = ARENA_ARRAY(&f->arena, struct feed_notice, n + 1);

    for (size_t i = 0; i < n; i++) {
        feeds[i] = (struct feed_notice){.feed_id = ids[i]};
        set_times(&feeds[i], &f->feeds[index_of(f, ids[i])]);
    }
    tell(t, &(struct commit_notice){.last_seq = f->place.last_seq, .feeds = feeds, .n_feeds = n});
}

static void tell_part(struct tail *t, struct following *f)
{
    for (size_t i = 0; i < f->n_notices; i++) {
        struct log_notice *n = &f->notices[i];

        for (size_t k = 0; k < n->n_feeds; k++)
            set_times(&n->feeds[k], &f->feeds[index_of(f, n->feeds[k].feed_id)]);
        n->told.feeds = n->feeds;
        n->told.n_feeds = n->n_feeds;
        tell(t, &n->told);
        t->told = n->n;
    }
}

/* Tell of all notices since the last time, and note that. They have been published. */
static enum rc tell_following(struct tail *t, struct following *f, struct db *db, struct err *err)
{
    enum rc rc = RC_OK;

    if (f->is_one_part)
        tell_part(t, f);
    while (rc == RC_OK && t->told < t->place.last_notice) {
        rc = read_part(f, db, t->told, err);
        if (rc == RC_OK)
            tell_part(t, f);
    }
    return rc;
}

/* ---- reading all anew ------------------------------------------------------------------------ */

static enum rc all_subs(struct db *db, struct arena *a, int64_t **out, size_t *n_out,
                        struct err *err)
{
    int64_t after = 0, *ids = NULL;
    size_t n = 0, cap = 0, got;
    enum rc rc;

    do {
        AUTO(arena_release) struct arena scratch = ARENA_INIT;
        struct subscription *subs;

        rc = db->reads->subs_after(db, after, SUBS_AT_ONCE, &scratch, &subs, &got, err);
        got = rc == RC_OK ? got : 0;
        for (size_t i = 0; i < got; i++) {
            ids = mem_grow(ids, &cap, n + 1, sizeof *ids);
            ids[n++] = after = subs[i].id;
        }
    } while (got > 0);
    *out = ARENA_ARRAY(a, int64_t, n + 1);
    if (n > 0)
        memcpy(*out, ids, n * sizeof *ids);
    *n_out = n;
    mem_free(ids);
    return rc;
}

/* Add a notice of each feed that is in one of the directories, and differs in the other. */
static void note_differing(struct directory *dir, struct directory *other, bool only_missing,
                           struct arena *a, struct feed_notice *out, size_t *n_out)
{
    struct feed_brief here, there;
    int64_t *ids;
    size_t n = directory_ids(dir, a, &ids);

    for (size_t i = 0; i < n; i++) {
        bool is_missing = !directory_brief(other, ids[i], &there);

        if (!directory_brief(dir, ids[i], &here) || (only_missing && !is_missing))
            continue;
        if (is_missing || here.version != there.version ||
            here.next_fetch_at != there.next_fetch_at || here.content_at != there.content_at)
            out[(*n_out)++] = (struct feed_notice){
                .feed_id = ids[i],
                .is_gone = only_missing,
                .next_fetch_at = only_missing ? TIME_UNKNOWN : here.next_fetch_at,
                .content_at = only_missing ? TIME_UNKNOWN : here.content_at,
                .is_new = is_missing && !only_missing};
    }
}

static enum rc read_anew(struct tail *t, struct following *f, struct db *db, struct err *err)
{
    struct arena *a = &f->arena;
    struct directory *fresh = directory_new();
    struct commit_notice *notice = ARENA_NEW(a, struct commit_notice);
    int64_t *subs = NULL, *ids;
    enum rc rc = load_all(fresh, db, f->place.last_seq, err);

    if (rc == RC_OK)
        rc = all_subs(db, a, &subs, &notice->n_subs, err);
    if (rc == RC_OK) {
        size_t most = directory_ids(fresh, a, &ids) + directory_ids(t->dir, a, &ids);
        struct feed_notice *feeds = ARENA_ARRAY(a, struct feed_notice, most + 1);

        note_differing(fresh, t->dir, false, a, feeds, &notice->n_feeds);
        note_differing(t->dir, fresh, true, a, feeds, &notice->n_feeds);
        notice->feeds = feeds;
        notice->sub_ids = subs;
        notice->last_seq = f->place.last_seq;
        notice->has_hub_news = notice->has_view_news = notice->is_foreign = notice->is_anew = true;
        t->known = f->place.last_notice;
        t->fork = f->place.fork; /* first: what belongs to it must not get an older name */
        directory_replace(t->dir, fresh);
        set_place(t, &f->place);
        tell(t, notice);
        t->untold.after = t->told;
        t->untold.upto = f->place.last_notice;
        set_told(t);
    }
    directory_free(&fresh);
    return rc;
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* Publish what is in the notices, and the present state of some more feeds, and tell of it. */
static enum rc take_following(struct tail *t, struct following *f, struct db *db,
                              const int64_t *more, size_t n_more, struct err *err)
{
    enum rc rc;

    add_ids(&f->named, more, n_more);
    sort_ids(&f->named);
    sort_ids(&f->keyed);
    rc = read_named(f, db, err);
    if (rc != RC_OK)
        return rc;
    publish_following(t, f);
    rc = tell_following(t, f, db, err);
    tell_times(t, f, more, n_more);
    return rc;
}

/* Publish what was committed since the last time, and the present state of some more feeds. */
static enum rc follow(struct tail *t, struct db *db, const int64_t *more, size_t n_more,
                      struct err *err)
{
    AUTO(following_release) struct following f = {.arena = ARENA_INIT, .part = ARENA_INIT};
    bool is_broken = false;
    enum rc rc = db->reads->snapshot(db, err);

    if (rc != RC_OK)
        return rc;
    rc = read_notices(t, &f, db, &is_broken, err);
    if (rc == RC_OK)
        rc = is_broken ? read_anew(t, &f, db, err) : take_following(t, &f, db, more, n_more, err);
    db->reads->snapshot_end(db);
    if (rc == RC_OK)
        stats_set(STAT_tail_behind, 0);
    return rc;
}

enum rc tail_follow(struct tail *t, struct db *db, struct err *err)
{
    enum rc rc;

    pthread_mutex_lock(&t->turn);
    rc = follow(t, db, NULL, 0, err);
    pthread_mutex_unlock(&t->turn);
    return rc;
}

/* May the notes be published as they are? Not when another node's commit comes before, or when one
 * of the feeds was published again since its row was read. */
static bool is_next(const struct tail *t, const struct txn *txn)
{
    if (t->told != t->place.last_notice)
        return false;
    if (txn->notice != 0)
        return txn->notice == t->place.last_notice + 1;
    for (size_t i = 0; i < txn->n_feeds; i++)
        if (directory_edition(t->dir, txn->feeds[i].id) > txn->edition)
            return false;
    return true;
}

/* Was something read that a later commit has changed? */
static bool is_ahead(const struct log_place *place, const struct tail_news *news)
{
    for (size_t i = 0; i < news->notice.n_feeds; i++) {
        const struct directory_feed *f = &news->feeds[i];

        if (f->brief.version > place->version || f->last_seq > place->last_seq ||
            f->event_seq > place->last_seq)
            return true;
    }
    return false;
}

static enum rc take_turn(struct tail *t, struct txn *txn, struct tail_news *news, bool *is_taken,
                         struct err *err)
{
    struct log_place place = t->place;
    enum rc rc = tail_read(txn, news, err);

    if (txn->notice != 0)
        place = (struct log_place){txn->notice, txn->last_seq, txn->version, t->place.timeline,
                                   t->place.fork};
    if (rc != RC_OK || is_ahead(&place, news))
        return rc;
    *is_taken = true;
    t->known = place.last_notice;
    tail_take(t, news);
    set_place(t, &place);
    set_told(t);
    return RC_OK;
}

/* Other nodes announce what they have committed; what we have, nobody does. So tell of it if it is
 * among what was never told. */
static enum rc tell_untold(struct tail *t, struct txn *txn, struct err *err)
{
    struct tail_news news = TAIL_NEWS_INIT;
    enum rc rc = RC_OK;

    if (txn->notice > t->untold.after && txn->notice <= t->untold.upto) {
        rc = tail_read(txn, &news, err);
        if (rc == RC_OK)
            tell(t, &news.notice);
    }
    tail_news_release(&news);
    return rc;
}

static enum rc follow_with(struct tail *t, struct txn *txn, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    int64_t *ids = ARENA_ARRAY(&a, int64_t, txn->n_feeds + 1);
    enum rc rc;

    for (size_t i = 0; i < txn->n_feeds; i++)
        ids[i] = txn->feeds[i].id;
    rc = follow(t, txn->db, ids, txn->n_feeds, err);
    if (rc == RC_OK)
        rc = tell_untold(t, txn, err);
    directory_lock(t->dir);
    for (size_t i = 0; i < txn->n_edited; i++)
        directory_edited(t->dir, txn->edited[i]);
    directory_unlock(t->dir);
    return rc;
}

enum rc tail_turn(struct tail *t, struct txn *txn, struct err *err)
{
    struct tail_news news = TAIL_NEWS_INIT;
    bool is_taken = false;
    enum rc rc = RC_OK;

    txn_fold(txn);
    pthread_mutex_lock(&t->turn);
    if (is_next(t, txn))
        rc = take_turn(t, txn, &news, &is_taken, err);
    if (rc == RC_OK && !is_taken)
        rc = follow_with(t, txn, err);
    pthread_mutex_unlock(&t->turn);
    tail_news_release(&news);
    return rc;
}

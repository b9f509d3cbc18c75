/* storage/sqlite/subscriptions.c - statements of the tables subscriptions and sub_feeds. */
#include "storage/sqlite/subscriptions.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "storage/sqlite/fields.h"
#include "storage/placed.h"
#include "storage/tables.h"
#include "storage/sqlite/views.h"

#define FEED_COLUMNS "feed_id, url, name, folder, category, listed"
/* without the list that it follows (LISTED_LIST) */
#define N_FEEDS "(SELECT count(*) FROM sub_feeds WHERE sub_id = subscriptions.id AND listed <> 3)"

/* The row's columns begin with column `i`. */
static struct sub_feed read_feed(sqlite3_stmt *st, int i, struct arena *a)
{
    return (struct sub_feed){col_int(st, i),        col_str(st, i + 1, a),
                             col_str(st, i + 2, a), col_str(st, i + 3, a),
                             col_str(st, i + 4, a), (enum listed)col_int(st, i + 5)};
}

/* Append the feed of this row, whose columns begin with column `i`. */
static void add_feed(sqlite3_stmt *st, int i, struct subscription *sub, struct arena *a)
{
    size_t n = sub->n_feeds;

    if ((n & (n - 1)) == 0) { /* a power of two, or 0: full */
        struct sub_feed *grown = ARENA_ARRAY(a, struct sub_feed, n == 0 ? 1 : 2 * n);

        if (n > 0)
            memcpy(grown, sub->feeds, n * sizeof *grown);
        sub->feeds = grown;
    }
    sub->feeds[sub->n_feeds++] = read_feed(st, i, a);
}

static enum rc load_feeds(struct db *db, struct subscription *sub, struct arena *a, struct err *err)
{
    sqlite3_stmt *st = stmt_start(
        db, err, "SELECT " FEED_COLUMNS " FROM sub_feeds WHERE sub_id = ?1 ORDER BY place, feed_id",
        "i", sub->id);
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0)
        add_feed(st, 0, sub, a);
    sub_take_list(sub);
    return got < 0 ? RC_IO : RC_OK;
}

/* The row's columns begin with column `i`. */
static void read_row(sqlite3_stmt *st, int i, struct arena *a, struct subscription *row)
{
    *row = (struct subscription){.id = 0};
    SUB_FIXED(FIELD_READ)
    SUB_SAVED(FIELD_READ)
    row->last_error = col_str(st, i, a);
}

/* Read one subscription, if there is such a one. */
static enum rc load_row(struct db *db, int64_t id, bool with_feeds, struct arena *a,
                        struct subscription *out, bool *found, struct err *err)
{
    sqlite3_stmt *st =
        stmt_start(db, err,
                   "SELECT " SUB_FIXED(FIELD_SELECT)
                       SUB_SAVED(FIELD_SELECT) "last_error FROM subscriptions WHERE id = ?1",
                   "i", id);
    int got = st == NULL ? -1 : stmt_next(db, st, err);

    if (got < 0)
        return RC_IO;
    *found = got > 0;
    if (!*found)
        return RC_OK;
    read_row(st, 0, a, out);
    stmt_end(st);
    return with_feeds ? load_feeds(db, out, a, err) : RC_OK;
}

/* The numbers of a JSON list, with their places in it. */
#define WANTED "(SELECT key AS i, value AS wanted FROM json_each(?1))"

static enum rc load_pushed(struct db *db, struct str ids, struct push_sub *subs, struct err *err)
{
    sqlite3_stmt *st = stmt_start(
        db, err,
        "SELECT i, endpoint_credential, sink_settings, EXISTS (SELECT 1 FROM dead_letters AS d"
        " WHERE d.sub_id = subscriptions.id AND d.wanted = 1), " SUB_FIXED(FIELD_SELECT)
            SUB_SAVED(FIELD_SELECT) "last_error FROM " WANTED
                                    " CROSS JOIN subscriptions ON id = wanted",
        "s", ids);
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        struct push_sub *p = &subs[col_int(st, 0)];

        p->sub = ARENA_NEW(p->arena, struct subscription);
        p->credential = col_str(st, 1, p->arena);
        p->settings = col_str(st, 2, p->arena);
        p->wants_dead = col_int(st, 3) != 0;
        read_row(st, 4, p->arena, p->sub);
    }
    return got < 0 ? RC_IO : RC_OK;
}

/* All feeds of the subscription are there. */
static void set_feeds(struct push_sub *p, struct placed_feed *feeds, size_t n)
{
    if (p->sub != NULL && n > 0)
        placed_set(feeds, n, p->arena, p->sub);
}

/* The rows come by subscription, but not by place: most have one feed, and SQLite would sort all
 * rows, which costs more than reading them. */
static enum rc load_pushed_feeds(struct db *db, struct str ids, struct push_sub *subs,
                                 struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err,
                                  "SELECT i, place, " FEED_COLUMNS " FROM " WANTED
                                  " CROSS JOIN sub_feeds ON sub_id = wanted",
                                  "s", ids);
    struct placed_feed *feeds = NULL;
    size_t n = 0, cap = 0;
    int64_t at = 0;
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        if (col_int(st, 0) != at)
            set_feeds(&subs[at], feeds, n);
        n = col_int(st, 0) != at ? 0 : n;
        at = col_int(st, 0);
        feeds = mem_grow(feeds, &cap, n + 1, sizeof *feeds);
        feeds[n++] = (struct placed_feed){col_int(st, 1), read_feed(st, 2, subs[at].arena)};
    }
    set_feeds(&subs[at], feeds, n);
    mem_free(feeds);
    return got < 0 ? RC_IO : RC_OK;
}

enum rc subs_pushed(struct db *db, struct push_sub *subs, size_t n, struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    int64_t *ids = ARENA_ARRAY(&scratch, int64_t, n + 1);
    struct str list;
    enum rc rc;

    for (size_t i = 0; i < n; i++) {
        ids[i] = subs[i].id;
        subs[i].sub = NULL;
        subs[i].credential = subs[i].settings = STR_NULL;
        subs[i].wants_dead = false;
    }
    if (n == 0)
        return RC_OK;
    list = id_list(&scratch, ids, n);
    rc = load_pushed(db, list, subs, err);
    return rc == RC_OK ? load_pushed_feeds(db, list, subs, err) : rc;
}

/* One text column of a subscription. */
static enum rc read_text(struct db *db, const char *sql, int64_t id, struct arena *a,
                         struct str *out, struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err, sql, "i", id);
    int got = st == NULL ? -1 : stmt_next(db, st, err);

    if (got < 0)
        return RC_IO;
    if (got == 0)
        return err_set(err, RC_NOT_FOUND, "there is no subscription %" PRId64, id);
    *out = col_str(st, 0, a);
    stmt_end(st);
    return RC_OK;
}

enum rc subs_find(struct db *db, struct str sink, struct str endpoint, struct str settings,
                  struct str owner, int64_t *id, int64_t *n_owned, struct err *err)
{
    sqlite3_stmt *st = stmt_start(
        db, err,
        "SELECT coalesce(min(iif(endpoint = ?2 AND sink_settings = ?3, id, NULL)), 0), count(*)"
        " FROM subscriptions WHERE sink = ?1 AND (endpoint = ?2 OR endpoint = ?4"
        " OR substr(endpoint, 1, length(?4) + 1) = ?4 || '/')",
        "ssss", sink, endpoint, settings, owner);

    if (st == NULL || stmt_next(db, st, err) < 0)
        return RC_IO;
    *id = col_int(st, 0);
    *n_owned = col_int(st, 1);
    stmt_end(st);
    return RC_OK;
}

enum rc subs_settings(struct db *db, int64_t id, struct arena *a, struct str *out, struct err *err)
{
    return read_text(db, "SELECT sink_settings FROM subscriptions WHERE id = ?1", id, a, out, err);
}

/* Collect the first column of all rows. */
static enum rc collect(struct db *db, sqlite3_stmt *st, struct arena *a, int64_t **out,
                       size_t *n_out, struct err *err)
{
    size_t n = 0, cap = 16;
    int64_t *ids = ARENA_ARRAY(a, int64_t, cap), *grown;
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        if (n == cap) {
            cap *= 2;
            grown = ARENA_ARRAY(a, int64_t, cap);
            memcpy(grown, ids, n * sizeof *ids);
            ids = grown;
        }
        ids[n++] = col_int(st, 0);
    }
    if (got < 0)
        return RC_IO;
    *out = ids;
    *n_out = n;
    return RC_OK;
}

enum rc subs_by_id(struct db *db, const int64_t *ids, size_t n, struct arena *a,
                   struct subscription **out, size_t *n_out, struct err *err)
{
    struct subscription *list;
    int64_t *all;
    enum rc rc = RC_OK;
    size_t kept = 0;
    bool found;

    if (ids == NULL) {
        rc = collect(db, stmt_start(db, err, "SELECT id FROM subscriptions ORDER BY id", ""), a,
                     &all, &n, err);
        if (rc != RC_OK)
            return rc;
        ids = all;
    }
    list = ARENA_ARRAY(a, struct subscription, n + 1);
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        rc = load_row(db, ids[i], true, a, &list[kept], &found, err);
        if (rc == RC_OK && found)
            kept++;
    }
    if (rc != RC_OK)
        return rc;
    *out = list;
    *n_out = kept;
    return RC_OK;
}

enum rc subs_ids_after(struct db *db, int64_t after_id, size_t max, struct arena *a, int64_t **out,
                       size_t *n_out, struct err *err)
{
    return collect(db,
                   stmt_start(db, err,
                              "SELECT id FROM subscriptions WHERE id > ?1 ORDER BY id LIMIT ?2",
                              "ii", after_id, (int64_t)max),
                   a, out, n_out, err);
}

enum rc subs_listed(struct db *db, int64_t after_id, size_t max, struct arena *a,
                    struct sub_summary **out, size_t *n_out, struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err,
                                  "SELECT " SUB_LISTED(FIELD_SELECT) N_FEEDS
                                  " FROM subscriptions WHERE id > ?1 ORDER BY id LIMIT ?2",
                                  "ii", after_id, (int64_t)max);
    struct sub_summary *row;
    int got = -1, i;

    *out = ARENA_ARRAY(a, struct sub_summary, max + 1);
    *n_out = 0;
    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        row = &(*out)[(*n_out)++];
        *row = (struct sub_summary){.id = 0};
        i = 0;
        SUB_LISTED(FIELD_READ)
        row->n_feeds = col_int(st, i);
    }
    return got < 0 ? RC_IO : RC_OK;
}

enum rc subs_asking(struct db *db, struct arena *a, int64_t **out, size_t *n_out,
                       struct err *err)
{
    return collect(
        db,
        stmt_start(db, err, "SELECT id FROM subscriptions WHERE asks IS NOT NULL ORDER BY id", ""),
        a, out, n_out, err);
}

enum rc subs_of_feed(struct db *db, int64_t feed_id, struct arena *a, int64_t **out, size_t *n_out,
                     struct err *err)
{
    return collect(
        db, stmt_start(db, err, "SELECT sub_id FROM sub_feeds WHERE feed_id = ?1", "i", feed_id), a,
        out, n_out, err);
}

enum rc subs_of_list(struct db *db, int64_t feed_id, struct arena *a, struct list_followers *out,
                     struct err *err)
{
    sqlite3_stmt *st =
        stmt_start(db, err, "SELECT count(*) FROM sub_feeds WHERE feed_id = ?1 AND listed <> ?2",
                   "ii", feed_id, (int64_t)LISTED_LIST);

    if (st == NULL || stmt_next(db, st, err) < 0)
        return RC_IO;
    out->n_others = (size_t)col_int(st, 0);
    stmt_end(st);
    return collect(db,
                   stmt_start(db, err,
                              "SELECT sub_id FROM sub_feeds WHERE feed_id = ?1 AND listed = ?2"
                              " ORDER BY sub_id",
                              "ii", feed_id, (int64_t)LISTED_LIST),
                   a, &out->subs, &out->n, err);
}

enum rc subs_of_feed_by_sink(struct db *db, int64_t feed_id, struct str sink, struct arena *a,
                             int64_t **out, size_t *n_out, struct err *err)
{
    return collect(db,
                   stmt_start(db, err,
                              "SELECT sub_id FROM sub_feeds CROSS JOIN subscriptions ON id = sub_id"
                              " WHERE feed_id = ?1 AND sink = ?2",
                              "is", feed_id, sink),
                   a, out, n_out, err);
}

/* The last statement has added rows for this feed to sub_feeds, or, with sign -1, removed some. */
static enum rc count_feed(struct db *db, int64_t feed_id, int sign, struct err *err)
{
    int64_t n = stmt_changes(db);

    return n == 0 ? RC_OK
                  : stmt_run(db, err,
                             "UPDATE feeds SET n_subscriptions = n_subscriptions + ?2"
                             " WHERE id = ?1",
                             "ii", feed_id, sign * n);
}

enum rc sub_feeds_match(struct db *db, int64_t sub_id, struct str url, struct arena *a,
                        int64_t **out, size_t *n_out, struct err *err)
{
    /* Each part starts from the URL, because a request may name many URLs of a subscription with
     * many feeds. */
    return collect(db,
                   stmt_start(db, err,
                              "SELECT feed_id FROM sub_feeds WHERE sub_id = ?1 AND url = ?2"
                              " UNION SELECT s.feed_id FROM feeds f CROSS JOIN sub_feeds s"
                              " ON s.sub_id = ?1 AND s.feed_id = f.id WHERE f.url = ?2"
                              " UNION SELECT s.feed_id FROM feeds f CROSS JOIN sub_feeds s"
                              " ON s.sub_id = ?1 AND s.feed_id = f.id WHERE f.page_url = ?2"
                              " UNION SELECT s.feed_id FROM aliases a CROSS JOIN sub_feeds s"
                              " ON s.sub_id = ?1 AND s.feed_id = a.feed_id WHERE a.url = ?2",
                              "is", sub_id, url),
                   a, out, n_out, err);
}

enum rc sub_feeds_move(struct db *db, int64_t from, int64_t to, struct err *err)
{
    enum rc rc = stmt_run(db, err, "UPDATE OR IGNORE sub_feeds SET feed_id = ?2 WHERE feed_id = ?1",
                          "ii", from, to);

    if (rc == RC_OK)
        rc = count_feed(db, to, 1, err);
    if (rc == RC_OK)
        rc = stmt_run(db, err, "DELETE FROM sub_feeds WHERE feed_id = ?1", "i", from);
    return rc == RC_OK
               ? stmt_run(db, err, "UPDATE feeds SET n_subscriptions = 0 WHERE id = ?1", "i", from)
               : rc;
}

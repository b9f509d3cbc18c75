/* storage/sqlite/feeds.c - statements of the tables feeds, heads, head_log and aliases. */
#include "storage/sqlite/feeds.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/stats.h"
#include "storage/sqlite/fields.h"
#include "storage/sqlite/views.h"
#include "storage/tables.h"

#define SHRINK_ROWS 4096 /* of a walk through all feeds */

/* ---- the row --------------------------------------------------------------------------------- */

/* The kind of body_hash: 16 bytes, or NULL when the feed has none. */
#define FIELD_LETTER_HASH "h"
#define FIELD_BIND_HASH(member) row->feed.has_body_hash ? (member) : NULL
#define FIELD_READ_HASH(member)                                                                    \
    row->feed.has_body_hash = sqlite3_column_type(st, i) != SQLITE_NULL;                           \
    col_hash(st, i++, (member))

static void read_row(sqlite3_stmt *st, struct arena *a, struct feed_row *row)
{
    int i = 0;

    *row = (struct feed_row){.feed.upstream.is_current = true};
    FEED_FIXED(FIELD_READ)
    FEED_SAVED(FIELD_READ)
    row->feed.n_subscriptions = (int)col_int(st, i++);
    FEED_UPSTREAM(FIELD_READ)
}

enum rc heads_load(struct db *db, int64_t id, struct arena *a, struct feed *r, struct err *err)
{
    sqlite3_stmt *st =
        stmt_start(db, err, "SELECT head, ext FROM heads WHERE feed_id = ?1", "i", id);
    int got = st == NULL ? -1 : stmt_next(db, st, err);

    if (got < 0)
        return RC_IO;
    if (got > 0) {
        r->head = col_str(st, 0, a);
        r->ext = col_str(st, 1, a);
        stmt_end(st);
    }
    return RC_OK;
}

/* Read one feed, if there is such a feed. */
static enum rc load_row(struct db *db, int64_t id, bool with_head, struct arena *a,
                        struct feed_row *out, bool *found, struct err *err)
{
    sqlite3_stmt *st =
        stmt_start(db, err,
                   "SELECT " FEED_FIXED(FIELD_SELECT_F)
                       FEED_SAVED(FIELD_SELECT_F) "f.n_subscriptions" FEED_UPSTREAM(
                           FIELD_SELECT_U) " FROM feeds f LEFT JOIN upstreams u ON u.feed_id = f.id"
                                           " AND u.is_current = 1 WHERE f.id = ?1",
                   "i", id);
    int got = st == NULL ? -1 : stmt_next(db, st, err);

    if (got < 0)
        return RC_IO;
    *found = got > 0;
    if (!*found)
        return RC_OK;
    read_row(st, a, out);
    stmt_end(st);
    stats_inc(STAT_feed_loads_total);
    return with_head ? heads_load(db, id, a, &out->feed, err) : RC_OK;
}

enum rc feeds_load(struct db *db, int64_t id, bool with_head, struct arena *a, struct feed_row *out,
                   struct err *err)
{
    bool found;
    enum rc rc = load_row(db, id, with_head, a, out, &found, err);

    return rc == RC_OK && !found ? err_set(err, RC_NOT_FOUND, "there is no feed %" PRId64, id) : rc;
}

enum rc feeds_name(struct db *db, int64_t id, struct arena *a, struct str *url, struct str *title,
                   struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err, "SELECT url, title FROM feeds WHERE id = ?1", "i", id);
    int got = st == NULL ? -1 : stmt_next(db, st, err);

    if (got < 0)
        return RC_IO;
    if (got == 0)
        return err_set(err, RC_NOT_FOUND, "there is no feed %" PRId64, id);
    *url = col_str(st, 0, a);
    *title = col_str(st, 1, a);
    stmt_end(st);
    return RC_OK;
}

enum rc feeds_listed(struct db *db, const int64_t *ids, size_t n, struct arena *a,
                     struct feed_summary **out, size_t *n_out, struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    sqlite3_stmt *st =
        stmt_start(db, err,
                   "SELECT " FEED_LISTED(FIELD_SELECT) "1 FROM feeds"
                   " WHERE id IN (SELECT value FROM json_each(?1)) ORDER BY id",
                   "s", id_list(&scratch, ids, n));
    struct feed_summary *row;
    int got = -1, i;

    *out = ARENA_ARRAY(a, struct feed_summary, n + 1);
    *n_out = 0;
    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        row = &(*out)[(*n_out)++];
        *row = (struct feed_summary){.id = 0};
        i = 0;
        FEED_LISTED(FIELD_READ)
    }
    return got < 0 ? RC_IO : RC_OK;
}

static enum rc load_shown(struct db *db, int64_t id, struct arena *a, struct feed *out, bool *found,
                          struct err *err)
{
    struct feed_row of = {.feed.id = 0}, *row = &of;
    sqlite3_stmt *st =
        stmt_start(db, err,
                   "SELECT " FEED_SHOWN(FIELD_SELECT_F) "h.head, h.ext FROM feeds f"
                   " LEFT JOIN heads h ON h.feed_id = f.id WHERE f.id = ?1",
                   "i", id);
    int got = st == NULL ? -1 : stmt_next(db, st, err), i = 0;

    if (got < 0)
        return RC_IO;
    *found = got > 0;
    if (!*found)
        return RC_OK;
    FEED_SHOWN(FIELD_READ)
    row->feed.head = col_str(st, i++, a);
    row->feed.ext = col_str(st, i, a);
    stmt_end(st);
    *out = row->feed;
    return RC_OK;
}

enum rc feeds_shown(struct db *db, const int64_t *ids, size_t n, struct arena *a, struct feed **out,
                    size_t *n_out, struct err *err)
{
    enum rc rc = RC_OK;
    bool found;

    *out = ARENA_ARRAY(a, struct feed, n + 1);
    *n_out = 0;
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        rc = load_shown(db, ids[i], a, &(*out)[*n_out], &found, err);
        *n_out += rc == RC_OK && found ? 1 : 0;
    }
    return rc;
}

enum rc feeds_insert(struct db *db, const struct feed_row *row, struct err *err)
{
    return stmt_run(db, err,
                    "INSERT INTO feeds (" FEED_FIXED(FIELD_SELECT)
                        FEED_SAVED(FIELD_SELECT) "n_subscriptions) VALUES (" FEED_FIXED(FIELD_VALUE)
                            FEED_SAVED(FIELD_VALUE) "?)",
                    FEED_FIXED(FIELD_LETTER) FEED_SAVED(FIELD_LETTER) "i",
                    FEED_FIXED(FIELD_BIND) FEED_SAVED(FIELD_BIND)(int64_t)
                        row->feed.n_subscriptions);
}

enum rc feeds_save(struct db *db, const struct feed_row *row, struct err *err)
{
    return stmt_run(db, err, "UPDATE feeds SET " FEED_SAVED(FIELD_SET) "version = ? WHERE id = ?",
                    FEED_SAVED(FIELD_LETTER) "ii", FEED_SAVED(FIELD_BIND) row->feed.version,
                    row->feed.id);
}

enum rc feeds_save_count(struct db *db, int64_t id, int n_subscriptions, struct err *err)
{
    return stmt_run(db, err, "UPDATE feeds SET n_subscriptions = ?2 WHERE id = ?1", "ii", id,
                    (int64_t)n_subscriptions);
}

enum rc feeds_save_identity(struct db *db, int64_t id, const struct identity_policy *p,
                            struct err *err)
{
    return stmt_run(db, err,
                    "UPDATE feeds SET id_rule = ?2, id_since_at = ?3, id_why = ?4,"
                    " id_against = ?5, id_better = ?6 WHERE id = ?1",
                    "iitsii", id, (int64_t)p->rule, p->since_at, p->why, (int64_t)p->n_against,
                    (int64_t)p->n_better);
}

enum rc feeds_save_urls(struct db *db, int64_t id, struct str url, struct str page_url,
                        struct err *err)
{
    return stmt_run(db, err, "UPDATE feeds SET url = ?2, page_url = ?3 WHERE id = ?1", "iss", id,
                    url, page_url);
}

enum rc feeds_save_head(struct db *db, int64_t id, struct str head, struct str ext, struct err *err)
{
    return stmt_run(db, err,
                    "INSERT INTO heads (feed_id, head, ext) VALUES (?1, ?2, ?3)"
                    " ON CONFLICT (feed_id) DO UPDATE SET head = excluded.head, ext = excluded.ext",
                    "iee", id, head, ext);
}

enum rc head_log_add(struct db *db, int64_t since_seq, const struct feed *r, struct err *err)
{
    return stmt_run(db, err,
                    "INSERT INTO head_log (feed_id, since_seq, url, title, site_url, head, ext)"
                    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
                    " ON CONFLICT (feed_id, since_seq) DO UPDATE SET url = excluded.url,"
                    " title = excluded.title, site_url = excluded.site_url, head = excluded.head,"
                    " ext = excluded.ext",
                    "iisssee", r->id, since_seq, r->url, r->title, r->site_url, r->head, r->ext);
}

static enum rc head_at(struct db *db, int64_t seq, struct arena *a, struct feed *r, struct err *err)
{
    sqlite3_stmt *st = stmt_start(
        db, err,
        "SELECT url, title, site_url, head, ext FROM head_log WHERE feed_id = ?1 AND since_seq ="
        " coalesce((SELECT max(since_seq) FROM head_log WHERE feed_id = ?1 AND since_seq <= ?2),"
        " (SELECT min(since_seq) FROM head_log WHERE feed_id = ?1))",
        "ii", r->id, seq);
    int got = st == NULL ? -1 : stmt_next(db, st, err);

    if (got < 0)
        return RC_IO;
    if (got == 0)
        return RC_OK;
    r->url = col_str(st, 0, a);
    r->title = col_str(st, 1, a);
    r->site_url = col_str(st, 2, a);
    r->head = col_str(st, 3, a);
    r->ext = col_str(st, 4, a);
    stmt_end(st);
    return RC_OK;
}

enum rc head_log_at(struct db *db, struct feed *feeds, const int64_t *seqs, size_t n,
                    struct arena *a, struct err *err)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n && rc == RC_OK; i++)
        rc = head_at(db, seqs[i], a, &feeds[i], err);
    return rc;
}

enum rc head_log_take(struct db *db, int64_t from, int64_t to, struct err *err)
{
    return stmt_run(db, err, "UPDATE OR REPLACE head_log SET feed_id = ?2 WHERE feed_id = ?1", "ii",
                    from, to);
}

enum rc feeds_count(struct db *db, const int64_t *ids, size_t n, bool with_deleted, int64_t *out,
                    struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;

    return stmt_number(db,
                       stmt_start(db, err,
                                  "SELECT coalesce(sum(iif(?2, n_items, n_entries)), 0) FROM feeds"
                                  " WHERE id IN (SELECT value FROM json_each(?1))",
                                  "si", id_list(&scratch, ids, n), (int64_t)with_deleted),
                       out, err);
}

enum rc feeds_delete(struct db *db, int64_t id, struct err *err)
{
    return stmt_run(db, err, "DELETE FROM feeds WHERE id = ?1", "i", id);
}

/* ---- aliases --------------------------------------------------------------------------------- */

enum rc aliases_find(struct db *db, struct str url, struct str credential, int64_t *feed_id,
                     struct err *err)
{
    return stmt_number(db,
                       stmt_start(db, err,
                                  "SELECT feed_id FROM aliases WHERE url = ?1 AND credential = ?2",
                                  "se", url, credential),
                       feed_id, err);
}

enum rc aliases_count(struct db *db, int64_t feed_id, int64_t *n, struct err *err)
{
    return stmt_number(
        db, stmt_start(db, err, "SELECT count(*) FROM aliases WHERE feed_id = ?1", "i", feed_id), n,
        err);
}

enum rc aliases_add(struct db *db, int64_t feed_id, struct str url, struct str credential,
                    struct err *err)
{
    return stmt_run(db, err,
                    "INSERT INTO aliases (url, credential, feed_id) SELECT ?1, ?2, ?3"
                    " WHERE NOT EXISTS (SELECT 1 FROM feeds WHERE url = ?1 AND credential = ?2)"
                    " ON CONFLICT (url, credential) DO UPDATE SET feed_id = excluded.feed_id",
                    "sei", url, credential, feed_id);
}

enum rc aliases_drop(struct db *db, struct str url, struct str credential, struct err *err)
{
    return stmt_run(db, err, "DELETE FROM aliases WHERE url = ?1 AND credential = ?2", "se", url,
                    credential);
}

enum rc aliases_move(struct db *db, int64_t from, int64_t to, struct err *err)
{
    return stmt_run(db, err, "UPDATE aliases SET feed_id = ?2 WHERE feed_id = ?1", "ii", from, to);
}

enum rc aliases_load(struct db *db, int64_t feed_id, struct arena *a, struct str **out,
                     size_t *n_out, struct err *err)
{
    sqlite3_stmt *st =
        stmt_start(db, err, "SELECT url FROM aliases WHERE feed_id = ?1", "i", feed_id);
    size_t n = 0, cap = 0;
    struct str *list = NULL, *grown;
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        if (n == cap) {
            cap = cap == 0 ? 4 : cap * 2;
            grown = ARENA_ARRAY(a, struct str, cap);
            if (n > 0)
                memcpy(grown, list, n * sizeof *list);
            list = grown;
        }
        list[n++] = col_str(st, 0, a);
    }
    if (got < 0)
        return RC_IO;
    *out = list;
    *n_out = n;
    return RC_OK;
}

/* ---- walks ----------------------------------------------------------------------------------- */

/* Each row is read once, so their pages need not fill the connection's cache. */
static enum rc walk(struct db *db, sqlite3_stmt *st, feeds_each_fn *fn, void *ctx, struct err *err)
{
    int got = -1;

    for (size_t n = 1; st != NULL && (got = stmt_next(db, st, err)) > 0; n++) {
        fn(ctx, col_int(st, 0), col_time(st, 1), (enum fetch_reason)col_int(st, 2));
        if (n % SHRINK_ROWS == 0)
            db_shrink(db);
    }
    return got < 0 ? RC_IO : RC_OK;
}

static enum rc feeds_each(struct db *db, feeds_each_fn *fn, void *ctx, struct err *err)
{
    return walk(
        db, stmt_start(db, err, "SELECT id, next_fetch_at, next_reason FROM feeds ORDER BY id", ""),
        fn, ctx, err);
}

enum rc feeds_each_due(struct db *db, int64_t now, feeds_each_fn *fn, void *ctx, struct err *err)
{
    return walk(db,
                stmt_start(db, err,
                           "SELECT id, iif(last_check_at > ?1, ?1, next_fetch_at), next_reason"
                           " FROM feeds WHERE next_fetch_at IS NOT NULL ORDER BY id",
                           "i", now),
                fn, ctx, err);
}

struct id_run {
    int64_t *ids;
    size_t n, cap;
};

static void add_id(void *ctx, int64_t feed_id, int64_t next_fetch_at UNUSED,
                   enum fetch_reason reason UNUSED)
{
    struct id_run *run = ctx;

    run->ids = mem_grow(run->ids, &run->cap, run->n + 1, sizeof *run->ids);
    run->ids[run->n++] = feed_id;
}

enum rc feeds_by_id(struct db *db, const int64_t *ids, size_t n, struct arena *a, struct feed **out,
                    size_t *n_out, struct err *err)
{
    struct id_run all = {.ids = NULL};
    struct feed *list;
    struct feed_row row;
    enum rc rc = RC_OK;
    size_t kept = 0;
    bool found;

    if (ids == NULL) {
        rc = feeds_each(db, add_id, &all, err);
        ids = all.ids;
        n = all.n;
    }
    list = ARENA_ARRAY(a, struct feed, n + 1);
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        rc = load_row(db, ids[i], true, a, &row, &found, err);
        if (rc == RC_OK && found)
            list[kept++] = row.feed;
    }
    mem_free(all.ids);
    if (rc != RC_OK)
        return rc;
    *out = list;
    *n_out = kept;
    return RC_OK;
}

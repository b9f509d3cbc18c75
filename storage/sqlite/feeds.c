/* storage/sqlite/feeds.c - see feeds.h. */
#include "storage/sqlite/feeds.h"

#include <string.h>

#include "base/digest.h"
#include "storage/sqlite/stmt.h"

struct str access_key_of(struct str credential)
{
    ssize_t colon = str_chr(credential, ':');

    if (!str_starts(credential, STR("fm-")))
        return STR_NULL;
    if (colon >= 0 && (size_t)colon + 1 < credential.len)
        return STR_NULL; /* it has a password: somebody's real name */
    return colon < 0 ? credential : str_slice(credential, 0, (size_t)colon);
}

enum rc feeds_find_own(struct db *db, struct str url, struct str credential, int64_t *id,
                       struct err *err)
{
    return stmt_number(db,
                       stmt_start(db, err,
                                  "SELECT id FROM feeds WHERE url = ?1 AND credential = ?2", "se",
                                  url, credential),
                       id, err);
}

enum rc feeds_find(struct db *db, struct str url, struct str credential, int64_t *id,
                   struct err *err)
{
    struct str key = access_key_of(credential);
    enum rc rc = feeds_find_own(db, url, credential, id, err);

    if (rc == RC_OK && *id == 0)
        rc = stmt_number(
            db,
            stmt_start(db, err, "SELECT feed_id FROM aliases WHERE url = ?1 AND credential = ?2",
                       "se", url, credential),
            id, err);
    if (rc == RC_OK && *id == 0)
        rc = stmt_number(db,
                         stmt_start(db, err,
                                    "SELECT id FROM feeds WHERE page_url = ?1 AND credential = ?2"
                                    " ORDER BY id LIMIT 1",
                                    "se", url, credential),
                         id, err);
    if (rc == RC_OK && *id == 0 && !str_is_null(key))
        rc = stmt_number(db,
                         stmt_start(db, err,
                                    "SELECT id FROM feeds WHERE url = ?1 AND access_key = ?2"
                                    " UNION ALL SELECT f.id FROM aliases a JOIN feeds f"
                                    " ON f.id = a.feed_id WHERE a.url = ?1 AND f.access_key = ?2"
                                    " UNION ALL SELECT id FROM feeds"
                                    " WHERE page_url = ?1 AND access_key = ?2 LIMIT 1",
                                    "ss", url, key),
                         id, err);
    return rc;
}

enum rc feeds_insert(struct db *db, struct str url, struct str credential, int64_t now,
                     int64_t version, int64_t *id, struct err *err)
{
    unsigned char random[16];
    char key[3 + 32 + 1] = "fm-";
    bool secret = credential.len > 0;
    enum rc rc;

    if (secret) {
        digest_random(random, sizeof random);
        digest_hex(random, sizeof random, key + 3);
    }
    rc = stmt_run(db, err,
                  "INSERT INTO feeds (url, credential, access_key, next_fetch_at, next_reason,"
                  " version, id_url) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?1)",
                  "sesiii", url, credential, secret ? str_from(key) : STR_NULL, now,
                  (int64_t)REASON_NEW, version);
    if (rc == RC_OK)
        *id = stmt_rowid(db);
    return rc;
}

/* Order as in read_row(). */
#define FEED_COLUMNS                                                                               \
    "f.id, f.url, f.credential, f.access_key, f.page_url, f.site_url, f.title, f.etag,"            \
    " f.last_modified, f.body_hash, f.fetched, f.state, f.level, f.period_s, f.last_check_at,"     \
    " f.last_success_at, f.last_change_at, f.next_fetch_at, f.next_reason, f.wanted_at,"           \
    " f.last_status, f.n_errors, f.last_error, f.version, f.n_entries, f.n_items,"                 \
    " f.hint_max_age_s,"                                                                           \
    " f.hint_ttl_s, f.hint_sy_s, f.hint_skip_hours, f.hint_skip_days, f.raw_html, f.n_pings,"      \
    " f.id_url, f.id_rule, f.id_since_at, f.id_why, f.id_against, f.id_better,"                    \
    " f.complete, f.partial, f.harvest_at, f.harvest_to, f.content_failures, f.content_wait_at,"   \
    " f.cursor, f.cursor_state,"                                                                   \
    " (SELECT count(*) FROM sub_feeds s WHERE s.feed_id = f.id),"                                  \
    " u.hub, u.topic, u.state, u.lease_end_at, u.n_errors, u.error, u.trust, u.delivered_at"
#define FEED_TABLES "feeds f LEFT JOIN upstreams u ON u.feed_id = f.id AND u.is_current = 1"

static struct str null_if_empty(struct str s)
{
    return s.len == 0 ? STR_NULL : s;
}

static void read_row(sqlite3_stmt *st, struct arena *a, struct feed_row *row)
{
    struct feed_record *r = &row->rec;
    int i = 0;

    r->id = col_int(st, i++);
    r->url = col_str(st, i++, a);
    r->credential = null_if_empty(col_str(st, i++, a));
    r->access_key = col_str(st, i++, a);
    r->page_url = col_str(st, i++, a);
    r->site_url = col_str(st, i++, a);
    r->title = col_str(st, i++, a);
    r->etag = col_str(st, i++, a);
    r->last_modified = col_str(st, i++, a);
    r->has_body_hash = sqlite3_column_type(st, i) != SQLITE_NULL;
    col_hash(st, i++, r->body_hash);
    row->fetched = col_int(st, i++) != 0;
    r->state = (enum feed_state)col_int(st, i++);
    r->level = (int)col_int(st, i++);
    r->period_s = col_int(st, i++);
    r->last_check_at = col_time(st, i++);
    r->last_success_at = col_time(st, i++);
    r->last_change_at = col_time(st, i++);
    r->next_fetch_at = col_time(st, i++);
    r->next_reason = (enum fetch_reason)col_int(st, i++);
    r->wanted_at = col_time(st, i++);
    r->last_status = (int)col_int(st, i++);
    r->n_errors = (int)col_int(st, i++);
    r->last_error = col_str(st, i++, a);
    r->version = col_int(st, i++);
    r->n_entries = col_int(st, i++);
    r->n_items = col_int(st, i++);
    r->hints.max_age_s = col_int(st, i++);
    r->hints.ttl_s = col_int(st, i++);
    r->hints.sy_period_s = col_int(st, i++);
    r->hints.skip_hours = (uint32_t)col_int(st, i++);
    r->hints.skip_days = (uint8_t)col_int(st, i++);
    r->raw_html = col_int(st, i++) != 0;
    r->n_pings = col_int(st, i++);
    r->id_url = col_str(st, i++, a);
    r->identity.rule = (enum identity_rule)col_int(st, i++);
    r->identity.since_at = col_time(st, i++);
    r->identity.why = col_str(st, i++, a);
    r->identity.n_against = (int)col_int(st, i++);
    r->identity.n_better = (int)col_int(st, i++);
    r->complete = col_int(st, i++) != 0;
    r->partial = col_int(st, i++) != 0;
    r->harvest_at = col_time(st, i++);
    r->harvest_to = col_time(st, i++);
    r->content_failures = (int)col_int(st, i++);
    r->content_wait_at = col_time(st, i++);
    r->cursor = col_str(st, i++, a);
    r->cursor_state = (unsigned)col_int(st, i++);
    r->n_subscriptions = (int)col_int(st, i++);
    r->upstream = (struct upstream){.hub = col_str(st, i, a), .is_current = true};
    r->upstream.topic = col_str(st, i + 1, a);
    r->upstream.state = (enum upstream_state)col_int(st, i + 2);
    r->upstream.lease_end_at = col_time(st, i + 3);
    r->upstream.n_errors = (int)col_int(st, i + 4);
    r->upstream.error = col_str(st, i + 5, a);
    r->upstream.trust = (int)col_int(st, i + 6);
    r->upstream.delivered_at = col_time(st, i + 7);
    r->head = STR_NULL;
    r->ext = STR_NULL;
}

static enum rc load_head(struct db *db, int64_t id, struct arena *a, struct feed_record *r,
                         struct err *err)
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

enum rc feeds_load(struct db *db, int64_t id, bool with_head, struct arena *a, struct feed_row *out,
                   struct err *err)
{
    sqlite3_stmt *st = stmt_start(
        db, err, "SELECT " FEED_COLUMNS " FROM " FEED_TABLES " WHERE f.id = ?1", "i", id);
    int got = st == NULL ? -1 : stmt_next(db, st, err);

    if (got < 0)
        return RC_IO;
    if (got == 0)
        return err_set(err, RC_NOT_FOUND, "there is no feed %lld", (long long)id);
    read_row(st, a, out);
    stmt_end(st);
    return with_head ? load_head(db, id, a, &out->rec, err) : RC_OK;
}

enum rc feeds_save(struct db *db, const struct feed_row *row, struct err *err)
{
    const struct feed_record *r = &row->rec;

    return stmt_run(
        db, err,
        "UPDATE feeds SET site_url = ?2, title = ?3, etag = ?4, last_modified = ?5,"
        " body_hash = ?6, fetched = ?7, state = ?8, level = ?9, period_s = ?10,"
        " last_check_at = ?11, last_success_at = ?12, last_change_at = ?13,"
        " next_fetch_at = ?14, next_reason = ?15, wanted_at = ?16, last_status = ?17,"
        " n_errors = ?18, last_error = ?19, version = ?20, n_entries = ?21,"
        " hint_max_age_s = ?22, hint_ttl_s = ?23, hint_sy_s = ?24,"
        " hint_skip_hours = ?25, hint_skip_days = ?26, n_items = ?27,"
        " raw_html = ?28, complete = ?29, partial = ?30, harvest_at = ?31,"
        " harvest_to = ?32, content_failures = ?33, content_wait_at = ?34,"
        " cursor = ?35, cursor_state = ?36"
        " WHERE id = ?1",
        "isssshiiiittttitiisiiiiiiiiiiittitsi", r->id, r->site_url, r->title, r->etag,
        r->last_modified, r->has_body_hash ? r->body_hash : NULL, (int64_t)row->fetched,
        (int64_t)r->state, (int64_t)r->level, r->period_s, r->last_check_at, r->last_success_at,
        r->last_change_at, r->next_fetch_at, (int64_t)r->next_reason, r->wanted_at,
        (int64_t)r->last_status, (int64_t)r->n_errors, r->last_error, r->version, r->n_entries,
        r->hints.max_age_s, r->hints.ttl_s, r->hints.sy_period_s, (int64_t)r->hints.skip_hours,
        (int64_t)r->hints.skip_days, r->n_items, (int64_t)r->raw_html, (int64_t)r->complete,
        (int64_t)r->partial, r->harvest_at, r->harvest_to, (int64_t)r->content_failures,
        r->content_wait_at, r->cursor, (int64_t)r->cursor_state);
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

enum rc head_log_add(struct db *db, int64_t since_seq, const struct feed_record *r, struct err *err)
{
    return stmt_run(db, err,
                    "INSERT INTO head_log (feed_id, since_seq, url, title, site_url, head, ext)"
                    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
                    " ON CONFLICT (feed_id, since_seq) DO UPDATE SET url = excluded.url,"
                    " title = excluded.title, site_url = excluded.site_url, head = excluded.head,"
                    " ext = excluded.ext",
                    "iisssee", r->id, since_seq, r->url, r->title, r->site_url, r->head, r->ext);
}

enum rc head_log_at(struct db *db, int64_t seq, struct arena *a, struct feed_record *r,
                    struct err *err)
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

enum rc head_log_take(struct db *db, int64_t from, int64_t to, struct err *err)
{
    return stmt_run(db, err, "UPDATE OR REPLACE head_log SET feed_id = ?2 WHERE feed_id = ?1", "ii",
                    from, to);
}

enum rc feeds_count(struct db *db, struct str ids, bool with_deleted, int64_t *out, struct err *err)
{
    return stmt_number(db,
                       stmt_start(db, err,
                                  "SELECT coalesce(sum(iif(?2, n_items, n_entries)), 0) FROM feeds"
                                  " WHERE id IN (SELECT value FROM json_each(?1))",
                                  "si", ids, (int64_t)with_deleted),
                       out, err);
}

enum rc feeds_delete(struct db *db, int64_t id, struct err *err)
{
    return stmt_run(db, err, "DELETE FROM feeds WHERE id = ?1", "i", id);
}

_Static_assert(FEED_GONE == 3 && REASON_READER == 1 && REASON_PING == 2,
               "numbers used in the statements below");

enum rc feeds_touch(struct db *db, int64_t id, int64_t now, struct err *err)
{
    /* a feed that was left because nobody asked for it is due again; one that is gone stays so */
    return stmt_run(db, err,
                    "UPDATE feeds SET wanted_at = ?2,"
                    " next_reason = iif(next_fetch_at IS NULL AND state <> 3, 1, next_reason),"
                    " next_fetch_at = iif(next_fetch_at IS NULL AND state <> 3, ?2, next_fetch_at)"
                    " WHERE id = ?1",
                    "ii", id, now);
}

enum rc feeds_ping(struct db *db, int64_t id, int64_t now, bool *found, struct err *err)
{
    enum rc rc = stmt_run(db, err,
                          "UPDATE feeds SET n_pings = n_pings + 1, next_fetch_at = ?2,"
                          " next_reason = 2 WHERE id = ?1",
                          "ii", id, now);

    *found = rc == RC_OK && stmt_changes(db) > 0;
    return rc;
}

/* ---- aliases --------------------------------------------------------------------------------- */

enum rc aliases_add(struct db *db, int64_t feed_id, struct str url, struct str credential,
                    int64_t most, struct err *err)
{
    return stmt_run(db, err,
                    "INSERT INTO aliases (url, credential, feed_id) SELECT ?1, ?2, ?3"
                    " WHERE NOT EXISTS (SELECT 1 FROM feeds WHERE url = ?1 AND credential = ?2)"
                    " AND (SELECT count(*) FROM aliases WHERE feed_id = ?3) < ?4"
                    " ON CONFLICT (url, credential) DO UPDATE SET feed_id = excluded.feed_id",
                    "seii", url, credential, feed_id, most);
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

static enum rc walk(struct db *db, sqlite3_stmt *st, feeds_each_fn *fn, void *ctx, struct err *err)
{
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0)
        fn(ctx, col_int(st, 0), col_time(st, 1), (enum fetch_reason)col_int(st, 2));
    return got < 0 ? RC_IO : RC_OK;
}

enum rc feeds_each(struct db *db, feeds_each_fn *fn, void *ctx, struct err *err)
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

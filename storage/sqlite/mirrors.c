/* storage/sqlite/mirrors.c - see mirrors.h. */
#include "storage/sqlite/mirrors.h"

#include "base/mem.h"
#include "storage/sqlite/stmt.h"

#define COLUMNS                                                                                    \
    "SELECT key, url, state, sha256, size, type, error, n_tries, since_at, next_at, used_us"       \
    " FROM mirrors "

static struct mirrored row_of(sqlite3_stmt *st, struct arena *a)
{
    return (struct mirrored){
        .key = col_str(st, 0, a),
        .url = col_str(st, 1, a),
        .state = (enum mirror_state)col_int(st, 2),
        .sha256 = col_str(st, 3, a),
        .size = col_int(st, 4),
        .type = col_str(st, 5, a),
        .error = col_str(st, 6, a),
        .n_tries = (int)col_int(st, 7),
        .since_at = col_int(st, 8),
        .next_at = col_time(st, 9),
        .used_us = col_int(st, 10),
    };
}

enum rc mirrors_of(struct db *db, const struct str *keys, size_t n, struct arena *a,
                   struct mirrored **out, size_t *n_out, struct err *err)
{
    static const char sql[] = COLUMNS "WHERE key = ?1";

    *out = ARENA_ARRAY(a, struct mirrored, n + 1);
    *n_out = 0;
    for (size_t i = 0; i < n; i++) {
        sqlite3_stmt *st = stmt_start(db, err, sql, "s", keys[i]);
        int got = st == NULL ? -1 : stmt_next(db, st, err);

        if (got < 0)
            return RC_IO;
        if (got == 0)
            continue;
        (*out)[(*n_out)++] = row_of(st, a);
        stmt_end(st);
    }
    return RC_OK;
}

enum rc mirrors_first(struct db *db, enum mirror_list list, int64_t until, size_t skip, size_t max,
                      struct arena *a, struct mirrored **out, size_t *n_out, struct err *err)
{
    static const char due[] = COLUMNS "WHERE next_at <= ?1 ORDER BY next_at LIMIT ?2 OFFSET ?3";
    static const char oldest[] =
        COLUMNS "WHERE state = 1 AND used_us <= ?1 ORDER BY used_us LIMIT ?2 OFFSET ?3";
    sqlite3_stmt *st = stmt_start(db, err, list == MIRRORS_DUE ? due : oldest, "iii", until,
                                  (int64_t)max, (int64_t)skip);
    int got = -1;

    *out = ARENA_ARRAY(a, struct mirrored, max + 1);
    *n_out = 0;
    while (st != NULL && (got = stmt_next(db, st, err)) > 0)
        (*out)[(*n_out)++] = row_of(st, a);
    return got < 0 ? RC_IO : RC_OK;
}

enum rc mirrors_file(struct db *db, struct str sha256, struct arena *a, struct mirrored *out,
                     struct err *err)
{
    sqlite3_stmt *st = stmt_start(
        db, err, COLUMNS "WHERE sha256 = ?1 ORDER BY state <> 1, state, key LIMIT 1", "s", sha256);
    int got = st == NULL ? -1 : stmt_next(db, st, err);

    if (got < 0)
        return RC_IO;
    if (got == 0)
        return err_set(err, RC_NOT_FOUND, "there is no such file");
    *out = row_of(st, a);
    stmt_end(st);
    return RC_OK;
}

enum rc mirrors_place(struct db *db, int64_t *seq, int64_t *bytes, struct err *err)
{
    enum rc rc = stmt_number(
        db,
        stmt_start(db, err, "SELECT coalesce((SELECT seq FROM mirrored WHERE one = 1), -1)", ""),
        seq, err);

    if (rc != RC_OK)
        return rc;
    return stmt_number(db,
                       stmt_start(db, err,
                                  "SELECT coalesce(sum(size), 0) FROM (SELECT DISTINCT sha256, size"
                                  " FROM mirrors WHERE state = 1)",
                                  ""),
                       bytes, err);
}

/* The join begins with the revisions, which are few. */
enum rc mirrors_entries(struct db *db, int64_t after, int64_t to, struct arena *a,
                        struct mirror_entry **out, size_t *n_out, struct err *err)
{
    sqlite3_stmt *st = stmt_start(
        db, err,
        "SELECT e.id, f.mirror_from > 0 AND e.first_seq >= f.mirror_from, r.doc FROM revisions r"
        " CROSS JOIN feeds f ON f.id = r.feed_id CROSS JOIN entries e ON e.id = r.entry_id"
        " WHERE r.seq > ?1 AND r.seq <= ?2 AND e.deleted = 0 AND r.doc <> ''"
        " AND ((f.mirror_from > 0 AND e.first_seq >= f.mirror_from AND (r.initial = 0 OR"
        " (SELECT count(*) FROM (SELECT 1 FROM revisions x WHERE x.feed_id = r.feed_id"
        " AND x.seq > r.seq LIMIT ?3)) < ?3)) OR EXISTS (SELECT 1 FROM mirror_names n WHERE n.entry_id = e.id))"
        " ORDER BY r.seq",
        "iii", after, to, (int64_t)MIRROR_FIRST);
    size_t cap = (size_t)(to - after);
    int got = -1;

    *out = ARENA_ARRAY(a, struct mirror_entry, cap + 1);
    *n_out = 0;
    while (st != NULL && (got = stmt_next(db, st, err)) > 0)
        (*out)[(*n_out)++] = (struct mirror_entry){col_int(st, 0), col_int(st, 1) != 0, col_str(st, 2, a)};
    return got < 0 ? RC_IO : RC_OK;
}

/* An entry that is there names it; in a feed that is mirrored, and it came since. */
#define NAMED                                                                                      \
    " FROM mirror_names n CROSS JOIN entries e ON e.id = n.entry_id AND e.deleted = 0"
#define WANTED                                                                                     \
    NAMED " CROSS JOIN feeds f ON f.id = e.feed_id AND f.mirror_from > 0 AND e.first_seq >= f.mirror_from"

enum rc mirrors_wish(struct db *db, struct str key, struct arena *a, struct mirror_wish *out,
                     struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err,
                                  "SELECT f.secrets" WANTED " WHERE n.key = ?1"
                                  " ORDER BY f.secrets IS NOT NULL, f.id LIMIT 1",
                                  "s", key);
    int got = st == NULL ? -1 : stmt_next(db, st, err);

    *out = (struct mirror_wish){.is_wanted = got > 0};
    if (got < 0)
        return RC_IO;
    if (got > 0) {
        out->secrets = col_str(st, 0, a);
        stmt_end(st);
        return RC_OK;
    }
    return stmt_any(db, stmt_start(db, err, "SELECT 1 FROM mirrors WHERE key = ?1 AND is_named = 0", "s", key),
                    &out->is_wanted, err);
}

enum rc mirrors_looks(struct db *db, struct str after, size_t max, struct arena *a,
                      struct mirror_look **out, size_t *n_out, struct err *err)
{
    sqlite3_stmt *st = stmt_start(
        db, err,
        "SELECT key, state, sha256, size, is_named = 0 OR EXISTS (SELECT 1" NAMED " WHERE n.key = m.key),"
        " is_named = 0 OR state <> 0 OR EXISTS (SELECT 1" WANTED " WHERE n.key = m.key)"
        " FROM mirrors m WHERE key > ?1 ORDER BY key LIMIT ?2",
        "ei", after, (int64_t)max);
    int got = -1;

    *out = ARENA_ARRAY(a, struct mirror_look, max + 1);
    *n_out = 0;
    while (st != NULL && (got = stmt_next(db, st, err)) > 0)
        (*out)[(*n_out)++] = (struct mirror_look){
            .row = {.key = col_str(st, 0, a),
                    .state = (enum mirror_state)col_int(st, 1),
                    .sha256 = col_str(st, 2, a),
                    .size = col_int(st, 3)},
            .is_named = col_int(st, 4) != 0,
            .is_wanted = col_int(st, 5) != 0,
        };
    return got < 0 ? RC_IO : RC_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

static enum rc move(struct db *db, int64_t from, int64_t to, struct err *err)
{
    enum rc rc = stmt_run(db, err,
                          "INSERT INTO mirrored (one, seq) VALUES (1, ?2) ON CONFLICT (one)"
                          " DO UPDATE SET seq = excluded.seq WHERE mirrored.seq = ?1",
                          "ii", from, to);

    if (rc == RC_OK && stmt_changes(db) == 0)
        rc = err_set(err, RC_CONFLICT, "the mirror is not at %lld", (long long)from);
    return rc;
}

static enum rc add(struct db *db, const struct mirrored *m, struct err *err)
{
    return stmt_run(db, err,
                    "INSERT INTO mirrors (key, url, type, since_at, next_at, is_named)"
                    " VALUES (?1, ?2, ?3, ?4, ?5, 1) ON CONFLICT (key) DO UPDATE SET state = 0,"
                    " error = NULL, n_tries = 0, since_at = excluded.since_at,"
                    " next_at = excluded.next_at WHERE mirrors.state > 1",
                    "sseit", m->key, m->url, m->type, m->since_at, m->next_at);
}

/* All that they have named before goes first. */
static enum rc name(struct db *db, const struct mirror_name *names, size_t n, struct err *err)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n && rc == RC_OK; i++)
        if (str_is_null(names[i].key))
            rc = stmt_run(db, err, "DELETE FROM mirror_names WHERE entry_id = ?1", "i", names[i].entry_id);
    for (size_t i = 0; i < n && rc == RC_OK; i++)
        if (!str_is_null(names[i].key))
            rc = stmt_run(db, err,
                          "INSERT INTO mirror_names (entry_id, key) SELECT e.id, m.key FROM entries e, mirrors m"
                          " WHERE e.id = ?1 AND m.key = ?2 ON CONFLICT DO NOTHING",
                          "is", names[i].entry_id, names[i].key);
    return rc;
}

static enum rc end_unwanted(struct db *db, struct str key, struct err *err)
{
    return stmt_run(db, err, "UPDATE mirrors SET state = 3, next_at = NULL, error = ?2 WHERE key = ?1 AND state = 0",
                    "ss", key, STR(MIRROR_UNWANTED_WHY));
}

static enum rc end_unnamed(struct db *db, struct str key, struct err *err)
{
    enum rc rc = stmt_run(db, err,
                          "DELETE FROM mirrors WHERE key = ?1 AND is_named = 1 AND NOT EXISTS (SELECT 1" NAMED
                          " WHERE n.key = ?1)",
                          "s", key);

    return rc == RC_OK && stmt_changes(db) > 0
               ? stmt_run(db, err, "DELETE FROM mirror_names WHERE key = ?1", "s", key) /* of deleted entries */
               : rc;
}

static enum rc use(struct db *db, struct str sha256, int64_t at, struct err *err)
{
    return stmt_run(db, err, "UPDATE mirrors SET used_us = ?2 WHERE sha256 = ?1 AND state = 1",
                    "si", sha256, at);
}

static enum rc note_outcome(struct db *db, const struct mirrored *m, struct err *err)
{
    enum rc rc = stmt_run(db, err,
                          "UPDATE mirrors SET state = ?2, sha256 = ?3, size = ?4, type = ?5,"
                          " error = ?6, n_tries = ?7, next_at = ?8, used_us = ?9 WHERE key = ?1",
                          "sisiesiti", m->key, (int64_t)m->state, m->sha256, m->size, m->type,
                          m->error, (int64_t)m->n_tries, m->next_at, m->used_us);

    return rc == RC_OK && m->state == MIRROR_STORED ? use(db, m->sha256, m->used_us, err) : rc;
}

enum rc mirrors_write(struct db *db, const struct mirror_change *c, struct err *err)
{
    enum rc rc = c->moves ? move(db, c->from, c->to, err) : RC_OK;

    for (size_t i = 0; i < c->n_added && rc == RC_OK; i++)
        rc = add(db, &c->added[i], err);
    if (rc == RC_OK)
        rc = name(db, c->names, c->n_names, err);
    for (size_t i = 0; i < c->n_unwanted && rc == RC_OK; i++)
        rc = end_unwanted(db, c->unwanted[i], err);
    for (size_t i = 0; i < c->n_unnamed && rc == RC_OK; i++)
        rc = end_unnamed(db, c->unnamed[i], err);
    if (rc == RC_OK && c->outcome != NULL)
        rc = note_outcome(db, c->outcome, err);
    if (rc == RC_OK && c->dropped.len > 0)
        rc = stmt_run(db, err,
                      "UPDATE mirrors SET state = 3, next_at = NULL, error = ?2 WHERE sha256 = ?1"
                      " AND state = 1",
                      "ss", c->dropped, STR(MIRROR_DROPPED_WHY));
    if (rc == RC_OK && c->lost.len > 0)
        rc = stmt_run(db, err,
                      "UPDATE mirrors SET state = 0, error = NULL, n_tries = 0, since_at = ?2,"
                      " next_at = ?2 WHERE sha256 = ?1 AND state = 1",
                      "si", c->lost, c->lost_at);
    for (size_t i = 0; i < c->n_used && rc == RC_OK; i++)
        rc = use(db, c->used[i].sha256, c->used[i].at_us, err);
    return rc;
}

/* storage/pg/mirrors.c - mirrored files (storage/mirrors.h). */
#include "storage/pg/mirrors.h"

#include "storage/pg/reader.h"
#include "storage/pg/reads.h"
#include "storage/slots.h"

static struct mirrored row_of(const struct pg_answer *ans, size_t i, struct arena *a)
{
    return (struct mirrored){
        .key = pg_get_str(ans, i, 0, a),
        .url = pg_get_str(ans, i, 1, a),
        .state = (enum mirror_state)pg_get_int(ans, i, 2),
        .sha256 = pg_get_str(ans, i, 3, a),
        .size = pg_get_int(ans, i, 4),
        .type = pg_get_str(ans, i, 5, a),
        .error = pg_get_str(ans, i, 6, a),
        .n_tries = (int)pg_get_int(ans, i, 7),
        .since_at = pg_get_int(ans, i, 8),
        .next_at = pg_get_time(ans, i, 9),
        .used_us = pg_get_int(ans, i, 10),
    };
}

/* Hear the answer to a statement, and take its rows. */
static enum rc take(struct pg_reader *r, const struct pg_answer *ans, struct arena *a,
                    struct mirrored **out, size_t *n_out, struct err *err)
{
    enum rc rc = pg_hear(r, err);

    *n_out = 0;
    if (rc != RC_OK)
        return rc;
    *out = ARENA_ARRAY(a, struct mirrored, ans->n + 1);
    for (size_t i = 0; i < ans->n; i++)
        (*out)[i] = row_of(ans, i, a);
    *n_out = ans->n;
    return RC_OK;
}

enum rc pg_mirrors_of(struct db *db, const struct str *keys, size_t n, struct arena *a,
                      struct mirrored **out, size_t *n_out, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_param *list = pg_put_array(&r->params, PG_TEXT);
    struct pg_answer ans;

    for (size_t i = 0; i < n; i++)
        pg_add_text(&r->params, list, keys[i]);
    pg_ask(r, PG_SQL_mirrors_of, &ans);
    return take(r, &ans, a, out, n_out, err);
}

enum rc pg_mirrors_first(struct db *db, enum mirror_list list, int64_t until, size_t skip,
                         size_t max, struct arena *a, struct mirrored **out, size_t *n_out,
                         struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer ans;

    pg_put_int(&r->params, until);
    pg_put_int(&r->params, (int64_t)max);
    pg_put_int(&r->params, (int64_t)skip);
    pg_ask(r, list == MIRRORS_DUE ? PG_SQL_mirrors_due : PG_SQL_mirrors_oldest, &ans);
    return take(r, &ans, a, out, n_out, err);
}

enum rc pg_mirrors_file(struct db *db, struct str sha256, struct arena *a, struct mirrored *out,
                        struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer ans;
    struct mirrored *rows;
    size_t n;
    enum rc rc;

    pg_put_text(&r->params, sha256);
    pg_ask(r, PG_SQL_mirrors_file, &ans);
    rc = take(r, &ans, a, &rows, &n, err);
    if (rc == RC_OK && n == 0)
        rc = err_set(err, RC_NOT_FOUND, "there is no such file");
    if (rc == RC_OK)
        *out = rows[0];
    return rc;
}

enum rc pg_mirrors_place(struct db *db, int64_t *seq, int64_t *bytes, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer place, total;
    enum rc rc;

    pg_ask(r, PG_SQL_mirrors_place, &place);
    pg_ask(r, PG_SQL_mirrors_bytes, &total);
    rc = pg_hear(r, err);
    *seq = rc == RC_OK ? pg_number(&place, -1) : -1;
    *bytes = rc == RC_OK ? pg_number(&total, 0) : 0;
    return rc;
}

enum rc pg_mirrors_entries(struct db *db, int64_t after, int64_t to, struct arena *a,
                           struct mirror_entry **out, size_t *n_out, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer ans;
    enum rc rc;

    *n_out = 0;
    pg_put_int(&r->params, after);
    pg_put_int(&r->params, to);
    pg_put_int(&r->params, MIRROR_FIRST);
    pg_ask(r, PG_SQL_mirrors_entries, &ans);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    *out = ARENA_ARRAY(a, struct mirror_entry, ans.n + 1);
    for (size_t i = 0; i < ans.n; i++)
        (*out)[i] = (struct mirror_entry){pg_get_int(&ans, i, 0), pg_get_int(&ans, i, 1) != 0,
                                          pg_get_str(&ans, i, 2, a)};
    *n_out = ans.n;
    return RC_OK;
}

enum rc pg_mirrors_wish(struct db *db, struct str key, struct arena *a, struct mirror_wish *out,
                        struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer wish, old;
    enum rc rc;

    *out = (struct mirror_wish){.is_wanted = false};
    pg_put_text(&r->params, key);
    pg_ask(r, PG_SQL_mirrors_wish, &wish);
    pg_put_text(&r->params, key);
    pg_ask(r, PG_SQL_mirrors_old, &old);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    out->is_wanted = wish.n > 0 || old.n > 0;
    out->secrets = wish.n > 0 ? pg_get_str(&wish, 0, 0, a) : STR_NULL;
    return RC_OK;
}

enum rc pg_mirrors_looks(struct db *db, struct str after, size_t max, struct arena *a,
                         struct mirror_look **out, size_t *n_out, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer ans;
    enum rc rc;

    *n_out = 0;
    pg_put_text(&r->params, str_is_null(after) ? STR("") : after);
    pg_put_int(&r->params, (int64_t)max);
    pg_ask(r, PG_SQL_mirrors_looks, &ans);
    rc = pg_hear(r, err);
    if (rc != RC_OK)
        return rc;
    *out = ARENA_ARRAY(a, struct mirror_look, ans.n + 1);
    for (size_t i = 0; i < ans.n; i++)
        (*out)[i] = (struct mirror_look){
            .row = {.key = pg_get_str(&ans, i, 0, a),
                    .state = (enum mirror_state)pg_get_int(&ans, i, 1),
                    .sha256 = pg_get_str(&ans, i, 2, a),
                    .size = pg_get_int(&ans, i, 3)},
            .is_named = pg_get_int(&ans, i, 4) != 0,
            .is_wanted = pg_get_int(&ans, i, 5) != 0,
        };
    *n_out = ans.n;
    return RC_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* All nodes store what they have of the mirror one after the other. So what is read next is as the last
 * one has left it, and a node that led before it was frozen sees that another one leads. */
static const char sql_turn[] = "SELECT seq FROM mirrored WHERE one = 1 FOR UPDATE";
static const char sql_fence[] = "SELECT fence FROM slots WHERE slot = $1";
static const char sql_move[] =
    "WITH moved AS (INSERT INTO mirrored (one, seq) VALUES (1, $2) ON CONFLICT (one)"
    " DO UPDATE SET seq = excluded.seq WHERE mirrored.seq = $1 RETURNING 1)"
    " SELECT count(*) FROM moved";
static const char sql_add[] =
    "INSERT INTO mirrors (key, url, type, since_at, next_at, is_named)"
    " SELECT *, 1 FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])"
    " ON CONFLICT (key) DO UPDATE SET state = 0, error = NULL, n_tries = 0,"
    " since_at = excluded.since_at, next_at = excluded.next_at WHERE mirrors.state > 1";
/* Entries and what belongs to them change under the locks of their feeds, which are taken in this order
 * (load_subs.c). $1: entries. */
static const char sql_feeds[] =
    "SELECT id FROM feeds WHERE id IN (SELECT feed_id FROM entries WHERE id = ANY ($1))"
    " ORDER BY id FOR SHARE";
/* $1: keys. */
static const char sql_feeds_named[] =
    "SELECT id FROM feeds WHERE id IN (SELECT e.feed_id FROM mirror_names n JOIN entries e"
    " ON e.id = n.entry_id WHERE n.key = ANY ($1)) ORDER BY id FOR SHARE";
/* $1: entries, $2: keys. */
static const char sql_unname[] = "DELETE FROM mirror_names WHERE entry_id = ANY ($1)";
static const char sql_name[] =
    "INSERT INTO mirror_names (entry_id, key) SELECT e.id, m.key FROM unnest($1::bigint[], $2::text[])"
    " AS n (entry_id, key) JOIN entries e ON e.id = n.entry_id JOIN mirrors m ON m.key = n.key"
    " ON CONFLICT DO NOTHING";
/* $1: keys. */
static const char sql_unwanted[] =
    "UPDATE mirrors SET state = 3, next_at = NULL, error = $2 WHERE key = ANY ($1) AND state = 0";
static const char sql_unnamed[] =
    "WITH gone AS (DELETE FROM mirrors m WHERE m.key = ANY ($1) AND m.is_named = 1 AND NOT EXISTS"
    " (SELECT FROM mirror_names n JOIN entries e ON e.id = n.entry_id AND e.deleted = 0 WHERE n.key = m.key)"
    " RETURNING m.key) DELETE FROM mirror_names WHERE key IN (SELECT key FROM gone)";
static const char sql_outcome[] =
    "UPDATE mirrors SET state = $2, sha256 = $3, size = $4, type = $5, error = $6, n_tries = $7,"
    " next_at = $8, used_us = $9 WHERE key = $1";
static const char sql_use[] = "UPDATE mirrors SET used_us = $2 WHERE sha256 = $1 AND state = 1";
static const char sql_drop[] =
    "UPDATE mirrors SET state = 3, next_at = NULL, error = $2 WHERE sha256 = $1 AND state = 1";
static const char sql_lost[] =
    "UPDATE mirrors SET state = 0, error = NULL, n_tries = 0, since_at = $2, next_at = $2"
    " WHERE sha256 = $1 AND state = 1";

static void queue_added(struct pg_link *l, const struct mirror_change *c)
{
    AUTO(pg_params_release) struct pg_params p = {.n = 0};
    struct pg_param *keys = pg_put_array(&p, PG_TEXT), *urls = pg_put_array(&p, PG_TEXT);
    struct pg_param *types = pg_put_array(&p, PG_TEXT), *since = pg_put_array(&p, PG_INT);
    struct pg_param *next = pg_put_array(&p, PG_INT);

    for (size_t i = 0; i < c->n_added; i++) {
        const struct mirrored *m = &c->added[i];

        pg_add_text(&p, keys, m->key);
        pg_add_text(&p, urls, m->url);
        pg_add_text(&p, types, str_is_null(m->type) ? STR("") : m->type);
        pg_add_int(since, m->since_at);
        pg_add_time(next, m->next_at);
    }
    pg_queue(l, sql_add, &p, "", NULL);
}

static void queue_names(struct pg_link *l, const struct mirror_name *names, size_t n)
{
    AUTO(pg_params_release) struct pg_params p = {.n = 0}, q = {.n = 0};
    struct pg_param *gone = pg_put_array(&p, PG_INT), *ids = pg_put_array(&q, PG_INT);
    struct pg_param *keys = pg_put_array(&q, PG_TEXT);

    for (size_t i = 0; i < n; i++) {
        if (str_is_null(names[i].key)) {
            pg_add_int(gone, names[i].entry_id);
            continue;
        }
        pg_add_int(ids, names[i].entry_id);
        pg_add_text(&q, keys, names[i].key);
    }
    pg_queue(l, sql_feeds, &p, "i", NULL);
    pg_queue(l, sql_unname, &p, "", NULL);
    pg_queue(l, sql_name, &q, "", NULL);
}

static void queue_ends(struct pg_link *l, const char *sql, const struct str *list, size_t n, struct str why)
{
    AUTO(pg_params_release) struct pg_params p = {.n = 0};
    struct pg_param *keys = pg_put_array(&p, PG_TEXT);

    for (size_t i = 0; i < n; i++)
        pg_add_text(&p, keys, list[i]);
    if (!str_is_null(why))
        pg_put_text(&p, why);
    else
        pg_queue(l, sql_feeds_named, &p, "i", NULL);
    pg_queue(l, sql, &p, "", NULL);
}

static void queue_use(struct pg_link *l, struct str sha256, int64_t at)
{
    AUTO(pg_params_release) struct pg_params p = {.n = 0};

    pg_put_text(&p, sha256);
    pg_put_int(&p, at);
    pg_queue(l, sql_use, &p, "", NULL);
}

static void queue_outcome(struct pg_link *l, const struct mirrored *m)
{
    AUTO(pg_params_release) struct pg_params p = {.n = 0};

    pg_put_text(&p, m->key);
    pg_put_int(&p, m->state);
    pg_put_text(&p, m->sha256);
    pg_put_int(&p, m->size);
    pg_put_text(&p, str_is_null(m->type) ? STR("") : m->type);
    pg_put_text(&p, m->error);
    pg_put_int(&p, m->n_tries);
    pg_put_time(&p, m->next_at);
    pg_put_int(&p, m->used_us);
    pg_queue(l, sql_outcome, &p, "", NULL);
    if (m->state == MIRROR_STORED)
        queue_use(l, m->sha256, m->used_us);
}

static void queue_dropped(struct pg_link *l, struct str sha256)
{
    AUTO(pg_params_release) struct pg_params p = {.n = 0};

    pg_put_text(&p, sha256);
    pg_put_text(&p, STR(MIRROR_DROPPED_WHY));
    pg_queue(l, sql_drop, &p, "", NULL);
}

static void queue_lost(struct pg_link *l, struct str sha256, int64_t at)
{
    AUTO(pg_params_release) struct pg_params p = {.n = 0};

    pg_put_text(&p, sha256);
    pg_put_int(&p, at);
    pg_queue(l, sql_lost, &p, "", NULL);
}

/* Wait for this node's turn. */
static enum rc await_turn(struct pg_link *l, int64_t fence, struct err *err)
{
    AUTO(pg_params_release) struct pg_params p = {.n = 0};
    struct pg_answer now = {.n = 0};
    enum rc rc;

    pg_put_int(&p, LEADERS_SLOT);
    pg_queue(l, sql_turn, NULL, "i", NULL);
    pg_queue(l, sql_fence, &p, "i", &now);
    rc = pg_run(l, err);
    if (rc == RC_OK && fence != 0 && pg_get_int(&now, 0, 0) != fence)
        rc = err_set(err, RC_CONFLICT, "another node leads");
    return rc;
}

/* Move the place first: a node that is late writes nothing. */
static enum rc move(struct pg_link *l, const struct mirror_change *c, struct err *err)
{
    AUTO(pg_params_release) struct pg_params p = {.n = 0};
    struct pg_answer moved = {.n = 0};
    enum rc rc;

    pg_put_int(&p, c->from);
    pg_put_int(&p, c->to);
    pg_queue(l, sql_move, &p, "i", &moved);
    rc = pg_run(l, err);
    if (rc == RC_OK && pg_get_int(&moved, 0, 0) == 0)
        rc = err_set(err, RC_CONFLICT, "the mirror is not at %lld", (long long)c->from);
    return rc;
}

enum rc pg_mirrors_write(struct pg_link *l, const struct mirror_change *c, struct err *err)
{
    enum rc rc;

    pg_queue_begin(l);
    rc = await_turn(l, c->fence, err);
    if (rc == RC_OK && c->moves)
        rc = move(l, c, err);
    if (rc == RC_OK && c->n_added > 0)
        queue_added(l, c);
    if (rc == RC_OK && c->n_names > 0)
        queue_names(l, c->names, c->n_names);
    if (rc == RC_OK && c->n_unwanted > 0)
        queue_ends(l, sql_unwanted, c->unwanted, c->n_unwanted, STR(MIRROR_UNWANTED_WHY));
    if (rc == RC_OK && c->n_unnamed > 0)
        queue_ends(l, sql_unnamed, c->unnamed, c->n_unnamed, STR_NULL);
    if (rc == RC_OK && c->outcome != NULL)
        queue_outcome(l, c->outcome);
    if (rc == RC_OK && c->dropped.len > 0)
        queue_dropped(l, c->dropped);
    if (rc == RC_OK && c->lost.len > 0)
        queue_lost(l, c->lost, c->lost_at);
    for (size_t i = 0; i < c->n_used && rc == RC_OK; i++)
        queue_use(l, c->used[i].sha256, c->used[i].at_us);
    if (rc == RC_OK)
        rc = pg_commit(l, err);
    if (rc != RC_OK)
        pg_rollback(l);
    return rc;
}

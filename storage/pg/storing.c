/* storage/pg/storing.c - see storing.h.
 *
 * The connection has two faces: the reading calls, for what a commit means, and the writer of
 * groups (storage/pg/group.h). Both use one link, so what the tail reads is never older than the
 * commit. */
#include "storage/pg/storing.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "storage/index_clearing.h"
#include "storage/pg/forks.h"
#include "storage/pg/group.h"
#include "storage/pg/mirrors.h"
#include "storage/pg/reader.h"
#include "storage/pg/schema.h"
#include "storage/pg/seal_feeds.h"
#include "storage/pg/uri.h"

#define CLAIM_MS 10000 /* the server may not have noticed yet that a daemon before us has gone */
#define NEWS_MS 5000
#define PING_MS 5000   /* a server that does not answer for so long has gone */
#define SILENT_MS 3000 /* one that does not answer for so long is not within reach */

struct pg_storing {
    char *address;
    struct pg_writer *writer;
    bool is_shared;
    int64_t node;                  /* its own number; set before `writer` */
    int64_t seen_seq, seen_notice; /* numbers that were given to this writer last */
};

static struct pg_storing *storing_of(struct db *db)
{
    return pg_reader_of(db)->storing;
}

/* ---- connecting ------------------------------------------------------------------------------ */

/* The session has a lock, which ends with it: either all who have the database share it, or there
 * is one. The first number is "Feed". */
#define LOCK_NUMBERS "(1181050212, hashtext(current_schema()))::int::bigint"
static const char sql_claim[] = "SELECT pg_try_advisory_lock" LOCK_NUMBERS;
static const char sql_claim_shared[] = "SELECT pg_try_advisory_lock_shared" LOCK_NUMBERS;

static enum rc claim(struct pg_link *l, bool is_shared, struct err *err)
{
    struct pg_answer a;
    enum rc rc;

    pg_queue(l, is_shared ? sql_claim_shared : sql_claim, NULL, "i", &a);
    rc = pg_run(l, err);
    if (rc != RC_OK || pg_get_int(&a, 0, 0) == 1)
        return rc;
    return err_set(err, RC_CONFLICT,
                   "the database %s is in use by another Feedmill; stop that one first, or give "
                   "another --db",
                   pg_shown(l));
}

/* With several nodes each has a lock of its own. If it is not free, the session that we had before
 * still lives at the server, and might carry out a commit that we would look for in vain. */
#define NODE_LOCK "1181050213, hashtext(current_schema() || ' ' || $1::bigint::text)"
static const char sql_claim_node[] = "SELECT pg_try_advisory_lock(" NODE_LOCK ")::int::bigint";
static const char sql_end_old[] =
    "SELECT count(pg_terminate_backend(l.pid)) FROM pg_locks l JOIN pg_database d"
    " ON d.oid = l.database WHERE d.datname = current_database() AND l.locktype = 'advisory'"
    " AND l.classid::bigint = 1181050213 AND l.objid::bigint ="
    " hashtext(current_schema() || ' ' || $1::bigint::text)::bigint & 4294967295"
    " AND l.granted AND l.pid <> pg_backend_pid()";

static enum rc ask_node(struct pg_link *l, const char *sql, int64_t node, int64_t *out,
                        struct err *err)
{
    AUTO(pg_params_release) struct pg_params p = {.n = 0};
    struct pg_answer a;
    enum rc rc;

    pg_put_int(&p, node);
    pg_queue(l, sql, &p, "i", &a);
    rc = pg_run(l, err);
    if (rc == RC_OK)
        *out = pg_get_int(&a, 0, 0);
    return rc;
}

/* Be the only session in which this node stores. RC_AGAIN: the one before was ended now. */
static enum rc claim_node(struct pg_link *l, int64_t node, struct err *err)
{
    int64_t n = 0;
    enum rc rc = ask_node(l, sql_claim_node, node, &n, err);

    if (rc != RC_OK || n == 1)
        return rc;
    rc = ask_node(l, sql_end_old, node, &n, err);
    return rc != RC_OK ? rc : err_set(err, RC_AGAIN, "the session before this one is being ended");
}

/* Nothing may be written to a server that has taken over before the numbers were left out. */
static enum rc greet(struct pg_link *l, struct err *err)
{
    const struct pg_storing *s = pg_ctx(l);
    enum rc rc = claim(l, s->is_shared, err);

    if (rc == RC_OK && s->writer != NULL)
        rc = claim_node(l, s->node, err);
    if (rc == RC_OK && s->writer != NULL) /* there are tables */
        rc = pg_fork_note(l, s->seen_seq, s->seen_notice, err);
    return rc;
}

/* Connect for the first time. */
static enum rc connect_first(struct pg_link *l, struct err *err)
{
    int64_t until = clock_mono_ms() + CLAIM_MS;
    struct err why = ERR_INIT;
    enum rc rc = pg_connect(l, &why);

    while (rc == RC_CONFLICT && clock_mono_ms() < until)
        rc = pg_reconnect(l, &why);
    if (rc == RC_OK)
        return RC_OK;
    return err_set(err, rc == RC_UNSUPPORTED ? RC_UNSUPPORTED : RC_IO, "%s", why.text);
}

/* ---- is it there? ---------------------------------------------------------------------------- */

static const char sql_ping[] = "SELECT 1::bigint";
static const char sql_probe[] = "UPDATE log SET version = version WHERE one RETURNING 1::bigint";

/* Notice that the connection is lost before somebody needs it, and connect again. When the database
 * had no room, try whether it has now: nobody else may want to write. */
static void rest(struct db *db)
{
    struct pg_link *l = pg_reader_link(db);
    bool was_full = stats_get(STAT_store_full_seconds) != 0;
    struct err err = ERR_INIT;
    enum rc rc;

    if (pg_is_connected(l)) {
        pg_queue(l, was_full ? sql_probe : sql_ping, NULL, "i", NULL);
        pg_set_answer_ms(l, PING_MS);
        rc = pg_run(l, &err);
        pg_set_answer_ms(l, 0);
        if (rc == RC_OK)
            stats_lasts(STAT_store_full_seconds, false);
    } else {
        rc = pg_reconnect(l, &err);
    }
    if (rc != RC_OK && pg_fault(l) != PG_FAULT_STOPPED)
        log_warn("storage", "database_away", "error=%s", log_quote(str_from(err.text)));
}

/* Connect, if the connection was lost: a thread that asks again and again leaves no time for rest(). */
static enum rc at_hand(struct pg_link *l, struct err *err)
{
    return pg_is_connected(l) ? RC_OK : pg_reconnect(l, err);
}

/* ---- groups ---------------------------------------------------------------------------------- */

struct running {
    struct db *db;
    const struct group_calls *calls;
    size_t n_done;
};

/* Tell what the transaction means, however often it takes: it is stored. */
static void tell(struct running *r, struct txn *t, struct op **ops, size_t n)
{
    struct pg_link *l = pg_reader_link(r->db);
    struct err err = ERR_INIT;
    enum rc rc;

    pg_set_answer_ms(l, NEWS_MS); /* the thread that follows other nodes waits for this */
    rc = r->calls->stored(r->calls->ctx, t, ops, n, &err);
    while (rc != RC_OK && pg_fault(l) != PG_FAULT_STOPPED) {
        log_warn("storage", "news_unread", "error=%s effect=again", log_quote(str_from(err.text)));
        if (pg_reconnect(l, &err) == RC_OK)
            rc = r->calls->stored(r->calls->ctx, t, ops, n, &err);
    }
    pg_set_answer_ms(l, 0);
}

/* Has the database refused the only operation of the transaction? */
static bool is_refused(struct op **ops, size_t n)
{
    return n == 1 && (ops[0]->rc == RC_IO || ops[0]->rc == RC_UNAVAILABLE);
}

static void on_done(void *ctx, struct txn *t, struct op **ops, size_t n)
{
    struct running *r = ctx;

    if (t->notice != 0) {
        storing_of(r->db)->seen_seq = t->last_seq;
        storing_of(r->db)->seen_notice = t->notice;
    }
    if (!is_refused(ops, n))
        tell(r, t, ops, n);
    r->n_done += n;
    r->calls->answer(r->calls->ctx, ops, n);
}

static bool run(struct db *db, struct txn *t, struct op **ops, size_t n,
                const struct group_calls *calls)
{
    struct running r = {.db = db, .calls = calls};
    int64_t n_trips = pg_trips(pg_reader_link(db));
    struct err err = ERR_INIT;

    if (pg_group_run(storing_of(db)->writer, t, ops, n, on_done, &r, &err) == RC_OK) {
        if (pg_trips(pg_reader_link(db)) == n_trips) /* they had nothing to ask */
            rest(db);
        return true;
    }
    for (size_t i = r.n_done; i < n; i++) {
        ops[i]->rc = RC_UNAVAILABLE;
        ops[i]->err = err;
        ops[i]->result = (struct store_result){0};
    }
    calls->answer(calls->ctx, ops + r.n_done, n - r.n_done);
    return false;
}

/* ---- the index of words ---------------------------------------------------------------------- */

/* One statement is a transaction of its own. $1 the place before, $2 the place after. */
static const char sql_index[] =
    "WITH moved AS (INSERT INTO indexed (one, seq, n, cut) SELECT 1, $2, $3, $6"
    " WHERE $1 = 0 OR EXISTS (SELECT FROM indexed) ON CONFLICT (one) DO UPDATE"
    " SET seq = excluded.seq, n = indexed.n + excluded.n"
    " WHERE indexed.seq = $1 AND indexed.cut <> $7 RETURNING 1),"
    " added AS (INSERT INTO terms (seq, terms) SELECT w.seq,"
    " array_to_tsvector(string_to_array(w.terms, ' '))"
    " FROM unnest($4::bigint[], $5::text[]) AS w (seq, terms)"
    " WHERE EXISTS (SELECT FROM moved) ON CONFLICT (seq) DO NOTHING)"
    " SELECT count(*) FROM moved";

/* It is emptied in steps, and says from the first one on that it has nothing. No TRUNCATE: a reader
 * whose snapshot is older would see no words beside the old place, and take nothing for a match. */
#define CLEARED "10000"
static const char sql_index_closed[] =
    "INSERT INTO indexed (one, seq, n, cut) VALUES (1, 0, 0, $1)"
    " ON CONFLICT (one) DO UPDATE SET seq = 0, n = 0, cut = excluded.cut";
static const char sql_index_cleared[] =
    "WITH gone AS (DELETE FROM terms WHERE seq = ANY(ARRAY("
    "SELECT seq FROM terms ORDER BY seq LIMIT " CLEARED ")) RETURNING 1)"
    " DELETE FROM indexed WHERE (SELECT count(*) FROM gone) < " CLEARED;

static void queue_index(struct pg_link *l, struct pg_params *p, const struct index_group *g,
                        struct pg_answer *moved)
{
    struct pg_param *seqs, *terms;

    pg_put_int(p, g->from);
    pg_put_int(p, g->to);
    pg_put_int(p, (int64_t)g->n);
    seqs = pg_put_array(p, PG_INT);
    terms = pg_put_array(p, PG_TEXT);
    for (size_t i = 0; i < g->n; i++) {
        pg_add_int(seqs, g->rows[i].seq);
        pg_add_text(p, terms, g->rows[i].terms);
    }
    pg_put_int(p, g->cut);
    pg_put_int(p, INDEX_CLEARING);
    pg_queue(l, sql_index, p, "i", moved);
}

static enum rc index_words(struct db *db, const struct index_group *g, struct err *err)
{
    AUTO(pg_params_release) struct pg_params p = {.n = 0};
    struct pg_link *l = pg_reader_link(db);
    struct pg_answer moved = {.n = 0};
    enum rc rc;

    if ((rc = at_hand(l, err)) != RC_OK)
        return rc;
    if (g->anew) {
        pg_put_int(&p, INDEX_CLEARING);
        pg_queue(l, sql_index_closed, &p, "", NULL);
        pg_queue(l, sql_index_cleared, NULL, "", NULL);
    } else {
        queue_index(l, &p, g, &moved);
    }
    pg_set_answer_ms(l, NEWS_MS);
    rc = pg_run(l, err);
    pg_set_answer_ms(l, 0);
    if (rc == RC_OK && !g->anew && pg_get_int(&moved, 0, 0) == 0)
        rc = err_set(err, RC_CONFLICT, "the index of words is not at %lld", (long long)g->from);
    return rc;
}

static enum rc store_mirrors(struct db *db, const struct mirror_change *c, struct err *err)
{
    struct pg_link *l = pg_reader_link(db);
    enum rc rc;

    if ((rc = at_hand(l, err)) != RC_OK)
        return rc;
    pg_set_answer_ms(l, NEWS_MS);
    rc = pg_mirrors_write(l, c, err);
    pg_set_answer_ms(l, 0);
    return rc;
}

/* ---- the rest of the table ------------------------------------------------------------------- */

static const char *address(const struct db *db)
{
    return ((const struct pg_reader *)db)->storing->address;
}

static const char sql_facts[] = "SELECT log_id, secret, last_seq, last_at_us, version FROM log";

static enum rc facts(struct db *db, struct arena *a, struct log_facts *out, struct err *err)
{
    struct pg_link *l = pg_reader_link(db);
    struct pg_answer ans;
    enum rc rc;

    pg_queue(l, sql_facts, NULL, "ssiii", &ans);
    rc = pg_run(l, err);
    if (rc == RC_OK)
        *out = (struct log_facts){pg_get_str(&ans, 0, 0, a), pg_get_str(&ans, 0, 1, a),
                                  pg_get_int(&ans, 0, 2), pg_get_int(&ans, 0, 3),
                                  pg_get_int(&ans, 0, 4)};
    return rc;
}

static enum rc health(struct db *db, struct err *err)
{
    const struct pg_link *l = pg_reader_link(db);

    if (pg_away_ms(l) < 0 && pg_travelling_ms(l) < SILENT_MS)
        return RC_OK;
    return err_set(err, RC_AGAIN, "the database %s is not within reach", pg_shown(l));
}

static void stop(struct db *db)
{
    pg_link_stop(pg_reader_link(db));
}

static enum rc load(struct db *db, struct rows *r, const struct wants *w, struct err *err)
{
    return pg_writer_load(storing_of(db)->writer, w, r, err);
}

/* What fails is told by the next trip. */
static enum rc write_rows(struct db *db, struct txn *t, struct err *err UNUSED)
{
    pg_writer_queue_rows(storing_of(db)->writer, t);
    return RC_OK;
}

static enum rc merge_feeds(struct db *db, const struct feed *from, const struct feed *to,
                           bool with_heads, struct arena *a, struct merged_feeds *out,
                           struct err *err)
{
    return pg_writer_merge_feeds(storing_of(db)->writer, from, to, with_heads, a, out, err);
}

/* It fails with the commit. */
static enum rc drop_feeds(struct db *db, const int64_t *ids, size_t n, struct err *err UNUSED)
{
    pg_writer_drop_feeds(storing_of(db)->writer, ids, n);
    return RC_OK;
}

static enum rc forget_feed(struct db *db, int64_t id, struct arena *a, int64_t **subs,
                           size_t *n_subs, struct err *err)
{
    return pg_writer_forget_feed(storing_of(db)->writer, id, a, subs, n_subs, err);
}

static enum rc seal(struct db *db, const struct seal_key *key, struct err *err)
{
    return pg_seal_feeds(pg_reader_link(db), key, err);
}

static enum rc old_revisions(struct db *db, int64_t feed_id, int64_t after, int64_t limit,
                             size_t max, struct arena *a, struct old_revisions *out,
                             struct err *err)
{
    return pg_writer_old_revisions(storing_of(db)->writer, feed_id, after, limit, max, a, out, err);
}

static enum rc take_revisions(struct db *db, int64_t feed_id, const struct taken *what, int64_t now,
                              struct err *err)
{
    return pg_writer_take_revisions(storing_of(db)->writer, feed_id, what, now, err);
}

static enum rc gone_entries(struct db *db, int64_t feed_id, const struct gone_entry *after,
                            int64_t before, size_t max, struct arena *a, struct gone_entry **out,
                            size_t *n, struct err *err)
{
    return pg_writer_gone_entries(storing_of(db)->writer, feed_id, after, before, max, a, out, n,
                                  err);
}

static enum rc end_entries(struct db *db, int64_t feed_id, const struct ended *what, int64_t now,
                           struct err *err)
{
    return pg_writer_end_entries(storing_of(db)->writer, feed_id, what, now, err);
}

static const struct writes pg_writes = {
    .address = address,
    .facts = facts,
    .seal = seal,
    .run = run,
    .index = index_words,
    .mirror = store_mirrors,
    .rest = rest,
    .health = health,
    .stop = stop,
    .load = load,
    .write = write_rows,
    .merge_feeds = merge_feeds,
    .drop_feeds = drop_feeds,
    .forget_feed = forget_feed,
    .old_revisions = old_revisions,
    .take_revisions = take_revisions,
    .gone_entries = gone_entries,
    .end_entries = end_entries,
};

/* ---- life ------------------------------------------------------------------------------------ */

/* Each process is another node, because it counts its groups from the beginning. */
static const char sql_node[] = "SELECT nextval(pg_get_serial_sequence('nodes', 'id'))";

static enum rc make_writer(struct db *db, struct err *err)
{
    struct pg_link *l = pg_reader_link(db);
    struct pg_answer a;
    enum rc rc = pg_schema_ready(l, err);

    if (rc != RC_OK)
        return rc;
    rc = pg_fork_note(l, 0, 0, err); /* before the id: another node may still have it */
    if (rc != RC_OK)
        return rc;
    pg_queue(l, sql_node, NULL, "i", &a);
    rc = pg_run(l, err);
    if (rc == RC_OK) {
        pg_reader_of(db)->node = storing_of(db)->node = pg_get_int(&a, 0, 0);
        rc = claim_node(l, storing_of(db)->node, err);
        storing_of(db)->writer = pg_writer_new(l, pg_reader_of(db)->node);
    }
    return rc;
}

enum rc pg_storing_open(const char *text, bool check, bool is_shared, struct db **out,
                        struct err *err)
{
    struct pg_storing *storing;
    struct db *db = NULL;
    enum rc rc = RC_OK;

    if (check)
        return err_set(
            err, RC_UNSUPPORTED,
            "--check-db looks at the pages of a file; those of a PostgreSQL are checked by its own program "
            "pg_amcheck, and the rules of its log by \"feedmill check\"");
    storing = NEW(struct pg_storing);
    storing->address = mem_strdup(text);
    storing->is_shared = is_shared;
    rc = pg_reader_new(
        text, &(struct pg_link_cfg){.for_writing = true, .on_connect = greet, .ctx = storing}, &db,
        err);
    if (rc != RC_OK) {
        pg_storing_free(&storing);
        return rc;
    }
    pg_reader_of(db)->storing = storing;
    db->writes = &pg_writes;
    rc = connect_first(pg_reader_link(db), err);
    if (rc == RC_OK)
        rc = make_writer(db, err);
    if (rc != RC_OK)
        db->reads->close(&db);
    else
        *out = db;
    return rc;
}

void pg_storing_free(struct pg_storing **sp)
{
    struct pg_storing *s = *sp;

    if (s == NULL)
        return;
    pg_writer_free(&s->writer);
    mem_free(s->address);
    mem_free(s);
    *sp = NULL;
}

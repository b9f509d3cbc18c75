/* storage/pg/forks.c - see forks.h. */
#include "storage/pg/forks.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/stats.h"

/* The first eight digits of a file of the write-ahead log are the timeline. Any role may ask for
 * that. A log that was just made has timeline 0. */
#define TIMELINE "(('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint)"

static const char sql_look[] = "SELECT timeline, " TIMELINE " FROM log WHERE one";
static const char sql_lock[] =
    "SELECT timeline, last_seq, last_notice, " TIMELINE " FROM log WHERE one FOR UPDATE";
static const char sql_first[] = "UPDATE log SET timeline = $1 WHERE one";
static const char sql_fork[] =
    "WITH moved AS (UPDATE log SET timeline = $1, last_seq = greatest(last_seq, $2) + $4,"
    " last_notice = greatest(last_notice, $3) + $4 WHERE one RETURNING last_seq, last_notice)"
    " INSERT INTO forks (timeline, at_us, last_seq, next_seq, last_notice, next_notice)"
    " SELECT $1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, $5, last_seq + 1, $6,"
    " last_notice + 1 FROM moved ON CONFLICT DO NOTHING";

/* A node may still have ids that the server has forgotten: it drew them before the failover. And an
 * id that clients were told must not become another's. Sequences of blocks count in thousands.
 * Twice does no harm: what follows may fail, and a sequence is not rolled back. */
static const char sql_sequences[] =
    "SELECT max(setval(c.oid::regclass, coalesce(pg_sequence_last_value(c.oid), 0)"
    " + CASE WHEN right(c.relname, 7) = '_blocks' THEN $2 ELSE $1 END))"
    " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE c.relkind = 'S' AND n.nspname = current_schema()";
#define BLOCKS_GAP (FORK_GAP / 512) /* of a thousand ids each */

static void queue_sequences(struct pg_link *l)
{
    AUTO(pg_params_release) struct pg_params p = {.n = 0};

    pg_put_int(&p, FORK_GAP);
    pg_put_int(&p, BLOCKS_GAP);
    pg_queue(l, sql_sequences, &p, "i", NULL);
}

static void queue_change(struct pg_link *l, const struct pg_answer *log, int64_t seen_seq,
                         int64_t seen_notice)
{
    AUTO(pg_params_release) struct pg_params p = {.n = 0};
    int64_t last_seq = pg_get_int(log, 0, 1), last_notice = pg_get_int(log, 0, 2);
    int64_t timeline = pg_get_int(log, 0, 3);
    bool is_first = pg_get_int(log, 0, 0) == 0;

    pg_put_int(&p, timeline);
    if (is_first) {
        pg_queue(l, sql_first, &p, "", NULL);
        return;
    }
    pg_put_int(&p, seen_seq);
    pg_put_int(&p, seen_notice);
    pg_put_int(&p, FORK_GAP);
    pg_put_int(&p, last_seq);
    pg_put_int(&p, last_notice);
    stats_inc(STAT_store_forks_total);
    log_warn("storage", "fork", "timeline=%" PRId64 " last_seq=%" PRId64 " effect=numbers_left_out",
             timeline, last_seq);
    queue_sequences(l);
    pg_queue(l, sql_fork, &p, "", NULL);
}

/* Under the lock: another node may have done it meanwhile. */
static enum rc change(struct pg_link *l, int64_t seen_seq, int64_t seen_notice, struct err *err)
{
    struct pg_answer log;
    enum rc rc;

    pg_queue_begin(l);
    pg_queue(l, sql_lock, NULL, "iiii", &log);
    rc = pg_run(l, err);
    if (rc == RC_OK && pg_get_int(&log, 0, 0) != pg_get_int(&log, 0, 3)) {
        queue_change(l, &log, seen_seq, seen_notice);
        rc = pg_commit(l, err);
    }
    pg_rollback(l);
    return rc;
}

enum rc pg_fork_note(struct pg_link *l, int64_t seen_seq, int64_t seen_notice, struct err *err)
{
    struct pg_answer log;
    enum rc rc;

    pg_queue(l, sql_look, NULL, "ii", &log);
    rc = pg_run(l, err);
    if (rc != RC_OK || pg_get_int(&log, 0, 0) == pg_get_int(&log, 0, 1))
        return rc;
    return change(l, seen_seq, seen_notice, err);
}

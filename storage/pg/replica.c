/* storage/pg/replica.c - see replica.h. */
#include "storage/pg/replica.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "storage/pg/uri.h"

/* Somebody waits for the answer, and the server itself has it, too. */
#define CONNECT_MS 500
#define ANSWER_MS 1000
#define AWAY_MS 10000 /* how long it is left alone after it was not within reach */
/* The same after it was late: from the first of these, doubled each time up to the second. */
#define LATE_MIN_MS 10
#define LATE_MAX_MS 1000

struct asked {
    enum pg_statement_id id;
    struct pg_params params;
    struct pg_answer *out;
};

struct pg_replica {
    struct replica_cfg cfg;
    struct pg_uri *uri;
    struct pg_link *link;
    struct asked *asked; /* of the next trip */
    size_t n, cap;       /* how many; those up to `cap` keep their memory */
    size_t n_given;      /* so many of them were given back */
    bool is_open;
    int64_t skip_until_ms; /* monotonic */
    int64_t late_ms;       /* the last pause because it was late; 0: it was not */
};

/* Is it the same log? */
static enum rc greet(struct pg_link *l, struct err *err)
{
    const struct pg_replica *r = pg_ctx(l);
    struct pg_answer a;
    enum rc rc;

    pg_queue(l, "SELECT log_id FROM log WHERE one", NULL, "s", &a);
    rc = pg_run(l, err);
    if (rc == RC_OK && (a.n == 0 || !str_eq(pg_get_bytes(&a, 0, 0), r->cfg.log_id)))
        rc = err_set(err, RC_CONFLICT, "%s is not a copy of the database: it has another log",
                     pg_shown(l));
    return rc;
}

static enum rc connect_to(struct pg_replica *r, struct err *err)
{
    struct err why = ERR_INIT;
    enum rc rc = pg_connect(r->link, &why);

    if (rc != RC_OK) {
        r->skip_until_ms = clock_mono_ms() + AWAY_MS;
        log_warn("storage", "replica_away", "error=%s effect=asks_server",
                 log_quote(str_from(why.text)));
        if (err != NULL)
            *err = why;
    }
    return rc;
}

enum rc pg_replica_new(const struct replica_cfg *cfg, struct pg_replica **out, struct err *err)
{
    struct pg_replica *r = NEW(struct pg_replica);
    struct pg_link_cfg link = {
        .on_connect = greet, .ctx = r, .connect_ms = CONNECT_MS, .answer_ms = ANSWER_MS};
    enum rc rc = pg_uri_read(cfg->address, &r->uri, err);

    r->cfg = *cfg;
    link.uri = r->uri;
    if (rc == RC_OK) {
        r->link = pg_link_new(&link);
        if (connect_to(r, err) == RC_CONFLICT)
            rc = RC_CONFLICT;
    }
    if (rc != RC_OK)
        pg_replica_free(&r);
    else
        *out = r;
    return rc;
}

void pg_replica_free(struct pg_replica **rp)
{
    struct pg_replica *r = *rp;

    if (r == NULL)
        return;
    pg_link_free(&r->link);
    pg_uri_free(&r->uri);
    for (size_t i = 0; i < r->cap; i++)
        pg_params_release(&r->asked[i].params);
    mem_free(r->asked);
    mem_free(r);
    *rp = NULL;
}

bool pg_replica_is_ready(struct pg_replica *r)
{
    if (clock_mono_ms() < r->skip_until_ms)
        return false;
    return pg_is_connected(r->link) || connect_to(r, NULL) == RC_OK;
}

bool pg_replica_is_open(const struct pg_replica *r)
{
    return r->is_open;
}

void pg_replica_ask(struct pg_replica *r, enum pg_statement_id id, struct pg_params *p,
                    struct pg_answer *out)
{
    struct pg_params free_one;
    struct asked *asked;

    if (r->n == r->cap) {
        size_t cap = r->cap;

        r->asked = mem_grow(r->asked, &r->cap, r->n + 1, sizeof *r->asked);
        memset(r->asked + cap, 0, (r->cap - cap) * sizeof *r->asked);
    }
    asked = &r->asked[r->n++];
    free_one = asked->params;
    *asked = (struct asked){id, *p, out};
    *p = free_one;
}

static void forget(struct pg_replica *r)
{
    for (size_t i = 0; i < r->n; i++)
        pg_params_reset(&r->asked[i].params);
    r->n = r->n_given = 0;
}

bool pg_replica_give_back(struct pg_replica *r, enum pg_statement_id *id, struct pg_params *p,
                          struct pg_answer **out)
{
    struct pg_params free_one = *p;
    struct asked *asked;

    if (r->n_given == r->n) {
        forget(r);
        return false;
    }
    asked = &r->asked[r->n_given++];
    *id = asked->id;
    *out = asked->out;
    *p = asked->params;
    asked->params = free_one;
    return true;
}

static void queue(struct pg_replica *r, enum pg_statement_id id, struct pg_params *p,
                  struct pg_answer *out)
{
    const struct pg_statement *s = &pg_statements[id];

    pg_queue(r->link, s->sql, p, s->columns, out);
}

/* It lacks what the directory may know. */
static enum rc late(struct pg_replica *r, struct err *err)
{
    r->late_ms = r->late_ms == 0                ? LATE_MIN_MS
                 : r->late_ms < LATE_MAX_MS / 2 ? r->late_ms * 2
                                                : LATE_MAX_MS;
    r->skip_until_ms = clock_mono_ms() + r->late_ms;
    stats_inc(STAT_replica_late_total);
    return err_set(err, RC_AGAIN, "the copy of the database is late");
}

/* A copy that has ended a snapshot, because of what it had to take over (a conflict with recovery),
 * is asked again at once. */
static enum rc lost(struct pg_replica *r, const struct err *why, struct err *err)
{
    if (!pg_is_connected(r->link))
        r->skip_until_ms = clock_mono_ms() + AWAY_MS;
    log_debug("storage", "replica_failed", "error=%s", log_quote(str_from(why->text)));
    return err_set(err, RC_AGAIN, "the copy of the database did not answer: %s", why->text);
}

enum rc pg_replica_hear(struct pg_replica *r, bool stays, struct err *err)
{
    bool was_open = r->is_open;
    int64_t known = r->cfg.known(r->cfg.ctx);
    struct pg_answer place;
    struct err why = ERR_INIT;
    enum rc rc;

    if (!was_open) {
        queue(r, PG_SQL_begin_snapshot, NULL, NULL);
        queue(r, PG_SQL_log_place, NULL, &place);
    }
    for (size_t i = 0; i < r->n; i++)
        queue(r, r->asked[i].id, &r->asked[i].params, r->asked[i].out);
    if (!stays)
        queue(r, PG_SQL_end_snapshot, NULL, NULL);
    r->is_open = stays;
    rc = pg_run(r->link, &why);
    if (rc != RC_OK)
        rc = lost(r, &why, err);
    else if (!was_open && (place.n == 0 || pg_get_int(&place, 0, 0) < known))
        rc = late(r, err);
    if (rc == RC_OK) {
        r->late_ms = 0;
        stats_inc(STAT_replica_reads_total);
    } else {
        r->is_open = false;
        pg_rollback(r->link);
    }
    if (rc == RC_OK || was_open)
        forget(r);
    return rc;
}

void pg_replica_end(struct pg_replica *r)
{
    if (!r->is_open)
        return;
    r->is_open = false;
    queue(r, PG_SQL_end_snapshot, NULL, NULL);
    if (pg_run(r->link, NULL) != RC_OK)
        pg_rollback(r->link);
}

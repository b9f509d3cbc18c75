/* storage/pg/schema.c - looks what is there; runs the text that make_schema.py has made. */
#include "storage/pg/schema.h"

#include <inttypes.h>

#include "base/digest.h"
#include "storage/schema_version.h"

static const char schema_sql[] = {
#include "storage/pg/schema.inc"
    0};

/* One node at a time. The number is "Feed", as of SQLite's application_id. */
static const char sql_lock[] = "SELECT pg_advisory_xact_lock(1181050212)::text";

/* How many tables there are, and how many of them are a log of ours. */
static const char sql_look[] =
    "SELECT (SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace"
    " AND relkind IN ('r', 'p')),"
    " (SELECT count(*) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE"
    " c.relnamespace = current_schema()::regnamespace AND c.relname = 'log'"
    " AND a.attname IN ('log_id', 'schema_version', 'last_seq'))";

static const char sql_version[] = "SELECT schema_version FROM log";

static const char sql_identity[] =
    "INSERT INTO log (log_id, secret, schema_version) VALUES ($1, $2, $3)";

static void queue_identity(struct pg_link *l, struct pg_params *p)
{
    unsigned char random[32];
    char id[37], secret[2 * sizeof random + 1];

    digest_uuid4(id);
    digest_random(random, sizeof random);
    digest_hex(random, sizeof random, secret);
    pg_params_reset(p);
    pg_put_text(p, str_from(id));
    pg_put_text(p, str_from(secret));
    pg_put_int(p, SCHEMA_VERSION);
    pg_queue(l, sql_identity, p, "", NULL);
}

static enum rc make(struct pg_link *l, struct err *err)
{
    AUTO(pg_params_release) struct pg_params p = {.n = 0};
    enum rc rc = pg_script(l, schema_sql, err);

    if (rc != RC_OK)
        return rc;
    queue_identity(l, &p);
    return pg_commit(l, err);
}

static enum rc check(struct pg_link *l, struct err *err)
{
    struct pg_answer a;
    int64_t version;
    enum rc rc;

    pg_queue(l, sql_version, NULL, "i", &a);
    rc = pg_commit(l, err);
    if (rc != RC_OK)
        return rc;
    version = a.n == 1 ? pg_get_int(&a, 0, 0) : 0;
    if (version > SCHEMA_VERSION)
        return err_set(err, RC_UNSUPPORTED,
                       "the database has schema version %" PRId64
                       ", and this program knows %d: it belongs to a newer Feedmill",
                       version, SCHEMA_VERSION);
    if (version < SCHEMA_VERSION)
        return err_set(err, RC_UNSUPPORTED,
                       "the database has schema version %" PRId64
                       ", which this program cannot bring to %d",
                       version, SCHEMA_VERSION);
    return RC_OK;
}

enum rc pg_schema_ready(struct pg_link *l, struct err *err)
{
    int64_t n_tables, n_ours;
    struct pg_answer a;
    enum rc rc;

    pg_queue_begin(l);
    pg_queue(l, sql_lock, NULL, "s", NULL);
    pg_queue(l, sql_look, NULL, "ii", &a);
    rc = pg_run(l, err);
    if (rc == RC_OK) {
        n_tables = pg_get_int(&a, 0, 0);
        n_ours = pg_get_int(&a, 0, 1);
        if (n_ours == 3)
            rc = check(l, err);
        else if (n_tables == 0)
            rc = make(l, err);
        else
            rc = err_set(err, RC_UNSUPPORTED,
                         "the database has the tables of another program; Feedmill needs an empty "
                         "database or schema");
    }
    pg_rollback(l);
    return rc;
}

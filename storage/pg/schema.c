/* storage/pg/schema.c - looks what is there; runs the text that make_schema.py has made, or what
 * leads from an older one to it. */
#include "storage/pg/schema.h"

#include <inttypes.h>

#include "base/digest.h"
#include "base/log.h"
#include "storage/migrations.h"
#include "storage/schema_version.h"

#define TRIES 5 /* a step that changes several tables may meet a writer in a deadlock */

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

static const char sql_set_version[] = "UPDATE log SET schema_version = $1 WHERE one";

static const struct migration *migration_from(const struct migration *list, size_t n, int64_t from)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].from == from && list[i].pg != NULL)
            return &list[i];
    return NULL;
}

static enum rc commit_version(struct pg_link *l, int64_t version, struct err *err)
{
    AUTO(pg_params_release) struct pg_params p = {.n = 0};

    pg_put_int(&p, version);
    pg_queue(l, sql_set_version, &p, "", NULL);
    return pg_commit(l, err);
}

/* All steps in one transaction. The row of the log, for which all writers wait, comes last, as
 * always. */
static enum rc migrate(struct pg_link *l, int64_t from, const struct migration *list, size_t n,
                       int target, struct err *err)
{
    int64_t version = from;
    enum rc rc;

    while (version < target) {
        const struct migration *m = migration_from(list, n, version);

        if (m == NULL)
            return err_set(err, RC_UNSUPPORTED,
                           "the database has schema version %" PRId64
                           ", which this program cannot bring to %d",
                           from, target);
        rc = pg_script(l, m->pg, err);
        if (rc != RC_OK) {
            err_prefix(err, "schema from version %d to %d", m->from, m->to);
            return rc;
        }
        version = m->to;
    }
    rc = commit_version(l, version, err);
    if (rc == RC_OK)
        log_info("storage", "migrated", "from=%" PRId64 " to=%" PRId64, from, version);
    return rc;
}

static enum rc read_version(struct pg_link *l, int64_t *out, struct err *err)
{
    struct pg_answer a;
    enum rc rc;

    pg_queue(l, sql_version, NULL, "i", &a);
    rc = pg_run(l, err);
    if (rc == RC_OK)
        *out = a.n == 1 ? pg_get_int(&a, 0, 0) : 0;
    return rc;
}

/* What is there? */
static enum rc look(struct pg_link *l, int64_t *n_tables, bool *is_ours, struct err *err)
{
    struct pg_answer a;
    enum rc rc;

    pg_queue(l, sql_look, NULL, "ii", &a);
    rc = pg_run(l, err);
    if (rc != RC_OK)
        return rc;
    *n_tables = pg_get_int(&a, 0, 0);
    *is_ours = pg_get_int(&a, 0, 1) == 3;
    return RC_OK;
}

enum rc pg_schema_version(struct pg_link *l, int64_t *out, struct err *err)
{
    int64_t n_tables;
    bool is_ours;
    enum rc rc = look(l, &n_tables, &is_ours, err);

    if (rc != RC_OK)
        return rc;
    return is_ours ? read_version(l, out, err)
                   : err_set(err, RC_UNSUPPORTED, "%s is not a database of Feedmill", pg_shown(l));
}

static enum rc check(struct pg_link *l, const struct migration *list, size_t n, int target,
                     struct err *err)
{
    int64_t version;
    enum rc rc = read_version(l, &version, err);

    if (rc != RC_OK)
        return rc;
    if (version > target)
        return err_set(err, RC_UNSUPPORTED,
                       "the database has schema version %" PRId64
                       ", and this program knows %d: it belongs to a newer Feedmill",
                       version, target);
    return version == target ? pg_commit(l, err) : migrate(l, version, list, n, target, err);
}

static enum rc make_ready(struct pg_link *l, const struct migration *list, size_t n, int target,
                          struct err *err)
{
    int64_t n_tables;
    bool is_ours;
    enum rc rc;

    pg_queue_begin(l);
    pg_queue(l, sql_lock, NULL, "s", NULL);
    rc = look(l, &n_tables, &is_ours, err);
    if (rc != RC_OK)
        return rc;
    if (is_ours)
        return check(l, list, n, target, err);
    if (n_tables == 0)
        return make(l, err);
    return err_set(err, RC_UNSUPPORTED,
                   "the database has the tables of another program; Feedmill needs an empty "
                   "database or schema");
}

enum rc pg_schema_migrate(struct pg_link *l, const struct migration *list, size_t n, int target,
                          struct err *err)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < TRIES; i++) {
        rc = make_ready(l, list, n, target, err);
        if (rc == RC_OK || pg_fault(l) != PG_FAULT_RETRY)
            break;
        pg_rollback(l);
    }
    pg_rollback(l);
    return rc;
}

enum rc pg_schema_ready(struct pg_link *l, struct err *err)
{
    return pg_schema_migrate(l, migrations, n_migrations, SCHEMA_VERSION, err);
}

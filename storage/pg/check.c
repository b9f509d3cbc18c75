/* storage/pg/check.c - see check.h.
 *
 * All is read in one transaction that sees one state and writes nothing, so a daemon that goes on
 * makes no false faults, and a standby will do. Rows come through cursors: a few at a time. What a
 * statement must not do is in the settings: no order is made by sorting, because an index has each
 * that is asked for, and the whole of a statement counts, not its first rows. What the pages of the
 * server are like is for pg_amcheck to say; a statement that fails because of them is a fault here,
 * too. */
#include "storage/pg/check.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/mem.h"
#include "model/marks.h"
#include "model/sinks.h"
#include "storage/pg/link.h"
#include "storage/pg/schema.h"
#include "storage/pg/uri.h"
#include "storage/schema_version.h"
#include "storage/sqlite/db_priv.h"
#include "storage/sqlite/stmt.h"

#define FAULTS_MAX 5 /* told of one rule */

enum judge { NONE, is_json, is_sink, is_filter };

struct checking {
    struct pg_link *l;
    struct pg_params params;
    struct db *json; /* SQLite in memory: it says what is JSON, as it does for a file */
    filter_read_fn *read_filter;
    upkeep_fault_fn *fn;
    void *ctx;
    int64_t n_faults;
    bool lacks_some; /* tables, columns or indexes, which were told */
};

/* ---- the statements -------------------------------------------------------------------------- */

static const char sql_begin[] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
                                "SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on; "
                                "SET LOCAL enable_mergejoin = on;"
                                "SET LOCAL enable_sort = off; SET LOCAL cursor_tuple_fraction = 1; "
                                "SET LOCAL statement_timeout = 0;"
                                "SET LOCAL idle_in_transaction_session_timeout = '5min'";

static const char sql_savepoint[] = "SAVEPOINT rule";
static const char sql_go_back[] = "ROLLBACK TO SAVEPOINT rule";
static const char sql_fetch[] = "FETCH 200 FROM found";
static const char sql_fetch_entries[] = "FETCH 1000 FROM found";
static const char sql_close[] = "CLOSE found";

#define DECLARE "DECLARE found NO SCROLL CURSOR FOR "
#define LAST_SEQ "(SELECT last_seq FROM log)"
#define DOC "(SELECT b.doc FROM bodies b WHERE b.id = r.body)"
#define BY(index)

static const struct log_rule {
    const char *says, *sql; /* a row for each that breaks it, or may; no sql: by keys */
    enum judge judge;
} rules[] = {
#define RULE(says, what, from) {says, DECLARE "SELECT " what ", NULL::text " from, NONE},
#define REFERENCE(table, column, other)                                                            \
    RULE("what a row refers to is there", "'" table ": " column " ' || t." column,                 \
         "FROM " table " t WHERE t." column " IS NOT NULL AND (SELECT 1 FROM " other               \
         " o WHERE o.id = t." column ") IS NULL")
#include "storage/pg/log_rules.def"
#define RULE(says, what, from) {says, DECLARE "SELECT " what ", NULL::text " from, NONE},
#define JUDGED(says, what, from, judge, subject)                                                   \
    {says, DECLARE "SELECT " what ", " subject " " from, judge},
#define KEYED(says) {says, NULL, NONE},
#include "storage/log_rules.def"
};

static const char sql_entries[] =
    DECLARE "SELECT id, feed_id, marks FROM entries WHERE length(marks) = 64";

static const char sql_keys[] = "SELECT 'entry ' || w.entry_id || ', key ' || w.n FROM "
                               "unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])"
                               " AS w (entry_id, n, feed_id, key) WHERE (SELECT 1 FROM entry_keys "
                               "k WHERE k.feed_id = w.feed_id AND k.key = w.key"
                               " AND k.entry_id = w.entry_id) IS NULL";

#define OURS(class) class ".relnamespace = current_schema()::regnamespace"
/* clang-format off */
static const char sql_lacks[] =
    "SELECT DISTINCT w.kind || ' ' || w.name || CASE WHEN EXISTS (SELECT FROM pg_class c WHERE " OURS("c")
    " AND c.relname = w.name) THEN ': it lacks ' || w.part ELSE ': it is missing' END"
    " FROM (SELECT kind, name, part FROM unnest($1::text[], $2::text[], $3::text[]) AS n (kind, name, part)"
    " EXCEPT SELECT 'table', c.relname, 'column ' || a.attname || ' ' || format_type(a.atttypid, NULL) ||"
    " CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
    " AND a.attnum > 0 AND NOT a.attisdropped WHERE c.relkind IN ('r', 'p') AND " OURS("c")
    " EXCEPT SELECT 'table', c.relname, a.attname || ' refers to ' || o.relname FROM pg_constraint f"
    " JOIN pg_class c ON c.oid = f.conrelid JOIN pg_class o ON o.oid = f.confrelid"
    " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = f.conkey[1] WHERE f.contype = 'f' AND " OURS("c")
    " EXCEPT SELECT 'index', i.relname, 'of ' || t.relname || ': ' ||"
    " regexp_replace(pg_get_indexdef(i.oid, n, false), '^.*?\\((\\w+).*$', '\\1') || ', part ' || n - 1 ||"
    " CASE WHEN x.indpred IS NULL THEN '' ELSE ', of some rows' END FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid"
    " JOIN pg_class t ON t.oid = x.indrelid CROSS JOIN generate_series(1, x.indnkeyatts) n WHERE x.indisvalid AND " OURS("i")
    " EXCEPT SELECT 'sequence', c.relname, 'its numbers' FROM pg_class c WHERE c.relkind = 'S' AND " OURS("c") ") w";
/* clang-format on */

static const char *const shape[][3] = {
#define PART(kind, name, part) {kind, name, part},
#include "storage/pg/shape.inc"
#undef PART
};

/* ---- what is found --------------------------------------------------------------------------- */

static void tell(struct checking *c, const char *rule, struct str what)
{
    c->n_faults++;
    c->fn(c->ctx, str_from(rule), what);
}

static bool says_json(struct checking *c, struct str text)
{
    int64_t is = 0;
    sqlite3_stmt *st = stmt_start(c->json, NULL, "SELECT json_valid(?1)", "s", text);

    return stmt_number(c->json, st, &is, NULL) == RC_OK && is != 0;
}

static bool says_yes(struct checking *c, enum judge judge, struct str text)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;

    if (str_is_null(text))
        return judge != NONE;
    switch (judge) {
    case is_json:
        return text.len == 0 || says_json(c, text);
    case is_sink:
        return sinks_events(text) != 0;
    case is_filter:
        return c->read_filter(&a, text) != NULL;
    case NONE:
        break;
    }
    return false;
}

/* The next rows of the cursor, judged; *n_told of the rule were told before. */
static void tell_found(struct checking *c, const struct log_rule *rule,
                       const struct pg_answer *found, int *n_told)
{
    for (size_t i = 0; i < found->n && *n_told < FAULTS_MAX; i++) {
        if (says_yes(c, rule->judge, pg_get_bytes(found, i, 1)))
            continue;
        tell(c, rule->says, pg_get_bytes(found, i, 0));
        ++*n_told;
    }
}

static enum rc walk(struct checking *c, const struct log_rule *rule, struct err *err)
{
    struct pg_answer found;
    int n_told = 0;
    enum rc rc;

    pg_queue(c->l, sql_savepoint, NULL, "", NULL);
    pg_queue(c->l, rule->sql, NULL, "", NULL);
    do {
        pg_queue(c->l, sql_fetch, NULL, "ss", &found);
        rc = pg_run(c->l, err);
        if (rc == RC_OK)
            tell_found(c, rule, &found, &n_told);
    } while (rc == RC_OK && found.n > 0 && n_told < FAULTS_MAX);
    if (rc == RC_OK)
        pg_queue(c->l, sql_close, NULL, "", NULL);
    return rc == RC_OK ? pg_run(c->l, err) : rc;
}

/* Queue the keys of these entries. */
static void queue_keys(struct checking *c, const struct pg_answer *entries, struct pg_answer *out)
{
    struct pg_param *at[4];

    pg_params_reset(&c->params);
    for (size_t i = 0; i < ARRAY_LEN(at); i++)
        at[i] = pg_put_array(&c->params, PG_INT);
    for (size_t i = 0; i < entries->n; i++) {
        int64_t keys[MARKS_KEYS];
        struct entry_marks marks;
        size_t n = marks_unpack(pg_get_bytes(entries, i, 2), &marks) ? marks_keys(&marks, keys) : 0;

        for (size_t k = 0; k < n; k++) {
            pg_add_int(at[0], pg_get_int(entries, i, 0));
            pg_add_int(at[1], (int64_t)k);
            pg_add_int(at[2], pg_get_int(entries, i, 1));
            pg_add_int(at[3], keys[k]);
        }
    }
    pg_queue(c->l, sql_keys, &c->params, "s", out);
}

static enum rc walk_keys(struct checking *c, const struct log_rule *rule, struct err *err)
{
    struct pg_answer entries, lost = {.n = 0};
    int n_told = 0;
    size_t n;
    enum rc rc;

    pg_queue(c->l, sql_savepoint, NULL, "", NULL);
    pg_queue(c->l, sql_entries, NULL, "", NULL);
    do {
        pg_queue(c->l, sql_fetch_entries, NULL, "iib", &entries);
        rc = pg_run(c->l, err);
        n = entries.n;
        if (rc == RC_OK && n > 0) {
            queue_keys(c, &entries, &lost);
            rc = pg_run(c->l, err);
        }
        for (size_t i = 0; rc == RC_OK && n > 0 && i < lost.n && n_told < FAULTS_MAX; i++, n_told++)
            tell(c, rule->says, pg_get_bytes(&lost, i, 0));
    } while (rc == RC_OK && n > 0 && n_told < FAULTS_MAX);
    if (rc == RC_OK)
        pg_queue(c->l, sql_close, NULL, "", NULL);
    return rc == RC_OK ? pg_run(c->l, err) : rc;
}

/* Damage may end a statement with an error: that is a fault, too, unless the rule is about what is
 * missing. All other errors end the check. */
static enum rc check_rule(struct checking *c, const struct log_rule *rule, struct err *err)
{
    struct err why = ERR_INIT;
    enum rc rc = rule->sql != NULL ? walk(c, rule, &why) : walk_keys(c, rule, &why);
    enum pg_fault fault = pg_fault(c->l);

    if (rc == RC_OK)
        return RC_OK;
    if (!pg_is_connected(c->l) || (fault != PG_FAULT_OTHER && fault != PG_FAULT_DATA))
        return err_set(err, rc, "%s", why.text);
    if (!c->lacks_some)
        tell(c, rule->says, str_from(why.text));
    pg_queue(c->l, sql_go_back, NULL, "", NULL);
    return pg_run(c->l, err);
}

static enum rc check_shape(struct checking *c, struct err *err)
{
    struct pg_answer lacks;
    enum rc rc;

    pg_params_reset(&c->params);
    for (size_t column = 0; column < 3; column++) {
        struct pg_param *list = pg_put_array(&c->params, PG_TEXT);

        for (size_t i = 0; i < ARRAY_LEN(shape); i++)
            pg_add_text(&c->params, list, str_from(shape[i][column]));
    }
    pg_queue(c->l, sql_lacks, &c->params, "s", &lacks);
    rc = pg_run(c->l, err);
    for (size_t i = 0; rc == RC_OK && i < lacks.n; i++)
        tell(c, "tables and indexes are there", pg_get_bytes(&lacks, i, 0));
    c->lacks_some = rc == RC_OK && lacks.n > 0;
    return rc;
}

static enum rc check_version(struct checking *c, struct err *err)
{
    int64_t version = 0;
    enum rc rc = pg_schema_version(c->l, &version, err);

    if (rc == RC_OK && version == 0) {
        tell(c, "the log says where it stands, in one row", STR("table log"));
        return RC_CONFLICT;
    }
    if (rc == RC_OK && version != SCHEMA_VERSION)
        rc = err_set(
            err, RC_UNSUPPORTED,
            "the rules of the log in %s are those of another Feedmill: it has schema %" PRId64
            ", this program %d%s",
            pg_shown(c->l), version, SCHEMA_VERSION,
            version < SCHEMA_VERSION ? "; \"feedmill serve\" brings it up to date" : "");
    return rc;
}

static enum rc check_all(struct checking *c, struct err *err)
{
    enum rc rc = pg_connect_first(c->l, err);

    if (rc == RC_OK)
        rc = pg_script(c->l, sql_begin, err);
    if (rc == RC_OK)
        rc = check_version(c, err);
    if (rc == RC_OK)
        rc = check_shape(c, err);
    for (size_t i = 0; rc == RC_OK && i < ARRAY_LEN(rules); i++)
        rc = check_rule(c, &rules[i], err);
    if (pg_is_connected(c->l))
        pg_rollback(c->l);
    if (c->n_faults > 0 && (rc == RC_OK || rc == RC_CONFLICT))
        rc = err_set(err, RC_CONFLICT, "the database %s is damaged", pg_shown(c->l));
    return rc;
}

static enum rc check(const char *address, filter_read_fn *read_filter, upkeep_fault_fn *fn,
                     void *ctx, struct err *err)
{
    struct checking c = {.read_filter = read_filter, .fn = fn, .ctx = ctx};
    struct pg_uri *uri = NULL;
    enum rc rc = pg_uri_read(address, &uri, err);

    if (rc == RC_OK)
        rc = db_open_file(":memory:", SQLITE_OPEN_READWRITE, &c.json, err);
    if (rc == RC_OK) {
        c.l = pg_link_new(&(struct pg_link_cfg){.uri = uri});
        rc = check_all(&c, err);
    }
    pg_link_free(&c.l);
    pg_params_release(&c.params);
    db_close(&c.json);
    pg_uri_free(&uri);
    return rc;
}

static struct str shown(struct arena *a, const char *address)
{
    struct pg_uri *uri = NULL;
    struct str s = pg_uri_read(address, &uri, NULL) == RC_OK
                       ? str_dup(a, str_from(pg_uri_shown(uri)))
                       : STR("the database");

    pg_uri_free(&uri);
    return s;
}

const struct upkeep_calls pg_upkeep = {.check = check, .shown = shown};

/* tests/unit/storage/test_pg_plans.c - no statement that reads PostgreSQL walks a whole table.
 *
 * Each is prepared with the types of its parameters, and its plan is looked at. Those that are for
 * "all of it" are named here. */
#include "pg_server.h"
#include "tests/unit/cmocka_all.h"

#include "base/buf.h"
#include "storage/pg/schema.h"
#include "storage/pg/statements.h"

static const struct {
    char letter;
    const char *name;
} types[] = {{'i', "bigint"},   {'s', "text"},   {'b', "bytea"},    {'o', "boolean"},
             {'I', "bigint[]"}, {'S', "text[]"}, {'O', "boolean[]"}};

/* These look at all rows. There are few nodes, and always 256 slots. */
static const enum pg_statement_id may_scan[] = {
    PG_SQL_subs_find,   PG_SQL_node_join,    PG_SQL_node_differing, PG_SQL_nodes_end,
    PG_SQL_nodes_alive, PG_SQL_node_drain,   PG_SQL_slots_take,     PG_SQL_slots_all,
    PG_SQL_slots_leave, PG_SQL_slots_inherit, PG_SQL_key_forget};

static bool is_allowed(enum pg_statement_id id)
{
    for (size_t i = 0; i < ARRAY_LEN(may_scan); i++)
        if (may_scan[i] == id)
            return true;
    return false;
}

static const char *type_of(char letter)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (types[i].letter == letter)
            return types[i].name;
    fail_msg("no type %c", letter);
    return NULL;
}

/* "PREPARE p (bigint[], text) AS SELECT ..." and "EXPLAIN EXECUTE p (NULL, NULL)". */
static void write_statements(const struct pg_statement *s, struct buf *prepare, struct buf *explain)
{
    buf_printf(prepare, "PREPARE p");
    buf_printf(explain, "EXPLAIN EXECUTE p");
    for (size_t i = 0; s->params[i] != '\0'; i++) {
        buf_printf(prepare, "%s%s", i == 0 ? " (" : ", ", type_of(s->params[i]));
        buf_printf(explain, "%sNULL", i == 0 ? " (" : ", ");
    }
    buf_printf(prepare, "%s AS %s%c", s->params[0] == '\0' ? "" : ")", s->sql, 0);
    buf_printf(explain, "%s%c", s->params[0] == '\0' ? "" : ")", 0);
}

static void check(struct pg_link *l, enum pg_statement_id id)
{
    AUTO(buf_release) struct buf prepare = BUF_INIT(BUF_ANY), explain = BUF_INIT(BUF_ANY);
    const struct pg_statement *s = &pg_statements[id];
    struct pg_answer plan;

    write_statements(s, &prepare, &explain);
    script_ok(l, prepare.ptr);
    pg_queue(l, explain.ptr, NULL, "s", &plan);
    run_ok(l);
    for (size_t i = 0; i < plan.n; i++) {
        struct str line = pg_get_bytes(&plan, i, 0);

        if ((str_find(line, STR("Seq Scan on ")) >= 0 && !is_allowed(id)) ||
            (str_find(line, STR("Sort")) >= 0 && id == PG_SQL_all_horizon)) /* it takes one row */
            fail_msg("%s: %.*s", s->name, STR_ARG(line));
    }
    script_ok(l, "DEALLOCATE ALL");
    assert_int_equal(RC_OK, pg_connect(l, NULL)); /* the text is gone that was the key of a plan */
}

static void test_pg_plans__no_statement_walks_a_table(void **state UNUSED)
{
    struct server_link s = connected(PLAIN);

    assert_int_equal(RC_OK, pg_schema_ready(s.l, NULL));
    for (int id = PG_SQL_last_seq; id < PG_SQL_COUNT_; id++)
        check(s.l, (enum pg_statement_id)id);
    link_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pg_plans__no_statement_walks_a_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

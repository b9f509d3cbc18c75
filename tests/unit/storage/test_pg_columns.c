/* tests/unit/storage/test_pg_columns.c - structs become arrays, and rows become structs again. */
#include "pg_server.h"
#include "tests/unit/cmocka_all.h"

#include "base/clock.h"
#include "storage/pg/columns.h"
#include "storage/records.h"

/* One of each kind, and each kind of integer. */
#define ODD(X)                                                                                     \
    X(INT, id, feed.id)                                                                            \
    X(TEXT, title, feed.title)                                                                     \
    X(EMPTY, credential, feed.credential)                                                          \
    X(OCTETS, etag, feed.etag)                                                                     \
    X(OCTETS, last_modified, feed.last_modified)                                                   \
    X(HASH, body_hash, feed.body_hash)                                                             \
    X(TIME, next_fetch_at, feed.next_fetch_at)                                                     \
    X(INT, level, feed.level)                                                                      \
    X(INT, skip_hours, feed.hints.skip_hours)                                                      \
    X(INT, skip_days, feed.hints.skip_days)                                                        \
    X(INT, state, feed.state)                                                                      \
    X(INT, fetched, fetched)                                                                       \
    X(VERSION, version, feed.version)

#define PG_ROW struct feed_row
static const struct pg_column odd[] = {ODD(PG_COLUMN)};
#undef PG_ROW
#define PG_ROW struct entry_row
static const struct pg_column saved[] = {ENTRY_SAVED(PG_COLUMN)};
#undef PG_ROW

static void test_columns__what_is_written_is_read(void **state UNUSED)
{
    struct server_link s = connected(PLAIN);
    AUTO(pg_params_release) struct pg_params p = {.n = 0};
    AUTO(buf_release) struct buf sql = BUF_INIT(BUF_ANY);
    AUTO(arena_release) struct arena arena = ARENA_INIT;
    struct feed_row one = {.feed = {.id = -7,
                                    .title = STR(""),
                                    .credential = STR("a:b"),
                                    .etag = STR("\xff\0\xc3\""),
                                    .last_modified = STR("\x01\xc3\xa4"),
                                    .has_body_hash = true,
                                    .body_hash = "fifteen letters",
                                    .next_fetch_at = TIME_UNKNOWN,
                                    .level = LEVEL_EXACT,
                                    .hints = {.skip_hours = UINT32_MAX, .skip_days = 127},
                                    .state = FEED_GONE,
                                    .version = INT64_C(1) << 40},
                           .fetched = true};
    struct feed_row two = {.feed = {.title = STR_NULL,
                                    .credential = STR_NULL,
                                    .next_fetch_at = 5,
                                    .last_modified = STR("\xc3\xa4 as it is")}};
    const void *rows[] = {&one, &two};
    struct feed_row read = {.feed = {.id = 99}};
    struct pg_answer a;

    buf_puts(&sql, "SELECT " ODD(PG_WORD) "1::bigint FROM unnest(");
    pg_sql_arrays(&sql, 1, PG_COLUMNS(odd));
    buf_puts(&sql, ") AS t (");
    pg_sql_names(&sql, PG_COLUMNS(odd));
    buf_puts(&sql, ")");
    pg_put_columns(&p, PG_COLUMNS(odd), rows, 2);
    pg_queue(s.l, sql.ptr, &p, ODD(PG_LETTER) "i", &a);
    run_ok(s.l);
    assert_int_equal(2, a.n);
    assert_int_equal(ARRAY_LEN(odd), pg_get_columns(&a, 0, 0, PG_COLUMNS(odd), &arena, &read));
    assert_int_equal(-7, read.feed.id);
    assert_true(str_eqz(read.feed.title, "") && !str_is_null(read.feed.title));
    assert_true(str_eqz(read.feed.credential, "a:b"));
    assert_true(str_eq(read.feed.etag, STR("\xff\0\xc3\"")));
    assert_true(str_eq(read.feed.last_modified, STR("\x01\xc3\xa4")));
    assert_true(read.feed.has_body_hash);
    assert_memory_equal("fifteen letters", read.feed.body_hash, 16);
    assert_true(read.feed.next_fetch_at == TIME_UNKNOWN);
    assert_int_equal(LEVEL_EXACT, read.feed.level);
    assert_int_equal(UINT32_MAX, read.feed.hints.skip_hours);
    assert_int_equal(127, read.feed.hints.skip_days);
    assert_int_equal(FEED_GONE, read.feed.state);
    assert_true(read.fetched);
    assert_int_equal(INT64_C(1) << 40, read.feed.version);
    pg_get_columns(&a, 1, 0, PG_COLUMNS(odd), &arena, &read);
    assert_true(str_is_null(read.feed.title));
    assert_true(str_is_null(read.feed.credential)); /* '' in the table */
    assert_true(str_is_null(read.feed.etag));
    assert_true(str_eq(read.feed.last_modified, STR("\xc3\xa4 as it is")));
    assert_true(str_eq(pg_get_bytes(&a, 1, 4), STR("\xc3\xa4 as it is")));
    assert_false(read.feed.has_body_hash);
    assert_int_equal(0, read.feed.body_hash[0]);
    assert_int_equal(5, read.feed.next_fetch_at);
    assert_false(read.fetched);
    assert_int_equal(0, read.feed.hints.skip_days);
    link_end(&s);
}

static void test_columns__words_of_statements(void **state UNUSED)
{
    AUTO(buf_release) struct buf sql = BUF_INIT(BUF_ANY);

    pg_sql_names(&sql, saved + 1, 3);
    assert_string_equal("seq, sort_at, dated", sql.ptr);
    buf_reset(&sql);
    pg_sql_arrays(&sql, 4, saved + 4, 2);
    assert_string_equal("$4::bigint[], $5::bytea[]", sql.ptr);
    buf_reset(&sql);
    pg_sql_values(&sql, saved + 1, 2, true);
    assert_string_equal("seq = CASE WHEN t.seq < 4611686018427387904 THEN t.seq ELSE t.seq + l.seq"
                        " END, sort_at = t.sort_at",
                        sql.ptr);
}

/* Numbers of this transaction follow those of the log; older ones stay. */
static void test_columns__numbers_of_the_log(void **state UNUSED)
{
    struct server_link s = connected(PLAIN);
    AUTO(pg_params_release) struct pg_params p = {.n = 0};
    AUTO(buf_release) struct buf sql = BUF_INIT(BUF_ANY);
    struct entry_row old = {.seq = 40}, new = {.seq = NUMBERS_HERE + 2};
    const void *rows[] = {&old, &new};
    struct pg_answer a;

    script_ok(
        s.l,
        "CREATE TEMP TABLE log (one boolean, last_seq bigint, last_at_us bigint, version bigint);"
        "INSERT INTO log VALUES (true, 103, 0, 0)"); /* after three new ones */
    buf_puts(&sql, "SELECT ");
    pg_sql_values(&sql, saved + 1, 1, false);
    buf_puts(&sql, " FROM " PG_SQL_LOG ", unnest(");
    pg_sql_arrays(&sql, 4, saved + 1, 1);
    buf_puts(&sql, ") AS t (seq)");
    for (int i = 0; i < 3; i++)
        pg_put_int(&p, NUMBERS_HERE + 3);
    pg_put_columns(&p, saved + 1, 1, rows, 2);
    pg_queue(s.l, sql.ptr, &p, "i", &a);
    run_ok(s.l);
    assert_int_equal(40, pg_get_int(&a, 0, 0));
    assert_int_equal(102, pg_get_int(&a, 1, 0));
    link_end(&s);
}

#define T(name) cmocka_unit_test(test_columns__##name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_is_written_is_read),
        T(words_of_statements),
        T(numbers_of_the_log),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

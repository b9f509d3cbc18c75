/* The grammar of positions: one table of cases. */
#include "../cmocka_all.h"

#include "api/views/cursor_spec.h"
#include "base/compiler.h"

#define LOG "0f1e2d3c-1111-4222-8333-444455556666"
#define END 1000 /* the log's last seq */
#define S INT64_C(1000000)

static const struct cursor_log log_ = {.id = {LOG, sizeof LOG - 1}, .last_seq = END};
static struct arena arena;

/* who reads: GET /log, POST /sub, GET /smart */
#define PULL (CURSOR_TAKES_PLAIN | CURSOR_TAKES_SEQ)
#define FROM CURSOR_TAKES_PLAIN
#define STREAM CURSOR_TAKES_ITEMS
#define WRONG (-1)

static const struct {
    const char *text;
    unsigned forms;
    int kind;
    int64_t seq, from_us, to_us;
} rows[] = {
    {NULL, PULL, CURSOR_NONE, 0, 0, 0},
    /* words */
    {"start", PULL, CURSOR_SEQ, 0, 0, 0},
    {"start", FROM, CURSOR_SEQ, 0, 0, 0},
    {"end", FROM, CURSOR_SEQ, END, 0, 0},
    {"start", STREAM, WRONG, 0, 0, 0},
    {"end", STREAM, WRONG, 0, 0, 0},
    /* cursors of this log, of another one, and from beyond the end of ours (D25) */
    {"fm1.0f1e2d3c.42.1700000000123456", PULL, CURSOR_SEQ, 42, 0, 0},
    {"fm1.0f1e2d3c.42.1700000000123456", FROM, CURSOR_SEQ, 42, 0, 0},
    {"cursor:fm1.0f1e2d3c.42.1700000000123456", STREAM, CURSOR_SEQ, 42, 0, 0},
    {"cursor:fm1.0f1e2d3c.42.1700000000123456", PULL, WRONG, 0, 0, 0},
    {"fm1.0f1e2d3c.42.1700000000123456", STREAM, WRONG, 0, 0, 0},
    {"fm1.ffffffff.42.1700000000123456", FROM, CURSOR_TIME, 0, 1700000000123456, 1700000000123456},
    {"fm1.0f1e2d3c.1001.1700000000123456", FROM, CURSOR_TIME, 0, 1700000000123456,
     1700000000123456},
    {"cursor:fm1.ffffffff.42.5", STREAM, CURSOR_TIME, 0, 5, 5},
    {"fm1.0f1e2d3.42.7", PULL, CURSOR_TIME, 0, 7, 7}, /* too few digits: not ours */
    /* before the first item (D27) */
    {"cursor:", STREAM, CURSOR_SEQ, 0, 0, 0},
    {"cursor:", PULL, WRONG, 0, 0, 0},
    /* time, index and checksum of another server */
    {"cursor:1700000000_2_4294967295", STREAM, CURSOR_GROUP, 0, 1700000000 * S,
     1700000000 * S + 999999},
    {"cursor:1700000000_2_4294967296", STREAM, WRONG, 0, 0, 0},
    {"cursor:1700000000_-2_1", STREAM, WRONG, 0, 0, 0},
    {"cursor:1700000000_2", STREAM, WRONG, 0, 0, 0},
    {"cursor:1700000000_2_1", PULL, WRONG, 0, 0, 0},
    {"cursor:x", STREAM, WRONG, 0, 0, 0},
    /* numbers */
    {"17", PULL, CURSOR_SEQ, 17, 0, 0},
    {"1000", PULL, CURSOR_SEQ, 1000, 0, 0},
    {"1001", PULL, WRONG, 0, 0, 0}, /* after the end of the log */
    {"1001", FROM, CURSOR_TIME, 0, 1001 * S, 1001 * S + 999999},
    {"17", STREAM, WRONG, 0, 0, 0},
    {"time:17", PULL, CURSOR_TIME, 0, 17 * S, 17 * S + 999999},
    {"time:0", STREAM, CURSOR_TIME, 0, 0, 999999},
    {"time:253402300799", STREAM, CURSOR_TIME, 0, 253402300799 * S, 253402300799 * S + 999999},
    {"time:253402300800", STREAM, WRONG, 0, 0, 0},
    {"time:", STREAM, WRONG, 0, 0, 0},
    {"time:-1", PULL, WRONG, 0, 0, 0},
    /* dates */
    {"2023-11-14T22:13:20Z", FROM, CURSOR_TIME, 0, 1700000000 * S, 1700000000 * S + 999999},
    {"time:2023-11-14T22:13:20Z", STREAM, CURSOR_TIME, 0, 1700000000 * S, 1700000000 * S + 999999},
    {"2023-11-14t22:13:20.25z", FROM, CURSOR_TIME, 0, 1700000000250000, 1700000000250000},
    {"2023-11-15T00:13:20+02:00", FROM, CURSOR_TIME, 0, 1700000000 * S, 1700000000 * S + 999999},
    {"2023-11-15T00:13:20 02:00", FROM, CURSOR_TIME, 0, 1700000000 * S, 1700000000 * S + 999999},
    {"2023-11-14T17:13:20-05:00", PULL, CURSOR_TIME, 0, 1700000000 * S, 1700000000 * S + 999999},
    {"2023-11-14", FROM, CURSOR_TIME, 0, 1699920000 * S, 1699920000 * S + 999999},
    {"2023-13-14T22:13:20Z", FROM, WRONG, 0, 0, 0},
    {"2023-11-14T22:13:20", FROM, WRONG, 0, 0, 0},
    {"2023-11-14T22:13:20Zx", FROM, WRONG, 0, 0, 0},
    {"2023-11-14T22:13", FROM, WRONG, 0, 0, 0},
    {"2023-11-14", STREAM, WRONG, 0, 0, 0},
    /* items */
    {"id:urn:x:1", STREAM, CURSOR_ITEM, 0, 0, 0},
    {"id:", STREAM, WRONG, 0, 0, 0},
    {"id:urn:x:1", PULL, WRONG, 0, 0, 0},
    /* nonsense */
    {"", FROM, WRONG, 0, 0, 0},
    {"yesterday", FROM, WRONG, 0, 0, 0},
    {"yesterday", STREAM, WRONG, 0, 0, 0},
    {"place:1", STREAM, WRONG, 0, 0, 0},
    {"-1", FROM, WRONG, 0, 0, 0},
    {"1.5", FROM, WRONG, 0, 0, 0},
    {"fm1.", FROM, WRONG, 0, 0, 0},
    {"fm1.0f1e2d3c", FROM, WRONG, 0, 0, 0},
    {"fm1.0f1e2d3c.1", FROM, WRONG, 0, 0, 0},
    {"fm1.0f1e2d3c.x.1", FROM, WRONG, 0, 0, 0},
    {"fm1.0f1e2d3c.-1.1", FROM, WRONG, 0, 0, 0},
    {"fm1.0f1e2d3c.1.99999999999999999999", FROM, WRONG, 0, 0, 0},
    {"99999999999999999999", FROM, WRONG, 0, 0, 0},
    {"999999999999999", FROM, WRONG, 0, 0, 0},
};

static void test_cursor_spec__grammar(void **state UNUSED)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str text = str_from(rows[i].text);
        struct cursor_spec got;
        struct problem p;
        bool ok = cursor_spec_read(&arena, "since", text, rows[i].forms, &log_, &got, &p);

        if (!ok) {
            assert_int_equal(PROBLEM_BAD_POSITION, p.kind);
            assert_str(p.parameter, "since");
        }
        if ((ok ? (int)got.kind : WRONG) != rows[i].kind)
            fail_msg("row %zu, %s: kind %d", i, rows[i].text, ok ? (int)got.kind : WRONG);
        if (!ok || got.kind == CURSOR_NONE)
            continue;
        assert_true(str_eq(got.given, text));
        if (got.kind == CURSOR_SEQ && got.seq != rows[i].seq)
            fail_msg("row %zu, %s: seq %lld", i, rows[i].text, (long long)got.seq);
        if ((got.kind == CURSOR_TIME || got.kind == CURSOR_GROUP) &&
            (got.from_us != rows[i].from_us || got.to_us != rows[i].to_us))
            fail_msg("row %zu, %s: %lld to %lld", i, rows[i].text, (long long)got.from_us,
                     (long long)got.to_us);
    }
}

static void test_cursor_spec__parts(void **state UNUSED)
{
    struct cursor_spec got;
    struct problem p;

    assert_true(cursor_spec_read(&arena, "since", STR("cursor:7_2_99"), STREAM, &log_, &got, &p));
    assert_int_equal(2, got.offset);
    assert_int_equal(99, got.check);
    assert_str(got.token, "7_2_99");
    assert_true(cursor_spec_read(&arena, "since", STR("id:a:b"), STREAM, &log_, &got, &p));
    assert_str(got.id, "a:b");
    assert_true(str_is_null(got.token));
}

static void test_cursor_spec__what_is_written_is_read(void **state UNUSED)
{
    char text[CURSOR_TEXT];
    struct cursor_spec got;
    struct problem p;

    cursor_write(text, STR(LOG), 42, 1700000000123456);
    assert_true(cursor_spec_read(&arena, "since", str_from(text), FROM, &log_, &got, &p));
    assert_int_equal(CURSOR_SEQ, got.kind);
    assert_int_equal(42, got.seq);
    cursor_write(text, STR(LOG), INT64_MAX, INT64_MAX);
    assert_true(strlen(text) < CURSOR_TEXT - 1);
}

static int release(void **state UNUSED)
{
    arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cursor_spec__grammar),
        cmocka_unit_test(test_cursor_spec__parts),
        cmocka_unit_test(test_cursor_spec__what_is_written_is_read),
    };

    return cmocka_run_group_tests_name("cursor_spec", tests, NULL, release);
}

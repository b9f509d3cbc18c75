#include "../cmocka_all.h"

#include "api/cursor.h"
#include "base/compiler.h"

#define LOG "0f1e2d3c-1111-4222-8333-444455556666"

static struct arena arena;

static bool read_it(const char *text, bool allow_seq, struct position *pos)
{
    struct problem p;
    bool ok = position_read(&arena, "since", str_from(text), STR(LOG), 1000, allow_seq, pos, &p);

    if (!ok) {
        assert_int_equal(PROBLEM_BAD_POSITION, p.kind);
        assert_str(p.parameter, "since");
    }
    return ok;
}

static void test_cursor__comes_back(void **state)
{
    char text[CURSOR_TEXT];
    struct position pos;

    (void)state;
    cursor_write(text, STR(LOG), 42, 1700000000123456);
    assert_true(read_it(text, false, &pos));
    assert_int_equal(POSITION_SEQ, pos.kind);
    assert_int_equal(42, pos.seq);
    cursor_write(text, STR(LOG), INT64_MAX, INT64_MAX);
    assert_true(strlen(text) < CURSOR_TEXT - 1);
}

/* D25: another log's cursor, and one from beyond the end of ours (a restored backup) */
static void test_cursor__foreign_counts_by_its_time(void **state)
{
    char text[CURSOR_TEXT];
    struct position pos;

    (void)state;
    cursor_write(text, STR("ffffffff-1111-4222-8333-444455556666"), 42, 1700000000123456);
    assert_true(read_it(text, false, &pos));
    assert_int_equal(POSITION_TIME, pos.kind);
    assert_true(pos.at_us == 1700000000123456);
    cursor_write(text, STR(LOG), 1001, 1700000000123456);
    assert_true(read_it(text, false, &pos));
    assert_int_equal(POSITION_TIME, pos.kind);
}

static void test_cursor__times(void **state)
{
    static const struct {
        const char *text;
        int64_t at_us;
    } rows[] = {{"1700000000", 1700000000000000},
                {"time:1700000000", 1700000000000000},
                {"2023-11-14T22:13:20Z", 1700000000000000},
                {"time:2023-11-14T22:13:20Z", 1700000000000000},
                {"2023-11-14t22:13:20.25z", 1700000000250000},
                {"2023-11-15T00:13:20+02:00", 1700000000000000},
                {"2023-11-15T00:13:20 02:00", 1700000000000000},
                {"2023-11-14T17:13:20-05:00", 1700000000000000},
                {"2023-11-14", 1699920000000000}};
    struct position pos;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (!read_it(rows[i].text, false, &pos) || pos.kind != POSITION_TIME ||
            pos.at_us != rows[i].at_us)
            fail_msg("%s", rows[i].text);
    }
}

static void test_cursor__words_and_seqs(void **state)
{
    struct position pos;

    (void)state;
    assert_true(read_it("start", false, &pos));
    assert_int_equal(0, pos.seq);
    assert_true(read_it("end", false, &pos));
    assert_int_equal(1000, pos.seq);
    assert_true(read_it("17", true, &pos));
    assert_int_equal(POSITION_SEQ, pos.kind);
    assert_int_equal(17, pos.seq);
    assert_true(read_it("1000", true, &pos));
    assert_false(read_it("1001", true, &pos)); /* the log ends before */
    assert_true(read_it("1001", false, &pos)); /* a time */
    assert_true(read_it("time:17", true, &pos));
    assert_int_equal(POSITION_TIME, pos.kind);
}

static void test_cursor__nonsense_is_refused(void **state)
{
    static const char *const rows[] = {"",
                                       "yesterday",
                                       "-1",
                                       "1.5",
                                       "time:",
                                       "fm1.",
                                       "fm1.0f1e2d3c",
                                       "fm1.0f1e2d3c.1",
                                       "fm1.0f1e2d3c.x.1",
                                       "fm1.0f1e2d3c.-1.1",
                                       "fm1.0f1e2d3c.1.99999999999999999999",
                                       "2023-13-14T22:13:20Z",
                                       "2023-11-14T22:13:20",
                                       "2023-11-14T22:13:20Zx",
                                       "2023-11-14T22:13",
                                       "99999999999999999999",
                                       "999999999999999"};
    struct position pos;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (read_it(rows[i], false, &pos))
            fail_msg("%s", rows[i]);
}

static int release(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cursor__comes_back),
        cmocka_unit_test(test_cursor__foreign_counts_by_its_time),
        cmocka_unit_test(test_cursor__times),
        cmocka_unit_test(test_cursor__words_and_seqs),
        cmocka_unit_test(test_cursor__nonsense_is_refused),
    };

    return cmocka_run_group_tests_name("cursor", tests, NULL, release);
}

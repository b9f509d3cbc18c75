/* tests/unit/api/test_positions.c - what texts that name a position mean: the table of positions.h.
 */
#include "../cmocka_all.h"

#include <inttypes.h>

#include "api/views/cursor_spec.h"
#include "base/compiler.h"
#include "tests/unit/api/positions.h"

static const struct cursor_log log_ = {.id = {LOG, sizeof LOG - 1}, .last_seq = LAST_SEQ};
static struct arena arena;

/* A parameter of /smart; null: refused. */
static struct str stream_meaning(const char *text)
{
    struct problem p;
    struct cursor_spec at;

    if (!cursor_spec_read(&arena, "since", str_from(text), CURSOR_TAKES_ITEMS, &log_, &at, &p)) {
        assert_int_equal(PROBLEM_BAD_POSITION, p.kind);
        assert_str(p.parameter, "since");
        return STR_NULL;
    }
    switch (at.kind) {
    case CURSOR_SEQ:
        return str_printf(&arena, "seq %" PRId64, at.seq);
    case CURSOR_TIME:
        return str_printf(&arena, "time %" PRId64 " %" PRId64, at.from_us, at.to_us);
    case CURSOR_GROUP:
        assert_int_equal(at.from_us + 999999, at.to_us);
        return str_printf(&arena, "group %" PRId64 " %" PRId64 " %" PRIu32, at.from_us / 1000000,
                          at.offset, at.check);
    case CURSOR_ITEM:
        return str_printf(&arena, "id %.*s", STR_ARG(at.id));
    case CURSOR_NONE:
        break;
    }
    return STR("none");
}

/* A parameter of /log. */
static struct str log_meaning(const char *text)
{
    struct problem p;
    struct cursor_spec at;

    if (!cursor_spec_read(&arena, "from", str_from(text), CURSOR_TAKES_PLAIN, &log_, &at, &p)) {
        assert_int_equal(PROBLEM_BAD_POSITION, p.kind);
        assert_str(p.parameter, "from");
        return STR_NULL;
    }
    return at.kind == CURSOR_SEQ ? str_printf(&arena, "seq %" PRId64, at.seq)
                                 : str_printf(&arena, "time %" PRId64, at.from_us);
}

static void compare(const char *text, struct str got, const char *wanted)
{
    if (wanted == NULL ? !str_is_null(got) : !str_eqz(got, wanted))
        fail_msg("\"%s\": got \"%.*s\", wanted \"%s\"", text, STR_ARG(got),
                 wanted == NULL ? "a refusal" : wanted);
}

static void test_positions__of_streams(void **state UNUSED)
{
    for (size_t i = 0; i < ARRAY_LEN(positions); i++)
        compare(positions[i].text, stream_meaning(positions[i].text), positions[i].stream);
}

static void test_positions__of_the_log(void **state UNUSED)
{
    for (size_t i = 0; i < ARRAY_LEN(positions); i++)
        compare(positions[i].text, log_meaning(positions[i].text), positions[i].log);
}

static void test_positions__absent_is_none(void **state UNUSED)
{
    struct problem p;
    struct cursor_spec at;

    assert_true(cursor_spec_read(&arena, "since", STR_NULL, CURSOR_TAKES_ITEMS, &log_, &at, &p));
    assert_int_equal(CURSOR_NONE, at.kind);
}

/* What cursor_write() makes is understood by both. */
static void test_positions__our_own_cursors_come_back(void **state UNUSED)
{
    static const int64_t seqs[] = {0, 1, 999, LAST_SEQ};
    char cursor[CURSOR_TEXT], typed[CURSOR_TEXT + 8], wanted[32];

    for (size_t i = 0; i < ARRAY_LEN(seqs); i++) {
        cursor_write(cursor, STR(LOG), seqs[i], 1700000000123456);
        snprintf(typed, sizeof typed, "cursor:%s", cursor);
        snprintf(wanted, sizeof wanted, "seq %" PRId64, seqs[i]);
        compare(typed, stream_meaning(typed), wanted);
        compare(cursor, log_meaning(cursor), wanted);
    }
}

static int release(void **state UNUSED)
{
    arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_positions__of_streams),
        cmocka_unit_test(test_positions__of_the_log),
        cmocka_unit_test(test_positions__absent_is_none),
        cmocka_unit_test(test_positions__our_own_cursors_come_back),
    };

    return cmocka_run_group_tests_name("positions", tests, NULL, release);
}

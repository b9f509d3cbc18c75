
#include "base/clock.h"
#include "base/compiler.h"
#include "feed/text/date.h"
#include "tests/unit/cmocka_all.h"

struct row {
    const char *text, *utc; /* RFC 3339; NULL: no date */
};

static void check(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char text[CLOCK_TEXT] = "none";
        int64_t at;

        if (date_parse(str_from(rows[i].text), &at))
            clock_rfc3339(at, text);
        if (strcmp(text, rows[i].utc == NULL ? "none" : rows[i].utc) != 0)
            fail_msg("\"%s\" read as %s", rows[i].text, text);
    }
}

static void test_date__rfc822_and_its_liberties(void **state UNUSED) /* OBJ-07 */
{
    static const struct row rows[] = {
        {"Tue, 03 Jun 2003 09:39:21 GMT", "2003-06-03T09:39:21Z"},
        {"Thu, 01 Jan 2004 19:48:21 +0130", "2004-01-01T18:18:21Z"},
        {"Thu, 1 Jan 04 19:48:21 EST", "2004-01-02T00:48:21Z"},
        {"01 January 2004 19:48 -05:00", "2004-01-02T00:48:00Z"},
        {"Mon, 21 Jan 2008 8:56 am PST", "2008-01-21T16:56:00Z"},
        {"Fri,  7 Apr 2006 12:00:00  PM PDT", "2006-04-07T19:00:00Z"},
        {"Thu, 31 Jun 2004 19:48:21 GMT", NULL},
        {"31 Dec 1999", "1999-12-31T00:00:00Z"},
        {"Thu, 31 Dec 98 24:00:00 Z", "1999-01-01T00:00:00Z"},
        {"Jan 1, 2004", "2004-01-01T00:00:00Z"},
        {"Tue, 003 Jun 2003 09:39:21 GMT", "2003-06-03T09:39:21Z"},
        {"Tue, 03 Jun 2003 012:039:021 GMT", "2003-06-03T12:39:21Z"},
        {"2003-06-03T012:39:21Z", "2003-06-03T12:39:21Z"},
        {"Tue, 03 Jun 2003 112:39:21 GMT", NULL},
        {"Thu 01 Mai 2008 10:00:00 +0200", "2008-05-01T08:00:00Z"},
    };

    check(rows, ARRAY_LEN(rows));
}

static void test_date__asctime_and_date_command(void **state UNUSED)
{
    static const struct row rows[] = {
        {"Sun Jan  4 16:29:06 2004", "2004-01-04T16:29:06Z"},
        {"Sun Jan  4 16:29:06 PST 2004", "2004-01-05T00:29:06Z"},
    };

    check(rows, ARRAY_LEN(rows));
}

static void test_date__iso_forms(void **state UNUSED)
{
    static const struct row rows[] = {
        {"2003-12-31T10:14:55Z", "2003-12-31T10:14:55Z"},
        {"2003-12-31T10:14:55.25-08:00", "2003-12-31T18:14:55Z"},
        {"2003-12-31 10:14", "2003-12-31T10:14:00Z"},
        {"2003-12-31", "2003-12-31T00:00:00Z"},
        {"2003-12", "2003-12-01T00:00:00Z"},
        {"2003", "2003-01-01T00:00:00Z"},
        {"20031231T101455", "2003-12-31T10:14:55Z"},
        {"2003-335", "2003-12-01T00:00:00Z"},
        {"2003-13-01", NULL},
        {"2003-02-29", NULL},
        {"2004-02-29t00:00:00z", "2004-02-29T00:00:00Z"},
        {"2020/1/10 14:33:00", "2020-01-10T14:33:00Z"},
    };

    check(rows, ARRAY_LEN(rows));
}

static void test_date__other_dialects(void **state UNUSED)
{
    static const struct row rows[] = {
        {"01/31/2004 10:00:00 PM", "2004-01-31T22:00:00Z"},
        {"31.01.2004 10:00", "2004-01-31T10:00:00Z"},
        {"2004년 05월 28일  01:31:15", "2004-05-27T16:31:15Z"},
        {"2004-05-25 오후 11:23:17", "2004-05-25T14:23:17Z"},
        {"Κυρ, 11 Ιούλ 2004 12:00:00 EST", "2004-07-11T17:00:00Z"},
        {"2004-július-13T9:15-05:00", "2004-07-13T14:15:00Z"},
        {"1081310400", "2004-04-07T04:00:00Z"},
    };

    check(rows, ARRAY_LEN(rows));
}

static void test_date__no_date_is_refused(void **state UNUSED)
{
    static const struct row rows[] = {
        {"", NULL},           {"yesterday", NULL},   {"12:30", NULL},
        {"0000-01-01", NULL}, {"99999999999", NULL}, {"Mon, 99 Foo 2004", NULL},
    };

    check(rows, ARRAY_LEN(rows));
}

static void test_date__nine_numbers(void **state UNUSED) /* OBJ-07 */
{
    static const int64_t want[] = {2003, 6, 3, 9, 39, 21, 1, 154, 0};
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct value *nine;
    int64_t at;

    assert_true(date_parse(STR("Tue, 03 Jun 2003 09:39:21 GMT"), &at));
    nine = date_nine(&a, at);
    assert_int_equal(value_len(nine), 9);
    for (size_t i = 0; i < 9; i++)
        assert_int_equal(value_at(nine, i)->i, want[i]);
    assert_int_equal(date_of_nine(nine), at);
    nine->items[5] = value_int(&a, -1);
    assert_true(date_of_nine(nine) == TIME_UNKNOWN);
    assert_true(date_of_nine(NULL) == TIME_UNKNOWN);
}

static void test_date__short_iso_weeks_and_perforce(void **state UNUSED)
{
    static const struct row rows[] = {
        {"031231", "2003-12-31T00:00:00Z"},
        {"93-12-31T10:14Z", "1993-12-31T10:14:00Z"},
        {"03335", "2003-12-01T00:00:00Z"},
        {"03-335", "2003-12-01T00:00:00Z"},
        {"-0312", "2003-12-01T00:00:00Z"},
        {"-03-12", "2003-12-01T00:00:00Z"},
        {"200312", "2003-12-01T00:00:00Z"},
        {"2004-W05-1", "2004-01-26T00:00:00Z"},
        {"2009W537", "2010-01-03T00:00:00Z"},
        {"2004-W54-1", NULL},
        {"Fri, 2006/09/15 08:19:53 EDT", "2006-09-15T12:19:53Z"},
        {"2003-12-31T10:14:60Z", "2003-12-31T10:15:00Z"},
        {"2003-12-31T10:14:61Z", NULL},
    };

    check(rows, ARRAY_LEN(rows));
}

/* "mar." is March, unless a month follows: then it was a Tuesday. */
static void test_date__words_of_other_languages(void **state UNUSED)
{
    static const struct row rows[] = {
        {"mar., 05 oct. 2004 10:00:00 +0200", "2004-10-05T08:00:00Z"},
        {"mar, 05 ottobre 2004", "2004-10-05T00:00:00Z"},
        {"Mar 05 2004 10:00:00 MST", "2004-03-05T17:00:00Z"},
        {"5 agosto 2004", "2004-08-05T00:00:00Z"},
        {"Пн, 26 янв 2004 16:31:00 +0300", "2004-01-26T13:31:00Z"},
        {"26 января 2004, 16:31", "2004-01-26T16:31:00Z"},
        {"2004年1月26日 16:31", "2004-01-26T16:31:00Z"},
        {"2004年1月26日", "2004-01-26T00:00:00Z"},
        {"Mon, 26 Jan 2004 16.31.00 GMT", "2004-01-26T16:31:00Z"},
    };

    check(rows, ARRAY_LEN(rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_date__short_iso_weeks_and_perforce),
        cmocka_unit_test(test_date__words_of_other_languages),
        cmocka_unit_test(test_date__rfc822_and_its_liberties),
        cmocka_unit_test(test_date__asctime_and_date_command),
        cmocka_unit_test(test_date__iso_forms),
        cmocka_unit_test(test_date__other_dialects),
        cmocka_unit_test(test_date__no_date_is_refused),
        cmocka_unit_test(test_date__nine_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

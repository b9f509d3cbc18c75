/* tests/fuzz/fuzz_date.c - any text as a date: what is understood lies in the years 1 to 9999, does
 * not depend on what stands around it, and is the same after it was written out. */
#include <stdint.h>

#include "base/assert.h"
#include "base/clock.h"
#include "feed/text/date.h"
#include "tests/fuzz/bound.h"

#define YEAR_1 (-62135596800)
#define YEAR_9999_ENDS 253402300799
#define MEMORY_PER_BYTE 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The nine numbers: each in its range, and the same second again. */
static void check_nine(struct arena *a, int64_t at)
{
    static const int64_t least[] = {1, 1, 1, 0, 0, 0, 0, 1, 0};
    static const int64_t most[] = {9999, 12, 31, 23, 59, 59, 6, 366, 0};
    struct value *nine = date_nine(a, at);

    ASSERT(value_len(nine) == 9);
    for (size_t i = 0; i < 9; i++) {
        const struct value *part = value_at(nine, i);

        ASSERT(part->kind == VAL_INT && part->i >= least[i] && part->i <= most[i]);
    }
    ASSERT(date_of_nine(nine) == at);
    /* 0001-01-01 was a Monday, as the calendar is counted back */
    ASSERT(value_at(nine, 6)->i == (at - YEAR_1) / 86400 % 7);
}

static void check_written_again(struct arena *a, int64_t at)
{
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct civil c = clock_civil(at);
    char text[CLOCK_TEXT];
    struct str s;
    int64_t again;

    clock_rfc3339(at, text);
    ASSERT(date_parse(str_from(text), &again) && again == at);
    s = str_printf(a, "%d %s %04d %02d:%02d:%02d +0000", c.day, months[c.month - 1], (int)c.year,
                   c.hour, c.minute, c.second);
    ASSERT(date_parse(s, &again) && again == at);
    if (at >= YEAR_1 + 86400) { /* the same moment, an hour and a half east of here */
        struct civil east = clock_civil(at + 5400 > YEAR_9999_ENDS ? at : at + 5400);

        s = str_printf(a, "%04d-%02d-%02dT%02d:%02d:%02d%s", (int)east.year, east.month, east.day,
                       east.hour, east.minute, east.second,
                       at + 5400 > YEAR_9999_ENDS ? "Z" : "+01:30");
        ASSERT(date_parse(s, &again) && again == at);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct bound bound = bound_start(len);
    struct str text = str_of((const char *)data, len);
    int64_t at, again;

    if (date_parse(text, &at)) {
        struct str spaced = str_printf(&a, " \n%.*s\t ", STR_ARG(text));

        ASSERT(at >= YEAR_1 && at <= YEAR_9999_ENDS);
        if (str_chr(text, '\0') < 0)
            ASSERT(date_parse(spaced, &again) && again == at);
        check_nine(&a, at);
        check_written_again(&a, at);
    }
    bound_check_time(&bound);
    bound_check_memory(&bound, &a, MEMORY_PER_BYTE);
    return 0;
}

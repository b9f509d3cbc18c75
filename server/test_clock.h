/* server/test_clock.h - the clock of tests: seconds in a file are added to all clocks
 * (--test-clock).
 */
#pragma once

struct test_clock;

/* Read the file now, and then each second on a thread of its own, and log that this is so. Call it
 * before any loop is made. `path` is copied. Never fails: a file that is missing, empty or cannot
 * be read changes nothing. */
struct test_clock *test_clock_start(const char *path);

/* Read it no more. The clocks stay as far ahead as they are. NULL is allowed. */
void test_clock_stop(struct test_clock **tp);

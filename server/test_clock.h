/* server/test_clock.h - the clock of tests: what is added to all clocks is said by a file, or by
 * another program (--test-clock).
 *
 * At a socket of the file system another program leads. It writes lines with the seconds to add, at
 * most one before the answer to the one before. The answer is a line, too, when all is done that is
 * due: the Unix time, in seconds, at which the daemon will begin something by itself. So months pass
 * in a minute, and each request still comes at its second.
 */
#pragma once

struct fetcher;
struct test_clock;

/* Read the file now, and then each second on a thread of its own, and log that this is so; from a
 * socket, read the first line. Call it before any loop is made. `path` is copied. Never fails: a
 * file that is missing, empty or cannot be read changes nothing, and so does a socket where nobody
 * answers. */
struct test_clock *test_clock_start(const char *path);

/* The fetcher has been started: it begins what is due at once when the clocks jump. Follow the other program, if there
 * is one. NULL is allowed. */
void test_clock_follow(struct test_clock *t, struct fetcher *f);

/* Read it no more. The clocks stay as far ahead as they are. Call it before the fetcher stops. NULL
 * is allowed. */
void test_clock_stop(struct test_clock **tp);

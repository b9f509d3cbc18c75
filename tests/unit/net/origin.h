/* tests/unit/net/origin.h - a scripted HTTP server and a name server, on loopback, for tests.
 *
 * The path of a request says what is answered; see origin.c. Threads of their own; errors of the
 * system abort the test.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct origin;

struct origin *origin_new(void);
void origin_free(struct origin **op);
int origin_port(const struct origin *o);

/* Requests read so far; the largest number of connections at once; the text of the last request
 * (valid until the next call from this thread). */
int origin_requests(struct origin *o);
int origin_most(struct origin *o);
const char *origin_last(struct origin *o);

/* A name server: "a.test" has 127.0.0.1, "two.test" 127.0.0.3 (where nothing listens) and
 * 127.0.0.1, "inside.test" 10.0.0.1, "mixed.test" 10.0.0.1 and 127.0.0.1; other names do not
 * exist, and "mute.test" is not answered. */
struct names;
struct names *names_new(void);
void names_free(struct names **np);
int names_port(const struct names *n);
int names_questions(struct names *n);

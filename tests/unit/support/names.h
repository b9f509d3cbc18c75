/* tests/unit/support/names.h - a name server (DNS) on the loopback, for tests.
 *
 * "a.test" has the address 127.0.0.1, "two.test" has 127.0.0.3 (where nothing listens) and
 * 127.0.0.1, "inside.test" 10.0.0.1, "mixed.test" 10.0.0.1 and 127.0.0.1. Other names do not exist.
 * A question for "mute.test" is not answered. Errors of the system abort the test.
 */
#pragma once

struct names;

struct names *names_new(void);
void names_free(struct names **np);
int names_port(const struct names *n);

/* Returns the number of questions so far. */
int names_questions(struct names *n);

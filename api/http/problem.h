/* api/http/problem.h - describes what was wrong with a request, as in RFC 9457
 * (application/problem+json). Pure.
 *
 * A problem says what was wrong, which value was wrong, and what would be right. Values that may
 * contain a URL are shown in their public form, so a password is never shown.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "model/access.h"

#define PROBLEM_TYPE "urn:feedmill:problem:" /* the name of the kind follows */

enum problem_kind {
#define PROBLEM(kind, name, status, title) PROBLEM_##kind,
#include "api/http/problems.def"
#undef PROBLEM
    PROBLEM_COUNT_
};

struct problem {
    enum problem_kind kind;
    int status; /* 0: that of the kind */
    struct str detail;
    struct str parameter; /* null: no parameter is wrong; so for the next two */
    struct str value;
    bool has_at;         /* `at` is known */
    size_t at;           /* the character of the value that is wrong, from 0 */
    const char *allowed; /* alternatives, separated by '|' */
    const char *role;    /* that is needed; NULL */
    struct str horizon;  /* the cursor from which all that is kept follows; null */
    struct str request;  /* the id of the request; null */
    struct str upstream; /* public URL of the publisher; null */
    int upstream_status; /* its HTTP status; 0: it gave none */
    int retry_after_s;   /* > 0: field Retry-After */
    struct str fields;   /* other fields, as complete lines; or null */
};

/* Set *p to a kind and a sentence, in the arena. Always returns false, so that a check can end with
 * `return problem_set(...)`. */
bool problem_set(struct problem *p, struct arena *a, enum problem_kind kind, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* The same for a parameter. `value` is shown in its public form, cut to a useful length. It is
 * added to the sentence, unless the sentence has it already. */
bool problem_parameter(struct problem *p, struct arena *a, const char *parameter, struct str value,
                       const char *allowed, const char *fmt, ...) PRINTF_LIKE(6, 7);

/* Set *p to: this role is needed, and the caller has that one. */
bool problem_role(struct problem *p, struct arena *a, enum access_role needed,
                  enum access_role has);

/* Set *p to what an error of storage or of a port means to the caller. Causes inside the server are
 * not told, because they may name files; the caller of this function must log them. */
void problem_of_err(struct problem *p, struct arena *a, enum rc rc, const struct err *err);

int problem_status(const struct problem *p);

/* Returns the kind's name: "no-feed"; its title: "There is no feed at the address". */
const char *problem_name(enum problem_kind kind);
const char *problem_title(enum problem_kind kind);

/* Write the problem as a JSON object. */
void problem_write(struct buf *out, const struct problem *p);

/* model/fetch_secrets.h - what is sent with the fetches of one feed, and with nothing else: fields,
 * a user agent, a cookie, a Bearer token, a proxy.
 *
 * All values are SECRET: no error, log or answer has them. Their names may be shown. They are set
 * by parameters of a request, and stored as text: a line "name=value" each, after "home=URL". Pure,
 * any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define FETCH_FIELDS_MAX 8                       /* of one feed, by fetch_header.NAME */
#define FETCH_SECRETS_MAX (FETCH_FIELDS_MAX + 4) /* of one feed, all together */
#define FETCH_NAME_MAX 64                        /* bytes of the NAME of a field */
#define FETCH_VALUE_MAX 4096                     /* bytes of a value: a cookie is the longest */

#define FETCH_FIELD_PREFIX "fetch_header."

struct fetch_secret {
    struct str name;  /* "cookie", "bearer", "user_agent", "proxy", "fetch_header.NAME" */
    struct str value; /* never empty. SECRET */
};

struct fetch_secrets {
    struct str home; /* canonical URL for which they were given: they go to its origin alone */
    /* in the order in which they were set first */
    struct fetch_secret all[FETCH_SECRETS_MAX];
    size_t n;
};

/* Is it the name of a parameter of this kind? Its value, and the NAME of a field, may yet be wrong.
 */
bool fetch_secrets_has_name(struct str name);

/* Set one, in place of the one with the same name (names of fields: in any case). An empty value
 * takes it away. Copies both into the arena. RC_INPUT, and RC_LIMIT for more than FETCH_FIELDS_MAX
 * fields: nothing changes, and *err says what would be right without the value. */
enum rc fetch_secrets_set(struct arena *a, struct fetch_secrets *s, struct str name,
                          struct str value, struct err *err) NODISCARD;

/* Do they fit together? RC_INPUT: a Bearer token and a field Authorization would be one field. */
enum rc fetch_secrets_check(const struct fetch_secrets *s, struct err *err) NODISCARD;

/* The value of one; null: it is not set. */
struct str fetch_secrets_value(const struct fetch_secrets *s, struct str name);

/* As text for the database, SECRET; empty when there are none. `home` must be set. And back: RC_INPUT: it is not such a
 * text; *err does not repeat it. */
struct str fetch_secrets_text(struct arena *a, const struct fetch_secrets *s);
enum rc fetch_secrets_read(struct arena *a, struct str text, struct fetch_secrets *out,
                           struct err *err) NODISCARD;

/* storage/pg/uri.h - the address of a PostgreSQL: postgresql://user:password@host1,host2/name.
 *
 * The password never leaves this struct but to libpq: pg_uri_shown() is for logs and messages, and
 * pg_uri_hide() takes secrets out of what a library says. (PostgreSQL's manual, 34.1.1.2)
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct pg_uri;

/* Is it such an address, by its scheme? Pure. */
bool pg_uri_is(struct str text);

/* Read it. RC_INPUT: libpq would not understand it, or it would take a part of the password for a
 * host, because a character is not encoded. */
enum rc pg_uri_read(const char *text, struct pg_uri **out, struct err *err) NODISCARD;
void pg_uri_free(struct pg_uri **up);

/* Who and where, without secrets: "user@host1:5432,host2/name". Borrowed. */
const char *pg_uri_shown(const struct pg_uri *u);

/* The lists that PQconnectdbParams() takes, each with a NULL at its end: what the address says,
 * the settings of a session, and how long a silent network is borne. `for_writing`: only a server
 * that takes writes. Borrowed until *u is freed; each call makes them anew. */
void pg_uri_parameters(struct pg_uri *u, bool for_writing, const char *const **keywords,
                       const char *const **values);

/* Overwrite in `text` whatever is a secret of this address. `password`: one from elsewhere that
 * libpq has used, or NULL. */
void pg_uri_hide(const struct pg_uri *u, const char *password, char *text);

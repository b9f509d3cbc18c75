/* storage/sealed.h - the secrets of feeds as the database and the directory have them: sealed, if
 * the daemon has a key (base/seal.h). Any thread. */
#pragma once

#include "base/seal.h"

/* A feed's own secrets (feed.secrets), sealed. */
struct str sealed_secret(struct arena *a, const struct seal_key *key, struct str secret);

/* A credential, sealed: feeds are found by it. An access key, which stands for the credential of a
 * feed, stays as it is. */
struct str sealed_credential(struct arena *a, const struct seal_key *key, struct str credential);

/* How the key is called in the database: it follows from the key, and tells nothing of it. Arena. */
struct str sealed_key_id(struct arena *a, const struct seal_key *key);

/* The feeds that have a secret which is sealed with another key, in any order, and perhaps more than once: their
 * ids are sorted. RC_DENIED: there are some, and *err says which, and what to do. */
enum rc sealed_check_others(int64_t *feed_ids, size_t n, struct err *err) NODISCARD;

/* `noted`: the key that the database was given before; null: none. RC_DENIED: it is another one than `ours`. */
enum rc sealed_check_noted(struct str noted, struct str ours, struct err *err) NODISCARD;

/* The database was given the key `noted` before, and this daemon has none: say so in the log. */
void sealed_warn_keyless(struct str noted);

/* Open either of them. Errors: as seal_open(). */
enum rc sealed_open(struct arena *a, const struct seal_key *key, struct str sealed, struct str *out,
                    struct err *err) NODISCARD;

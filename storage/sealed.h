/* storage/sealed.h - the secrets of feeds as the database and the directory have them: sealed, if
 * the daemon has a key (base/seal.h). Pure; any thread. */
#pragma once

#include "base/seal.h"

/* A feed's own secrets (feed.secrets), sealed. */
struct str sealed_secret(struct arena *a, const struct seal_key *key, struct str secret);

/* A credential, sealed: feeds are found by it. An access key, which stands for the credential of a
 * feed, stays as it is. */
struct str sealed_credential(struct arena *a, const struct seal_key *key, struct str credential);

/* Of `n` texts, so many are sealed with another key. RC_DENIED, and *err says what to do. RC_OK: none is. */
enum rc sealed_check_others(size_t n, struct err *err) NODISCARD;

/* Open either of them. Errors: as seal_open(). */
enum rc sealed_open(struct arena *a, const struct seal_key *key, struct str sealed, struct str *out,
                    struct err *err) NODISCARD;

/* base/digest.h - hashes, random bytes and constant-time comparison (libcrypto, xxHash).
 *
 * Call digest_init() once, before other threads start and before any other library uses OpenSSL.
 * After that any thread may call everything.
 */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/str.h"

#define DIGEST_SHA256_LEN 32

/* Choose the random seed of digest_seeded64(). Aborts if the system has no random bytes. */
void digest_init(void);

/* A hash for hash tables. Its seed is different in each process, so do not store it. */
uint64_t digest_seeded64(const void *p, size_t n);

/* A hash that says whether a document is the same as last time: XXH3, 128 bits, canonical byte
 * order. It is the same in all processes and may be stored. Not for secrets. */
void digest_content(struct str s, unsigned char out[16]);

/* SHA-256 of `s`. */
void digest_sha256(struct str s, unsigned char out[DIGEST_SHA256_LEN]);

/* SHA-256 of what comes in pieces. The end frees it, and sets it to NULL; without `out` it only does
 * that, and NULL is allowed. */
struct digest_run;
struct digest_run *digest_run_new(void);
void digest_run_add(struct digest_run *d, struct str s);
void digest_run_end(struct digest_run **dp, unsigned char out[DIGEST_SHA256_LEN]);

/* HMAC (RFC 2104) of `data` with `key`, for signatures. Writes the hash to `out` and returns its
 * length in bytes. */
enum digest_kind { DIGEST_SHA1, DIGEST_SHA256, DIGEST_SHA384, DIGEST_SHA512, DIGEST_KINDS_ };
#define DIGEST_MAX_LEN 64
size_t digest_hmac(enum digest_kind kind, struct str key, struct str data,
                   unsigned char out[DIGEST_MAX_LEN]);

/* The same for data in `n` parts, one after the other. */
size_t digest_hmac_parts(enum digest_kind kind, struct str key, const struct str *parts, size_t n,
                         unsigned char out[DIGEST_MAX_LEN]);

/* Write `n` bytes as lower-case hexadecimal digits and a NUL. `out` needs 2 * n + 1 bytes. */
void digest_hex(const unsigned char *p, size_t n, char *out);

/* Write `n` cryptographically strong random bytes. Aborts if the system has none. */
void digest_random(void *out, size_t n);

/* The UUID of `name` in the namespace `ns`: version 5 of RFC 9562, as 36 characters and a NUL. */
void digest_uuid5(const unsigned char ns[16], struct str name, char out[37]);

/* A random UUID: version 4, as 36 characters and a NUL. */
void digest_uuid4(char out[37]);

/* Are the `n` bytes the same? The time that this takes does not depend on where they differ, so it
 * is safe for secrets. */
bool digest_same(const void *a, const void *b, size_t n);

/* base/digest.h - hashes, random bytes and constant-time comparison (libcrypto, xxHash).
 *
 * Any thread; digest_init() once before threads start.
 */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/str.h"

#define DIGEST_SHA256_LEN 32

/* Draw the seed of digest_seeded64(). Aborts if the system has no randomness. */
void digest_init(void);

/* Hash of this process only: for hash tables. */
uint64_t digest_seeded64(const void *p, size_t n);

/* Stable content hash (XXH3, 128 bits, canonical byte order): "is this the same document as last
 * time". Not for secrets. */
void digest_content(struct str s, unsigned char out[16]);

void digest_sha256(struct str s, unsigned char out[DIGEST_SHA256_LEN]);

/* Keyed hashes (RFC 2104), for signatures: writes to `out` and returns how many bytes. */
enum digest_kind { DIGEST_SHA1, DIGEST_SHA256, DIGEST_SHA384, DIGEST_SHA512 };
#define DIGEST_MAX_LEN 64
size_t digest_hmac(enum digest_kind kind, struct str key, struct str data,
                   unsigned char out[DIGEST_MAX_LEN]);

/* Lower-case hex of n bytes into out[2n+1]. */
void digest_hex(const unsigned char *p, size_t n, char *out);

/* Cryptographically strong random bytes. Aborts if there are none. */
void digest_random(void *out, size_t n);

/* RFC 9562 name-based UUID, version 5, as 36 characters and a NUL, of `name` in the namespace of
 * 16 bytes `ns`. */
void digest_uuid5(const unsigned char ns[16], struct str name, char out[37]);

/* A random version 4 UUID. */
void digest_uuid4(char out[37]);

/* Compare secrets without telling where they differ. */
bool digest_same(const void *a, const void *b, size_t n);

/* base/seal.h - short secrets for the disk, sealed with a key.
 *
 * What is sealed can be read only with the key (AES-256-GCM, libcrypto), and is bound to a name of
 * its kind, so that one kind is not taken for another. It is a text: the byte 1, which no secret
 * has, and Base64 of the id of the key (8 bytes), a nonce (12), the ciphertext and its tag (16). The
 * nonce follows from kind, text and key. So a text that is sealed twice becomes the same, and what is
 * sealed can be looked for. Without a key a text stays as it is.
 *
 * The id follows from the key and tells nothing of it. All but seal_key_load(), which reads a file,
 * do no I/O. Any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define SEAL_KEY_LEN 32
#define SEAL_ID_LEN 8
#define SEAL_TEXT_MAX (64 * 1024) /* most bytes that can be sealed */

struct seal_key {
    unsigned char bytes[SEAL_KEY_LEN]; /* SECRET */
    unsigned char id[SEAL_ID_LEN];
};

/* Make a key of 64 hexadecimal digits or 44 characters of Base64, with white space around them or not,
 * or of exactly 32 bytes that are not all printable. RC_INPUT: it is something else; *err says what would be right, and never what was there. */
enum rc seal_key_read(struct str text, struct seal_key *out, struct err *err) NODISCARD;

/* Make a key of what is in a file. RC_IO: it cannot be read; RC_INPUT: as seal_key_read(). */
enum rc seal_key_load(const char *path, struct seal_key *out, struct err *err) NODISCARD;

/* Seal `text`, at most SEAL_TEXT_MAX bytes. As it is: without a key (NULL), when it is null or empty,
 * and when it is sealed already. */
struct str seal_text(struct arena *a, const struct seal_key *key, struct str kind,
                     struct str text);

/* Is it sealed, rather than in plain? */
bool seal_is_sealed(struct str text);

/* What all that this key has sealed begins with, and nothing that another key has. Arena. */
struct str seal_beginning(struct arena *a, const struct seal_key *key);

/* Open what seal_text() made; what is in plain stays as it is. RC_DENIED: it is sealed, and the key
 * is another one, or there is none. RC_INPUT: it was changed, or is of another kind. *err is a
 * sentence for the administrator. */
enum rc seal_open(struct arena *a, const struct seal_key *key, struct str kind, struct str text,
                  struct str *out, struct err *err) NODISCARD;

/* model/mirror.h - mirrored files: their states, where they are in the folder, and their URLs.
 * Pure.
 */
#pragma once

#include "base/arena.h"
#include "base/digest.h"
#include "base/str.h"

enum mirror_state {                 /* stored */
                    MIRROR_WAITING, /* it is to be fetched, perhaps once more */
                    MIRROR_STORED,
                    MIRROR_FAILED,  /* it could not be fetched, or may not be; it is not tried again
                                     */
                    MIRROR_DROPPED, /* it was stored, and had to make room */
};
const char *mirror_state_name(enum mirror_state state);

/* What a subscription says of its feeds (struct feed, mirror_from). */
#define MIRROR_KEEP 0   /* nothing */
#define MIRROR_OFF (-1) /* else: a number of the log from which on entries count */

#define MIRROR_KEY_LEN (2 * DIGEST_SHA256_LEN)

/* The key of a URL. In the arena. */
struct str mirror_key(struct arena *a, struct str url);

/* Is it a digest as mirror_path() takes it: 64 hexadecimal digits in lower case? */
bool mirror_is_digest(struct str s);

/* "DIR/ab/abcd...": where the file with this digest is. In the arena. */
struct str mirror_path(struct arena *a, struct str dir, struct str sha256);

/* A name for the file of a URL: the last part of its path, decoded, as mirror_name_safe() gives it. In the arena. */
struct str mirror_name(struct arena *a, struct str url);

/* The text, in which `_` stands for all that is not harmless in a quoted string, a file system or for people:
 * UTF-8, without controls, slashes and what turns the direction of writing; what is not UTF-8 becomes ASCII.
 * "file" for no text. At most 120 bytes, its end. In the arena. */
struct str mirror_name_safe(struct arena *a, struct str text);

/* The name as a part of a URL or of `filename*` (RFC 8187). In the arena. */
struct str mirror_name_encoded(struct arena *a, struct str name);

/* "ORIGIN/enclosure/SHA256/NAME". In the arena. */
struct str mirror_url(struct arena *a, struct str origin, struct str sha256, struct str url);

/* Does the list ("audio/" "*", "video/mp4", with commas) have this media type? Parameters of the
 * type do not count. */
bool mirror_has_type(struct str list, struct str type);

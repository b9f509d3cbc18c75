/* mirror/rules.h - the decisions about transfers: what an answer means, what follows from a try.
 * Pure.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "storage/mirrors.h"

#define MIRROR_TRY_S (7 * 86400) /* for how long a file is tried */
#define MIRROR_PAUSE_MAX_S 21600 /* the longest pause between two tries, ... */
#define MIRROR_REST_MAX_S 86400  /* ... if the origin does not ask for more, at most this */

/* The beginning of an answer. Strings are null where it has no such field. */
struct mirror_answer {
    int status;
    struct str length, range, coding, type, etag, modified, date;
};

/* What is there of the file already. */
struct mirror_part {
    int64_t size;         /* bytes; 0: nothing */
    struct str validator; /* with which it came: an entity tag or a date; null: none */
    struct str type;      /* as the answer said it with which it came */
};

struct mirror_limits {
    int64_t max_size; /* bytes of a file */
    struct str types; /* as mirror_has_type() takes them */
};

enum mirror_take {
    TAKE_WHOLE, /* the body is the file from its beginning: what is there is dropped */
    TAKE_REST,  /* the body follows what is there */
    TAKE_DONE,  /* what is there is the whole file already; the body does not count */
    TAKE_ANEW,  /* what is there is of no use, and has to be dropped; the body does not count */
    TAKE_NO,    /* the body does not count */
};

/* What to do with the body. TAKE_ANEW and TAKE_NO: *err says why. RC_LIMIT: too long;
 * RC_UNSUPPORTED: a type that is not wanted; these two are final. RC_PEER: all else. *size: of the
 * whole file; -1: it is not known. *type: of the file; an answer with the rest of it need not say
 * it again (RFC 9110 15.3.7), and one that refuses the rest says its own. `hint`: the type that the
 * entry says. */
enum mirror_take mirror_judge(const struct mirror_answer *answer, const struct mirror_part *part,
                              const struct mirror_limits *limits, struct str hint, int64_t *size,
                              struct str *type, struct err *err);

/* The type of the file: what the answer says, unless that says nothing; then the entry's. It has no
 * parameters. */
struct str mirror_type(struct str said, struct str hint);

/* What If-Range can have: a strong entity tag, or the date of a change that was over when the
 * answer was made, so that it is the only one with this date (RFC 9110 8.8.2.2); null: neither. */
struct str mirror_validator(const struct mirror_answer *answer, int64_t now_s);

/* What follows from a failure: sets state, error, n_tries and next_at of the row. `rc` is that of
 * the failure, `n_further`: bytes by which this try brought the file further than the one before. If they are many, it is tried
 * again soon. `wait_s`: for so long the origin wants to be left
 * alone; -1: it did not say. `chance`: any number. The time in which a file is tried has passed only for one that
 * was tried before, and RC_IO is our disk's: so none is given up because the disk was away. */
void mirror_failed(struct mirrored *m, enum rc rc, struct str why, int64_t n_further, int64_t wait_s,
                   int64_t now_s, uint32_t chance);

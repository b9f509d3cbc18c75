/* mirror/partial.h - a file that is being fetched: DIR/partial/KEY, and what is known of its bytes
 * in DIR/partial/KEY.tag. It is never in memory.
 *
 * The tag names the validator and the type with which the bytes came, and the run of the machine:
 * after a crash of the machine nobody knows which bytes are on the disk, so they are fetched again.
 * The digest is computed as the bytes come; if they come in several tries, it is computed from the
 * whole file at the end, so that a file that breaks often is read once only. Two processes
 * do not write one file: it is locked. All calls may wait for the disk. One thread at a time.
 * Failures are RC_IO.
 */
#pragma once

#include <stdatomic.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct partial {
    int fd; /* -1: it is closed */
    char *path, *tag_path;
    int64_t size;              /* bytes that are there */
    struct str validator;      /* with which they came; null: none */
    struct str type;           /* the same */
    struct digest_run *digest; /* NULL: there were bytes before */
};
#define PARTIAL_CLOSED                                                                             \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* Make the folder, if need be, and the one of partial files. */
enum rc partial_prepare(struct str dir, struct err *err) NODISCARD;

/* Open it, or make an empty one. Without a validator it is begun anew. RC_AGAIN: another process
 * has it. `a` must live as long as *p. */
enum rc partial_open(struct partial *p, struct arena *a, struct str dir, struct str key,
                     struct err *err) NODISCARD;

/* Drop what is there; what follows comes with this validator and type. These must live as long as
 * *p. */
enum rc partial_restart(struct partial *p, struct str validator, struct str type,
                        struct err *err) NODISCARD;

enum rc partial_add(struct partial *p, struct str piece, struct err *err) NODISCARD;

/* The file is whole: nothing is added any more. *sha256: hexadecimal, in the arena. RC_CLOSED: it
 * would have to be read for that, and *stops has become true; what is there stays. */
enum rc partial_digest(struct partial *p, struct arena *a, const atomic_bool *stops,
                       struct str *sha256, struct err *err) NODISCARD;

/* Write it to the disk, and move it to the place of its content. */
enum rc partial_store(struct partial *p, struct str dir, struct str sha256,
                      struct err *err) NODISCARD;

/* Close it; what is there stays. A closed one is allowed. */
void partial_close(struct partial *p);

/* Delete what is there, and close it. */
void partial_drop(struct partial *p);

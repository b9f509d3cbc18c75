/* api/cursor.h - a place in the log as callers hold it. Pure.
 *
 * A cursor is an opaque token made of the identity of the log, the seq and the event time. One that
 * another log made (an older backup, another node) is taken by its time: what comes may repeat, but
 * nothing is left out (D25).
 */
#pragma once

#include <stdint.h>

#include "api/problem.h"
#include "base/arena.h"
#include "base/str.h"

#define CURSOR_TEXT 64

/* Write the cursor of a reader that has seen everything up to `seq`, whose event time is `at_us`.
 */
void cursor_write(char out[CURSOR_TEXT], struct str log_id, int64_t seq, int64_t at_us);

/* A cursor's parts: the first digits of its log's id, its seq and time; false when it is no cursor.
 */
bool cursor_read(struct str text, struct str *log, int64_t *seq, int64_t *at_us);

/* Where to read on. */
struct position {
    enum { POSITION_SEQ, POSITION_TIME } kind;
    int64_t seq;   /* exclusive */
    int64_t at_us; /* POSITION_TIME: everything from this moment on */
};

/* Understand `start`, `end`, a cursor, a bare seq of this log (`allow_seq`), Unix seconds or RFC
 * 3339 with or without `time:` in front. `last_seq`: the end of the log. */
bool position_read(struct arena *a, const char *parameter, struct str text, struct str log_id,
                   int64_t last_seq, bool allow_seq, struct position *out,
                   struct problem *p) NODISCARD;

/* The time of an RFC 3339 date and time, in microseconds; false when it is none. */
bool rfc3339_read(struct str s, int64_t *at_us);

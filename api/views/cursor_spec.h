/* api/views/cursor_spec.h - positions in the log as callers write them. Pure.
 *
 * One grammar for /log, /sub and /smart:
 *
 *   start, end              the beginning and the present end of the log
 *   fm1.LOG.SEQ.TIME        a cursor from an answer; LOG: the first digits of the log's id. One of
 * a stream of named views ends in their edition: .EDITION fm1.LOG.SEQ-FLOOR.TIME  the same of a
 * reader that knows that something up to FLOOR was taken away (model/cursor.h) cursor:CURSOR the
 * same; "cursor:" alone means before the first item cursor:T_O_C            a Smart Feeds cursor of
 * another server: time, index, checksum SEQ                     the number of a revision, where the
 * caller allows it time:TIME, TIME         Unix seconds, or RFC 3339 (a date alone means its
 * beginning, UTC) id:ID                   an item of a stream
 *
 * A cursor that another log made (an older backup, another node) is read as its time. So entries
 * may come twice, but none is left out (D25).
 *
 * A cursor of views whose definition was another one is refused: what it has seen is not what it
 * would have seen, so a mirror must start again. Cursors without an edition are positions of the
 * log and fit everywhere.
 */
#pragma once

#include <stdint.h>

#include "api/http/problem.h"
#include "base/arena.h"
#include "base/str.h"
#include "model/cursor.h"

enum cursor_kind {
    CURSOR_NONE, /* not given */
    CURSOR_SEQ,
    CURSOR_TIME,
    CURSOR_GROUP, /* counts as its time if the checksum is wrong */
    CURSOR_ITEM,
};

struct cursor_spec {
#define NUMBER(type, name) type name;
#define TEXT(name) struct str name;
#include "api/views/cursor_fields.def"
#undef NUMBER
#undef TEXT
};

/* Which of these a caller allows. time:TIME is always allowed. */
enum cursor_forms {
    CURSOR_TAKES_PLAIN = 1, /* start, end, and a cursor or time without a type before it */
    CURSOR_TAKES_SEQ = 2,   /* a plain number is a seq; otherwise it is Unix seconds */
    CURSOR_TAKES_ITEMS = 4, /* as Smart Feeds writes them: cursor:... and id:ID */
};

/* The log that a cursor is read for. */
struct cursor_log {
    struct str id;
    int64_t last_seq; /* the end of the log, as it was announced */
    struct str
        edition; /* of the views that the request names (feeds_asked.h); null: it names none */
};

/* Read a parameter. If `text` is null, the result is CURSOR_NONE. False: *p is a problem
 * (bad-position-spec, view-changed). Strings are borrowed from `text`. */
bool cursor_spec_read(struct arena *a, const char *parameter, struct str text, unsigned forms,
                      const struct cursor_log *log, struct cursor_spec *out,
                      struct problem *p) NODISCARD;

/* Set *p to: the views of a stream have changed. Returns false. */
bool cursor_view_changed(struct arena *a, struct problem *p);

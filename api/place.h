/* api/place.h - positions in a stream as Smart Feeds writes them: "cursor:...", "id:...",
 * "time:...".
 *
 * Reading one is pure and happens with the request; finding the seq it means takes a reader.
 */
#pragma once

#include "api/problem.h"
#include "model/view.h"
#include "storage/store.h"

enum place_kind {
    PLACE_NONE,  /* not given */
    PLACE_SEQ,   /* a cursor of this log: exclusive */
    PLACE_TIME,  /* inclusive on either side */
    PLACE_GROUP, /* T+O+C: the O-th item of an instant, if its check holds; else the time T */
    PLACE_ID,    /* an item */
};

struct place {
    enum place_kind kind;
    int64_t seq;
    int64_t from_us, to_us; /* the time: its first and its last microsecond */
    int64_t offset;
    uint32_t check;
    struct str id;
    struct str text;  /* of a cursor: as written, without "cursor:" */
    struct str given; /* the whole, as written */
};

/* Understand a parameter; absent (null): PLACE_NONE. A wrong one is a problem (bad-position-spec).
 */
bool place_read(struct arena *a, const char *parameter, struct str text, struct str log_id,
                int64_t last_seq, struct place *out, struct problem *p) NODISCARD;

/* Where the items behind (`after`) or before the place begin, as exclusive bounds of the seq that
 * orders: after: the bound is below them; else above. In an order that descends, "behind" is
 * towards the older. Of `s`, feeds and order count. RC_NOT_FOUND: no item has the id. */
enum rc place_find(struct reader *r, const struct place *place, const struct view *s, bool since,
                   int64_t *bound, struct err *err) NODISCARD;

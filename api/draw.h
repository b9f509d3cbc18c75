/* api/draw.h - from a view to bytes: rows, heads, links, writer. Reader threads. */
#pragma once

#include "api/render.h"

#define DRAW_MAX ((size_t)256 * 1024 * 1024) /* bytes of one document */

struct drawn {
    int64_t modified_at;
    bool is_doubtful; /* there was another state of it within the second of modified_at */
    bool is_empty;    /* no entries in it */
    size_t n_new;     /* of a delivery: entries behind its position; 0: no bytes were written */
    int64_t position; /* of a delivery: everything up to it is in it */
    bool is_last;     /* of a delivery: nothing follows the position */
    bool is_private;  /* a credential stands between the publisher and everybody */
};

/* A record as a writer takes it: its stored head read, in the arena. */
void draw_feed(struct arena *a, const struct feed_record *rec, struct out_feed *out);

/* RC_NOT_FOUND: the feed or page has gone. RC_LIMIT: over `out`'s maximum. */
enum rc draw_document(const struct render_spec *spec, const struct api_cfg *cfg,
                      struct store *store, struct reader *r, struct buf *out, struct drawn *drawn,
                      struct err *err) NODISCARD;

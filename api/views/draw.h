/* api/views/draw.h - makes the bytes of a document from its spec: rows, heads, links, writer.
 *
 * All documents are made by draw_document(), for GETs and for deliveries. Runs on reader
 * threads. */
#pragma once

#include "api/http/config.h"
#include "api/views/document.h"
#include "base/buf.h"
#include "storage/store.h"

#define DRAW_MAX ((size_t)256 * 1024 * 1024) /* bytes of one document */

struct drawn {
    int64_t modified_at;
    bool is_doubtful; /* it had another state in the same second (modified_at) */
    bool is_empty;    /* it has no entries */
    bool is_private;  /* one of its feeds needs a password */
    /* of a delivery: */
    size_t n_new;     /* new entries in it; 0: no bytes were written */
    int64_t news_at_us; /* when the first of them was stored */
    int64_t position; /* with it, the subscriber has everything up to this position */
    bool is_last;     /* nothing follows the position */
};

/* Append the document to `out`. RC_NOT_FOUND: the feed or page no longer exists. RC_LIMIT: the
 * document is larger than the maximum of `out`. */
enum rc draw_document(const struct document_spec *spec, struct store *store, struct reader *r,
                      struct buf *out, struct drawn *drawn, struct err *err) NODISCARD;

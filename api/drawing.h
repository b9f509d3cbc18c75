/* api/drawing.h - a document in the making; what draw.c and the views' own files share. Reader
 * threads.
 *
 * A view's file reads the rows it shows and the heads of their feeds, and says what the document's
 * links, times and ids are. All memory is the arena's.
 */
#pragma once

#include "api/draw.h"

struct drawing {
    const struct render_spec *spec;
    const struct api_cfg *cfg;
    struct store *store;
    struct arena arena;
    struct feed_record *records; /* by id */
    size_t n_records;
    struct revision *rows; /* in the order of the document */
    size_t n_rows;
    struct out_feed *feeds;
    struct out_entry *entries;
    struct out_doc doc;
    int64_t modified_at;
    size_t n_new; /* of a delivery */
    int64_t position;
    bool is_last; /* nothing follows the position */
};

/* Fill d->rows, d->doc and what drawn (draw.h) is made of. RC_NOT_FOUND: feed or page has gone. */
enum rc draw_newest(struct drawing *d, struct reader *r, struct err *err) NODISCARD;
enum rc draw_pages(struct drawing *d, struct reader *r, struct err *err) NODISCARD;
enum rc draw_stream(struct drawing *d, struct reader *r, struct err *err) NODISCARD;

/* The spec's view in another order and range, with deleted entries. */
struct view drawing_view(const struct drawing *d, enum view_order order, int64_t after,
                         int64_t before, size_t len);

/* Into d->rows: what the log has behind the subscriber's position, oldest first: revisions
 * (VIEW_LOG), or each entry as it is now. Sets d->position, d->n_new and d->is_last. */
enum rc drawing_read_news(struct drawing *d, struct reader *r, enum view_order order,
                          struct err *err) NODISCARD;

/* Heads and entries of d->rows into d->doc; entries whose record left between two queries are left
 * out. */
void drawing_entries(struct drawing *d);

/* The place of a feed among d->records; d->n_records: it is not there. */
size_t drawing_feed(const struct drawing *d, int64_t feed_id);

/* A link of the head, behind the others, with the type of the document. */
void drawing_add_link(struct drawing *d, const char *rel, struct str href);

/* For selflink_fill(): ctx is the drawing. */
struct str drawing_access_key(void *ctx, int64_t feed_id);

void drawing_reverse(struct revision *rows, size_t n);

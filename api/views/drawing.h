/* api/views/drawing.h - the state of a document while it is drawn, and functions that the
 * drawing files share. Runs on reader threads.
 *
 * draw_newest(), draw_pages() and draw_stream() read the rows of the document and the heads of
 * their feeds, and set the document's links, times and ids. All memory is in the drawing's
 * arena. */
#pragma once

#include "api/views/draw.h"
#include "api/views/forms.h"
#include "feed/write/writer.h"

struct drawing {
    const struct document_spec *spec;
    struct store *store;
    struct arena arena;
    struct feed_brief *briefs; /* of all feeds of the view, by id */
    size_t n_briefs;
    struct feed *feeds; /* by id; of a merge of newest entries: those that have a row,
                           except in a list */
    size_t n_feeds;
    struct revision *rows; /* in the order of the document */
    size_t n_rows;
    struct out_feed *heads;    /* heads of `feeds` */
    struct out_entry *entries; /* of the rows whose feed is there */
    int64_t *created_us;       /* of a stream: when the entry of each row was first seen */
    struct out_doc doc;
    int64_t modified_at;
    size_t n_new;       /* for a delivery: number of new entries */
    int64_t news_at_us; /* when the first of them was stored */
    int64_t position;
    int64_t floor; /* of a stream: of its cursors (model/cursor.h) */
    bool is_last;  /* nothing follows the position */
};

/* Read the rows of a document into d->rows. Describe the document in d->doc and in the members
 * after it. model/forms.def says which function belongs to a form. RC_NOT_FOUND: the feed or page
 * no longer exists. */
enum rc draw_newest(struct drawing *d, struct reader *r, struct err *err) NODISCARD;
enum rc draw_pages(struct drawing *d, struct reader *r, struct err *err) NODISCARD;
enum rc draw_stream(struct drawing *d, struct reader *r, struct err *err) NODISCARD;

/* Make the rows items of a stream: d->created_us, and d->entries with the times of a stream.
 * d->feeds has been read. */
enum rc drawing_stream_items(struct drawing *d, struct reader *r, struct err *err) NODISCARD;

/* Returns the cursor of row `i` of a stream. In the arena. */
struct str drawing_cursor(struct drawing *d, size_t i);

static inline bool drawing_is_delivery(const struct drawing *d)
{
    return d->spec->extent == EXTENT_DELIVERY;
}

/* Get the stored head of a feed in the form that a writer needs, in the arena. */
void drawing_head(struct arena *a, const struct feed *feed, struct out_feed *out);

/* Returns the view of the spec, but with this order and range, and with deleted entries. */
struct view drawing_view(const struct drawing *d, enum view_order order, int64_t after,
                         int64_t before, size_t len);

/* Read the rows that the log has after the subscriber's position into d->rows, oldest first: every
 * revision (VIEW_LOG), or each entry as it is now. Sets d->position, d->n_new and d->is_last. */
enum rc drawing_read_news(struct drawing *d, struct reader *r, enum view_order order,
                          struct err *err) NODISCARD;

/* Put the heads and entries of d->rows into d->doc. If a feed was removed between two queries, its
 * entries are left out. If the view says so, they name mirrored files. */
enum rc drawing_entries(struct drawing *d, struct reader *r, struct err *err) NODISCARD;

/* When entries of several feeds of the view have the same id, the oldest keeps it, whether it is
 * shown or not. The others get ids of their own, which stay, and a link to the entry that they are
 * about. d->entries has been made. */
enum rc drawing_tell_twins_apart(struct drawing *d, struct reader *r, struct err *err) NODISCARD;

/* Returns the index of a feed in d->feeds; d->n_feeds if it is not there. */
size_t drawing_feed(const struct drawing *d, int64_t feed_id);

/* Add a link to the head, after the others, with the type of the document. */
void drawing_add_link(struct drawing *d, const char *rel, struct str href);

/* The same with the type of another format. */
void drawing_add_link_to(struct drawing *d, const char *rel, enum feed_format format,
                         struct str href);

/* Returns the access key of a feed, for selflink_fill(); ctx is the drawing. */
struct str drawing_access_key(void *ctx, int64_t feed_id);

void drawing_reverse(struct revision *rows, size_t n);

/* storage/rows.h - the rows of one transaction of the storer, in memory, each once.
 *
 * A transaction loads the rows that its operations will look at (storage/wants.h), computes on them
 * here, and writes what was touched. So two operations of one transaction on the same feed see each
 * other, and an operation that fails is undone in memory. Only the storer's thread uses it. What
 * is read from the database and written to it is in storage/sqlite/held_rows.c.
 *
 * Rows stay where they are until rows_forget(). Strings of rows are borrowed: from the operations
 * of the transaction, or from the arena here.
 */
#pragma once

#include "storage/records.h"
#include "storage/shelf.h"

/* The kinds of rows that are found by a key. Each has a struct that begins with a struct held, a
 * row in the table of storage/rows.c, and what reads and writes it in storage/sqlite/held_rows.c.
 */
enum row_kind {
    ROW_ENTRY,    /* struct held_entry, by feed and uid */
    ROW_ENTRY_ID, /* struct held_entry_id, by id: entries that an operation knows by it */
    ROW_FEED,     /* struct held_feed, by id */
    ROW_PAST,     /* of a feed, by its id; this and the next two are in storage/rows_past.h */
    ROW_ARCHIVE,  /* by feed and URL */
    ROW_GRAVE,    /* by feed and uid */
    ROW_NOTE,     /* struct held_note; this and the next ones are in storage/rows_subs.h */
    ROW_SUB,      /* struct held_sub, by id */
    ROW_SUB_FEED, /* struct held_sub_feed, by subscription and feed */
    ROW_DEAD,     /* struct held_dead */
    ROW_INTENT,   /* struct held_intent; this and the next two are in storage/rows_hub.h */
    ROW_LEASE,    /* struct held_lease, by subscription */
    ROW_UPSTREAM, /* struct held_upstream_row, by token (storage/rows_upstreams.h) */
    ROW_HUB_NAME, /* struct held_hub_name, by protocol, callback and topic */
    ROW_WEBSUBS,  /* struct held_websubs, by feed (storage/rows_subs.h) */
    ROW_MATCH,    /* struct held_match, by subscription and URL */
    ROW_PLACE,    /* by credential and URL; this and the next are in storage/rows_places.h */
    ROW_NAMES,    /* by the id of a feed */
    ROW_TIME,     /* struct held_time, by seq */
    ROW_TOKEN,    /* struct held_token, by id (storage/rows_tokens.h) */
    ROW_VIEW,     /* struct held_view, by name (storage/rows_views.h) */
    ROW_HOST,     /* struct held_host, by name */
    ROW_KINDS
};

/* The kinds of rows whose ids are drawn when a transaction loads, because an answer or another row
 * needs them before they are stored. */
enum new_row { NEW_FEED, NEW_SUB, NEW_INTENT, NEW_TOKEN, NEW_ROWS };

/* Ids for new rows. */
struct row_ids {
    int64_t *drawn; /* in the arena */
    size_t n, used;
    int64_t next; /* after them, all from this one on are free; 0: they are not */
};

/* An entry with what belongs to it. Call rows_touch() before each change of it. */
struct held_entry {
    struct held held;
    struct entry_row row;       /* seq 0: there is no such entry; id 0: it is not written yet */
    int64_t shown_at;           /* the date with which its newest revision is shown */
    struct content_row content; /* if has_content; its entry_id is not used */
    bool has_content, has_new_content;
    struct str overlay_doc, overlay_ext; /* if has_new_overlay */
    bool has_new_overlay;
    /* as it is in the database: */
    int64_t was_seq;
    bool had_marks;
    struct entry_marks old_marks;
    const struct revision *newest; /* the revision was_seq, if it was asked for */
};

struct held_entry_id {
    struct held held;
    struct held_entry *entry; /* NULL: there is none with this id */
};

/* A feed with what belongs to it. */
struct held_feed {
    struct held held;
    struct feed_row row;
    bool is_missing;                                        /* there is no such feed */
    bool is_new;                                            /* the database does not have it yet */
    bool has_head;                                          /* row.feed.head and ext were read */
    bool saves_row, saves_identity, saves_head, saves_urls; /* these are to be written */
    bool saves_count;                                       /* so is n_subscriptions */
};

/* The time of a position in the log: that of the last revision up to it. 0: there is none. */
struct held_time {
    struct held held;
    int64_t at_us;
};

/* A row of the log, and its entry. */
struct held_revision {
    struct revision row;
    struct held_entry *entry;
};

/* A row of `head_log`. */
struct held_head {
    int64_t since_seq;
    const struct feed *feed;
};

/* A host that rests: milliseconds of the monotonic clock. It is not loaded. */
struct held_host {
    struct held held;
    struct str name;
    int64_t cool_until_ms, gentle_until_ms;
};

/* Something about a feed's upstream hub: it delivered at `delivered_at`, or announced something at
 * `announced_at`, or (both are 0) a poll has changed the trust in it from trust_was to `trust`. */
struct held_upstream {
    int64_t feed_id, delivered_at, announced_at;
    int trust_was, trust;
    struct {
        int64_t delivered_at;
        int trust;
    } before; /* as the row of the feed shows it; rows_add_upstream() fills it in */
};

/* A state of the rows to which rows_undo() goes back. */
struct rows_mark {
    size_t n_touched[ROW_KINDS], n_revisions, n_heads, n_events, n_upstreams;
    struct row_ids ids[NEW_ROWS];
    int64_t n_intents, n_tokens;
};

struct hub_due;

/* Start with {0}. */
struct rows {
    struct arena arena; /* has the rows, and strings that were read from the database */
    struct shelf shelves[ROW_KINDS];
    struct row_ids ids[NEW_ROWS];
    struct held_revision *revisions; /* in the order of the log */
    struct held_head *heads;
    struct feed_event *events;
    struct held_upstream *upstreams;
    size_t n_revisions, cap_revisions;
    size_t n_heads, cap_heads, n_events, cap_events, n_upstreams, cap_upstreams;
    int64_t n_intents;       /* how many rows hub_intents has, if that was asked for */
    int64_t n_tokens;        /* the same of tokens */
    struct hub_due *hub_due; /* if that was asked for */
    unsigned generation;     /* grows when all rows are forgotten */
    unsigned version;        /* of the newest mark */
};

/* Forget all rows. What was not written is lost. Strings of rows live on until rows_reset(), at the
 * end of the transaction. rows_release() also frees the lists. */
void rows_forget(struct rows *r);
void rows_reset(struct rows *r);
void rows_release(struct rows *r);

/* ---- what was loaded ------------------------------------------------------------------------- */

/* The entry or feed, as it is at this point of the transaction. NULL: it was not loaded. */
struct held_entry *rows_entry(struct rows *r, int64_t feed_id, struct str uid);
struct held_feed *rows_feed(struct rows *r, int64_t id);

/* The entry with this id, which was loaded by it; NULL: there is no such entry. */
struct held_entry *rows_entry_by_id(struct rows *r, int64_t id);

/* Add a row, which must not be there yet, for the caller to fill. uid is copied. */
struct held_entry *rows_add_entry(struct rows *r, int64_t feed_id, struct str uid);
struct held_feed *rows_add_feed(struct rows *r, int64_t id);
void rows_add_entry_id(struct rows *r, int64_t id, struct held_entry *entry);

/* The row of this kind with this number and text: the id of a feed and a uid, or an id and
 * STR_NULL. NULL: it was not loaded. rows_add() adds a row of zeros for the caller to fill. Each
 * kind has functions of its own that call these. */
void *rows_find(struct rows *r, enum row_kind kind, int64_t id, struct str text);
void *rows_add(struct rows *r, enum row_kind kind, int64_t id, struct str text);

/* The same for a row that nobody will look for. */
void *rows_add_hidden(struct rows *r, enum row_kind kind);

/* ---- changes --------------------------------------------------------------------------------- */

/* The row, which is held, will be changed. */
void rows_touch(struct rows *r, enum row_kind kind, void *row);

/* The same of a row that is written by what struct held says: its `changes` are to be written; it
 * begins to exist; it ends. */
void rows_change(struct rows *r, enum row_kind kind, void *row, unsigned changes);
void rows_create(struct rows *r, enum row_kind kind, void *row);
void rows_drop(struct rows *r, enum row_kind kind, void *row);

/* An id for a new row; ids were drawn when the operation's rows were loaded. An id of an operation
 * that is undone is given to the next one. */
int64_t rows_draw(struct rows *r, enum new_row kind);

/* An id for a row that nobody names before it is stored. 0: it gets its id then. */
int64_t rows_draw_free(struct rows *r, enum new_row kind);

/* A feed is made. It has an id that was drawn, and is as a new row of the table; the caller fills
 * the rest. Strings must live as long as the transaction. */
struct held_feed *rows_new_feed(struct rows *r);

/* Append to the log a revision of an entry that was touched. The entry loses its overlay. */
void rows_append(struct rows *r, struct held_entry *e, const struct revision *revision);

/* A feed that is held is as in *row now: write what feeds_save() writes, its identity policy, its
 * head, or its URLs. Strings must live as long as the transaction. */
void rows_save_feed(struct rows *r, const struct feed_row *row);
void rows_save_identity(struct rows *r, const struct feed_row *row);
void rows_save_head(struct rows *r, const struct feed_row *row);
void rows_save_urls(struct rows *r, const struct feed_row *row);

/* A feed that is held has so many subscriptions more. */
void rows_count_subs(struct rows *r, int64_t feed_id, int more);

/* Revisions from `since_seq` on appear under the head that *feed has now. */
void rows_add_head(struct rows *r, int64_t since_seq, const struct feed *feed);

void rows_add_event(struct rows *r, const struct feed_event *event);
/* Something about the current upstream subscription of a feed. rows_list_upstream() leaves it to
 * the database to find that. */
void rows_add_upstream(struct rows *r, const struct held_upstream *u);
void rows_list_upstream(struct rows *r, const struct held_upstream *u);

/* A host rests. What was said of it before stays if it is later. The name must live as long as the
 * transaction. */
void rows_rest_host(struct rows *r, struct str host, int64_t cool_until_ms,
                    int64_t gentle_until_ms);

/* Is anything to be written? After it was written, the engine calls rows_written(). */
bool rows_is_dirty(const struct rows *r);
void rows_written(struct rows *r);

/* ---- undo ------------------------------------------------------------------------------------ */

/* rows_mark() begins an operation; rows_undo() takes back what was changed since the newest mark.
 * Rows must not be written or forgotten in between. */
struct rows_mark rows_mark(struct rows *r);
void rows_undo(struct rows *r, struct rows_mark mark);

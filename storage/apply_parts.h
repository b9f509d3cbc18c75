/* storage/apply_parts.h - the parts from which operations are built.
 *
 * All run on the storer's thread, inside its transaction. Strings that they keep must live as long
 * as op->arena. When a part fails, the whole operation is undone. Those that return a code may give
 * RC_IO.
 */
#pragma once

#include "storage/op.h"

/* ---- feeds (apply_feeds.c) ------------------------------------------------------------------- */

/* The id of the feed of this URL and credential. If there is none, it is made: the URL was
 * among the names that the operation wanted (storage/wants.h). */
int64_t apply_find_or_make(struct txn *t, const struct feed_ref *ref);

/* The settings that a subscription asks for a feed. */
struct feed_settings {
    int level;        /* 0..2, LEVEL_EXACT or LEVEL_KEEP */
    int64_t period_s; /* for LEVEL_EXACT */
    enum sanitize_setting sanitize;
    int64_t mirror; /* as in struct sub_request */
    struct str secrets; /* as in struct sub_request */
    bool ends_list; /* nobody follows it as a list any more */
};

/* Give the feed these settings, and set the time of its next fetch. RC_NOT_FOUND: there is no such
 * feed. */
enum rc apply_settings(struct txn *t, int64_t feed_id, const struct feed_settings *settings,
                       struct arena *a, struct err *err) NODISCARD;

/* A subscription follows the record as a list of feeds from now on. It is due at once, and its next
 * answer is to be whole, because the subscription has nothing of the list yet. */
enum rc apply_list_due(struct txn *t, int64_t feed_id, struct arena *a,
                       struct err *err) NODISCARD;

/* A subscription of the feed has ended. If it was the last one, the settings that subscriptions
 * asked for end, too: the pace, HTML that is not sanitized, and the mirroring of its files. */
enum rc apply_settings_end(struct txn *t, int64_t feed_id, struct arena *a,
                           struct err *err) NODISCARD;

/* ---- subscriptions (apply_subs.c) ------------------------------------------------------------ */

/* End a subscription. All subscriptions end by this function. `reason`: the reason that a WebSub
 * subscriber is told; null: it is told nothing, because it already knows. */
enum rc apply_sub_end(struct txn *t, int64_t id, struct str reason, struct arena *a,
                      struct err *err) NODISCARD;

/* It is pushed to from now on; what failed before is tried at once. */
void apply_sub_active(struct subscription *sub);

/* Take a feed, whose row is held, out of a subscription, if it still is in it. */
enum rc apply_drop_feed(struct txn *t, struct op *op, int64_t sub_id, int64_t feed_id) NODISCARD;

/* Put the subscription as it is now into the operation's result. */
enum rc apply_show_sub(struct txn *t, struct op *op, int64_t id) NODISCARD;

/* The publisher has ended the feed: end the WebSub subscriptions that have no other one. */
enum rc apply_subs_of_gone_feed(struct txn *t, int64_t feed_id, struct arena *a,
                                struct err *err) NODISCARD;

/* ---- entries (apply_entries.c) --------------------------------------------------------------- */

/* How entries came. It says what they may replace. */
enum arrival {
    ARRIVAL_POLL,     /* the document as the feed shows it now */
    ARRIVAL_STREAM,   /* in order: an entry that comes later is newer, whatever its dates are */
    ARRIVAL_ARCHIVE,  /* the past: an entry counts only if it is unknown, or has a later date */
    ARRIVAL_DELIVERY, /* perhaps late: an older date does not replace a later one */
};

struct arrived {
    const struct entry_batch *batch;
    enum arrival by;
    int64_t at;    /* Unix seconds; the date of undated entries */
    bool metadata; /* of Atom-PMH: the document may still show entries that were deleted */
    bool complete; /* the document shows all entries that the feed has */
    bool merged;   /* they were compared with another feed, which has become part of this one */
};

/* Make revisions of *row from the entries. Sets *visible to true if readers see a change. */
enum rc apply_entries(struct txn *t, struct op *op, struct feed_row *row, const struct arrived *in,
                      bool *visible) NODISCARD;

/* Append r to the log as the newest revision of the entry *e. The caller has touched the entry and
 * set its row, except seq, first_seq, sort_at, deleted and iri_hash, which this function sets. */
void apply_revision(struct txn *t, struct feed_row *row, struct held_entry *e,
                    const struct revision *r);

/* ---- events of feeds (apply_events.c) -------------------------------------------------------- */

/* Something happened to the feed itself: give it a number, and tell it. `detail`: the error, or the
 * new URL; may be null. The feed is noted. */
void apply_event(struct txn *t, int64_t feed_id, enum feed_event_kind kind, struct str detail);

/* After a request for the feed itself, whose row is *row now: has it broken, recovered or gone?
 * `was`: its state before. */
void apply_health_events(struct txn *t, struct feed_row *row, enum feed_state was, int64_t at);

/* ---- moves (apply_moves.c) ------------------------------------------------------------------- */

struct moved {
    bool is_moved;     /* the feed has another URL */
    bool is_merged;    /* it has become part of another feed, which *row is then */
    bool had_document; /* is_merged: the feed that is gone had a document to compare with */
};

/* Give the feed the URLs of the check. */
enum rc apply_move(struct txn *t, struct op *op, const struct feed_check *c, struct feed_row *row,
                   struct moved *out) NODISCARD;

/* ---- requests for a feed itself (apply_check.c) ---------------------------------------------- */

struct checked {
    struct feed_row row; /* as it will be saved */
    int64_t at;          /* Unix seconds */
    int64_t since;       /* seq of the first revision that this operation may add */
    bool merged;         /* as in struct moved */
    bool reads_anew;     /* the document was compared with another row, or read with another
                            setting: drop the validators, so that it is read whole next time */
    bool visible;        /* readers see a change */
    bool is_void;        /* it came too late, or was made with other secrets: nothing was changed, and
                          * nothing else is to be done */
};

/* Get the feed's row as it is now. RC_NOT_FOUND: there is no such feed. */
enum rc apply_load(struct txn *t, struct op *op, int64_t feed_id, bool with_head,
                   struct feed_row *out) NODISCARD;

/* Statements have made it necessary to forget all rows. Hold again what the operation looks at. Its
 * feed `from` is part of the feed `id` now, or still is this one. */
enum rc apply_hold_again(struct txn *t, struct op *op, int64_t from, int64_t id) NODISCARD;

/* Was a request that went with these secrets made as somebody else than the feed is now? Then a refusal says
 * nothing of what the feed has now, and a document may show what that one may not see, or the other way round. */
bool apply_is_of_another(struct str secrets, const struct feed *feed);

/* Load the feed, give it its new URL, and set its state. */
enum rc apply_check(struct txn *t, struct op *op, const struct feed_check *c, bool with_head,
                    struct checked *out) NODISCARD;

/* Store the entries, identity and head of the feed's document. */
enum rc apply_document(struct txn *t, struct op *op, const struct doc_head *head,
                       const struct new_identity *identity, const struct arrived *in,
                       struct checked *c) NODISCARD;

/* Note the fetch in the history of the feed, when its entries have been stored. */
void apply_note_fetch(struct op *op, const struct feed_check *c, bool is_gap,
                      struct checked *checked);

/* Save the row. If readers see a change (`visible`), it gets a new version. */
void apply_save(struct txn *t, struct op *op, struct feed_row *row, bool visible);

/* The entries have been stored. If some were left out, because the feed has brought as many as it
 * may within a day, its document is read whole when the day is over; the row of a feed that answers
 * says so. */
void apply_quota(const struct txn *t, struct op *op, struct feed *feed);

/* ---- the cursor of a stream (apply_stream.c) ------------------------------------------------- */

/* Was another piece stored after this one was requested? The stored piece may be newer. */
bool apply_is_overtaken(const struct doc_piece *piece, const struct feed *feed);

/* Move the feed's cursor to the end of the piece. */
void apply_advance(const struct doc_piece *piece, struct feed *feed);

/* ---- the past (apply_past.c) ----------------------------------------------------------------- */

/* Store what the feed's own document says about its past; `past` NULL: no document was read, or it
 * says nothing. Then set op->result.next_archive to the document of the past to read next. */
void apply_past(struct txn *t, struct op *op, struct feed_row *row, const struct doc_past *past,
                int64_t at, bool *visible);

/* Note the document to which a document of the past leads. `order` and `walk` are those of the
 * document itself (struct archive_row). */
void apply_lead_on(struct txn *t, const struct feed *feed, const struct doc_past *past,
                   int64_t order, int64_t walk);

/* Find out how much of the past is left to read, and which document of it is next. */
void apply_look_ahead(struct txn *t, struct op *op, struct feed *feed, bool has_deletions,
                      int64_t at, bool *visible);

/* The walk of a document that is wanted now, if it belongs to no harvest (walk 0). */
int64_t apply_gap_walk(const struct feed *feed, int64_t walk);

/* Does a document of the past, which was read to its end and has this walk, reach back to what was stored before the
 * gap? Ask before the document to which it leads is wanted. */
bool apply_fills_gap(struct rows *r, const struct feed *feed, int64_t walk, const struct doc_past *past);

/* There is no gap any more, unless documents are still to be read that are newer than this one. */
void apply_close_gap(struct txn *t, struct feed *feed, const struct doc_past *past);

/* Set the time of the next fetch after a new level or period (apply_feeds.c). */
void apply_reschedule(const struct txn *t, struct feed *feed);

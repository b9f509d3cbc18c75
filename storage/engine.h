/* storage/engine.h - what a database engine does for those who read.
 *
 * An engine is a struct of functions, and so is a connection's door: db->reads->feeds_by_id(db,
 * ...). A call names all rows it wants at once and gets them in one answer, because an engine may
 * be reached over a network. Each call sees one state of the database; several see the same one
 * between snapshot() and snapshot_end(). What the rows are for is decided above.
 *
 * All calls that return an enum rc may give RC_IO, and RC_AGAIN or RC_UNAVAILABLE when the database
 * is not within reach. "Arena": the result is in the arena that was given; scratch arenas may be
 * released after the call. A connection belongs to one thread at a time.
 */
#pragma once

#include "storage/directory.h"
#include "storage/pushes.h"
#include "storage/records.h"

/* A connection. Each engine has its own struct, which begins with this one. */
struct db {
    const struct reads *reads;
};

/* What a feed has next for a subscription. */
struct push_lead {
    int64_t first;           /* its first revision that is wanted; 0: there is none */
    struct feed_event event; /* its first event, when events are wanted; seq 0: there is none */
};

struct reads {
    /* Close and set to NULL. NULL is allowed. */
    void (*close)(struct db **dbp);

    /* Inside a snapshot, another one is the same; it ends with the outer one. */
    enum rc (*snapshot)(struct db *db, struct err *err);
    void (*snapshot_end)(struct db *db);

    /* Free the memory that is kept for later. */
    void (*shrink)(struct db *db);

    /* ---- the log ---- */

    /* The last number that was given out; 0: the log is empty. */
    enum rc (*last_seq)(struct db *db, int64_t *out, struct err *err);

    /* The rows of the log with these numbers, in this order, with their overlays if wanted. Those
     * that do not exist are left out. Arena. */
    enum rc (*revisions_by_seq)(struct db *db, const int64_t *seqs, size_t n, bool with_overlays,
                                struct arena *a, struct revision **out, size_t *n_out,
                                struct err *err);

    /* The event times of rows, microseconds, into at_us[n]; 0 where there is no such row. */
    enum rc (*revisions_times)(struct db *db, const int64_t *seqs, size_t n, int64_t *at_us,
                               struct err *err);

    /* Seq of the last revision at or before a time (microseconds); 0: there is none. `last`: the
     * last seq that counts. */
    enum rc (*revisions_at)(struct db *db, int64_t at_us, int64_t last, int64_t *seq,
                            struct err *err);

    /* Keys of the newest entries of v->feed_ids (VIEW_NEWEST), at most `max`, into the arrays seqs
     * and iris of that length. v->len and v->skip do not count, and entries that share an id all
     * appear. */
    enum rc (*newest_keys)(struct db *db, const struct view *v, size_t max, struct arena *scratch,
                           int64_t *seqs, int64_t *iris, size_t *n_out, struct err *err);

    /* Keys of a view's rows in its order, for every order but VIEW_NEWEST, at most `max`, into the
     * array seqs of that length. v->len and v->skip do not count. */
    enum rc (*view_keys)(struct db *db, const struct view *v, size_t max, struct arena *scratch,
                         int64_t *seqs, size_t *n_out, struct err *err);

    /* ---- entries ---- */

    /* The entries of these feeds that have one of these uids, ascending by `of`. Arena. */
    enum rc (*entries_of_uids)(struct db *db, const int64_t *feed_ids, size_t n_feeds,
                               const struct str *uids, size_t n_uids, struct arena *a,
                               struct uid_match **out, size_t *n_out, struct err *err);

    /* The entries of a feed that have one of these uids or one of these keys; of those with the
     * same key, at most `max`, the newest. An entry may appear more than once. *out is yours
     * (mem_free()); its uids are in the arena. */
    enum rc (*entries_known)(struct db *db, int64_t feed_id, const struct str *uids, size_t n_uids,
                             const int64_t *keys, size_t n_keys, size_t max, struct arena *a,
                             struct entry_row **out, size_t *n_out, struct err *err);

    /* How many entries of these feeds have their newest revision at or after `seq`, and how many of
     * those are deleted. */
    enum rc (*entries_since)(struct db *db, const int64_t *feed_ids, size_t n_feeds, int64_t seq,
                             int64_t *n, int64_t *n_deleted, struct err *err);

    /* As reader_count_between(). */
    enum rc (*entries_between)(struct db *db, const int64_t *feed_ids, size_t n_feeds,
                               bool by_creation, int64_t from, int64_t to, int64_t max,
                               int64_t *out, struct err *err);

    /* As reader_oldest(). */
    enum rc (*entries_oldest)(struct db *db, int64_t feed_id, int64_t *at, struct err *err);

    /* As reader_pending_content() and reader_content_feeds(). */
    enum rc (*content_pending)(struct db *db, int64_t feed_id, int64_t now, struct arena *a,
                               struct pending_content *out, struct err *err);
    enum rc (*content_feeds)(struct db *db, reader_content_fn *fn, void *ctx, struct err *err);

    /* ---- feeds ---- */

    /* The feeds with these ids, in this order, with their heads; those that do not exist are left
     * out. `ids` NULL: all, ascending by id. Arena. */
    enum rc (*feeds_by_id)(struct db *db, const int64_t *ids, size_t n, struct arena *a,
                           struct feed **out, size_t *n_out, struct err *err);

    /* Put into each feeds[i] the URL, title, site and head in force at seqs[i], or the first ones
     * when seqs[i] is before them; a feed that has none is left as it is. Arena. */
    enum rc (*head_log_at)(struct db *db, struct feed *feeds, const int64_t *seqs, size_t n,
                           struct arena *a, struct err *err);

    /* How many entries these feeds have, with or without deleted ones. */
    enum rc (*feeds_count)(struct db *db, const int64_t *ids, size_t n, bool with_deleted,
                           int64_t *out, struct err *err);

    /* The URL of a feed and its title, which may be null. RC_NOT_FOUND. Arena. */
    enum rc (*feeds_name)(struct db *db, int64_t id, struct arena *a, struct str *url,
                          struct str *title, struct err *err);

    /* Call fn for the scheduled feeds, by id. A feed whose last check is later than `now` was
     * checked by a clock that ran ahead: it is due now. */
    enum rc (*feeds_each_due)(struct db *db, int64_t now, reader_due_fn *fn, void *ctx,
                              struct err *err);

    /* What the directory keeps of these feeds, except the keys: out[i] is that of ids[i], with
     * brief.id 0 when there is no such feed. rows[i]: the feed's present row, if it is known; NULL:
     * it is read. `rows` NULL: none is known. Arena. */
    enum rc (*briefs_load)(struct db *db, const int64_t *ids, const struct feed_row *const *rows,
                           size_t n, struct arena *a, struct directory_feed *out, struct err *err);

    /* The newest keys of these feeds: out[i] is that of ids[i]. */
    enum rc (*briefs_keys)(struct db *db, const int64_t *ids, size_t n, struct key_run *out,
                           struct err *err);

    /* The ids of the next feeds after `after`, ascending, at most `max`. */
    enum rc (*briefs_ids)(struct db *db, int64_t after, size_t max, int64_t *out, size_t *n_out,
                          struct err *err);

    /* ---- subscriptions ---- */

    /* As reader_subs() and reader_subs_after(). Arena. */
    enum rc (*subs_by_id)(struct db *db, const int64_t *ids, size_t n, struct arena *a,
                          struct subscription **out, size_t *n_out, struct err *err);
    enum rc (*subs_after)(struct db *db, int64_t after_id, size_t max, struct arena *a,
                          struct subscription **out, size_t *n_out, struct err *err);

    /* As reader_push_subs(), reader_find_sub() and reader_sink_settings(). */
    enum rc (*subs_pushed)(struct db *db, struct push_sub *subs, size_t n, struct err *err);
    enum rc (*subs_find)(struct db *db, struct str sink, struct str endpoint, struct str settings,
                         struct str owner, int64_t *id, int64_t *n_owned, struct err *err);
    enum rc (*subs_settings)(struct db *db, int64_t id, struct arena *a, struct str *out,
                             struct err *err);

    /* Of a subscription the next calls use position, events and with_initial. */

    /* What each of these feeds has next: out[i] is that of feed_ids[i]. Arena. */
    enum rc (*push_leads)(struct db *db, const int64_t *feed_ids, size_t n,
                          const struct subscription *sub, struct arena *a, struct push_lead *out,
                          struct err *err);

    /* The revision `first` of a feed, and those of the same batch that follow it, at most `max`,
     * into seqs[max]. */
    enum rc (*push_batch)(struct db *db, int64_t feed_id, const struct subscription *sub,
                          int64_t first, size_t max, int64_t *seqs, size_t *n_out, struct err *err);

    /* What these feeds have next together, in the order of the log: at most `max` revisions into
     * seqs[max], and at most `max` events. Arena. */
    enum rc (*push_run)(struct db *db, const int64_t *feed_ids, size_t n,
                        const struct subscription *sub, size_t max, struct arena *a, int64_t *seqs,
                        size_t *n_seqs, struct feed_event **events, size_t *n_events,
                        struct err *err);

    /* How many revisions and events that is, counted to `max`. */
    enum rc (*push_count)(struct db *db, const int64_t *feed_ids, size_t n,
                          const struct subscription *sub, int64_t max, int64_t *out,
                          struct err *err);

    /* The event with this seq; out->seq 0: there is none. Arena. */
    enum rc (*feed_event)(struct db *db, int64_t seq, struct arena *a, struct feed_event *out,
                          struct err *err);

    /* The last deliveries of a subscription, newest first, at most `max`. Arena. */
    enum rc (*deliveries_of)(struct db *db, int64_t sub_id, size_t max, struct arena *a,
                             struct delivery_note **out, size_t *n_out, struct err *err);

    /* The dead letters of a subscription, oldest first, at most `max`. Arena. */
    enum rc (*dead_of)(struct db *db, int64_t sub_id, size_t max, struct arena *a,
                       struct dead_letter **out, size_t *n_out, struct err *err);

    /* The first one that is to be delivered again, and whose revision or event still exists: 0 or
     * 1. Each delivery asks for it, so it is found by an index alone. Arena. */
    enum rc (*dead_wanted)(struct db *db, int64_t sub_id, struct arena *a, struct dead_letter **out,
                           size_t *n_out, struct err *err);

    /* As reader_dead_counts(). */
    enum rc (*dead_counts)(struct db *db, int64_t sub_id, struct arena *a, struct dead_count **out,
                           size_t *n_out, struct err *err);

    /* ---- hubs ---- */

    /* As reader_hub_intents(), reader_hub_lease() and reader_upstreams(). */
    enum rc (*hub_intents_after)(struct db *db, int64_t id, size_t max, struct arena *a,
                                 struct hub_intent **out, size_t *n_out, struct err *err);
    enum rc (*hub_lease)(struct db *db, int64_t sub_id, struct arena *a, struct hub_lease *out,
                         struct err *err);
    enum rc (*upstreams)(struct db *db, struct arena *a, struct upstream **out, size_t *n_out,
                         struct err *err);
};

struct engine {
    const char *name;

    /* Open a connection for reading only. A writer has made the database before. */
    enum rc (*open_reader)(const char *address, struct db **out, struct err *err);
};

extern const struct engine engine_sqlite, engine_postgresql;

/* The engine of an address, by its scheme: a path is SQLite's. RC_UNSUPPORTED: it is not there. */
enum rc engine_of(struct str address, const struct engine **out, struct err *err) NODISCARD;

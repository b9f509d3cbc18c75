/* storage/engine.h - what a database engine does: the reading calls, and the writing ones of the
 * storer's connection.
 *
 * An engine is a folder and a struct of functions, and so is a connection's door:
 * db->reads->feeds_by_id(db, ...). A reading call names all rows it wants at once and gets them in
 * one answer, because an engine may be reached over a network. Each call sees one state of the
 * database; several see the same one between snapshot() and snapshot_end(). What the rows are for
 * is decided above.
 *
 * All calls that return an enum rc may give RC_IO, and RC_AGAIN or RC_UNAVAILABLE when the database
 * is not within reach. "Arena": the result is in the arena that was given; scratch arenas may be
 * released after the call. A connection belongs to one thread at a time.
 */
#pragma once

#include "model/filter.h"
#include "storage/directory.h"
#include "storage/index.h"
#include "storage/mirrors.h"
#include "storage/pushes.h"
#include "storage/records.h"
#include "storage/retention.h"

struct node_calls;
struct op;
struct rows;
struct seal_key;
struct txn;
struct wants;

/* A connection. Each engine has its own struct, which begins with this one. */
struct db {
    const struct reads *reads;
    const struct writes *writes;   /* NULL: it only reads */
    const struct follows *follows; /* NULL: it cannot wait for the commits of others */
};

/* Where a log with several writers stands. */
struct log_place {
    int64_t last_notice, last_seq, version;
    int64_t timeline; /* of the server; it changes when a standby takes over */
    int64_t fork;     /* as store_fork() */
};

/* What a commit means for others, as its writer has stored it. */
struct log_notice {
    int64_t n;
    struct feed_notice *feeds; /* without next_fetch_at and content_at */
    bool *has_keys;            /* of each feed: its keys have changed */
    size_t n_feeds;
    struct commit_notice told; /* all but the feeds */
};

/* Where a revision belongs. */
struct revision_key {
    int64_t seq, feed_id;
    enum revision_kind kind;
    int64_t sort_at;
    int64_t first_seq, last_seq; /* of its entry */
    bool gone;                   /* the entry's newest revision is a deletion */
};

/* What retention has taken from some feeds. */
struct log_horizon {
    int64_t seq;     /* the highest revision that is gone; 0: none is */
    int64_t at_us;   /* its event time */
    int64_t n_taken; /* revisions, of all these feeds */
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

    /* May the calls that follow read from a copy (engine.use_replica)? Not at first. A snapshot
     * goes on where it began. Returns true if a copy has answered since the last such call. NULL:
     * the engine has no copies. */
    bool (*allow_replica)(struct db *db, bool may);

    /* ---- the log ---- */

    /* The last number that was given out; 0: the log is empty. */
    enum rc (*last_seq)(struct db *db, int64_t *out, struct err *err);

    /* Bytes of the database on disk. A file counts with its write-ahead log. *n_free: of these, how
     * many are free pages, for what comes; they can be given back. */
    enum rc (*size)(struct db *db, int64_t *bytes, int64_t *n_free, struct err *err);

    /* About how many bytes are free inside for what comes, and cannot be given back; right within a tenth of the
     * size or so. It takes milliseconds to tens of them. NULL: none. */
    enum rc (*free_inside)(struct db *db, int64_t *bytes, struct err *err);

    /* Where the log stands, and the notices after `after`, in their order, at most `max`. NULL: the
     * engine has one writer, and no notices. Arena. */
    enum rc (*notices)(struct db *db, int64_t after, size_t max, struct arena *a,
                       struct log_place *place, struct log_notice **out, size_t *n_out,
                       struct err *err);

    /* The rows of the log with these numbers, in this order, with their overlays if wanted. Those
     * that do not exist are left out. Arena. */
    enum rc (*revisions_by_seq)(struct db *db, const int64_t *seqs, size_t n, bool with_overlays,
                                struct arena *a, struct revision **out, size_t *n_out,
                                struct err *err);

    /* What retention has taken from these feeds; `all`: from any. Ask after the rows were read, or
     * in the same snapshot: a reader whose position is not before it lacks nothing. */
    enum rc (*horizon)(struct db *db, const int64_t *ids, size_t n, bool all,
                       struct log_horizon *out, struct err *err);

    /* The next feeds after `after` that have entries which are gone since `before` or longer,
     * ascending, at most `max`. */
    enum rc (*gone_feeds)(struct db *db, int64_t after, int64_t before, size_t max, int64_t *ids,
                          size_t *n, struct err *err);

    /* As reader_keep_wishes(). */
    enum rc (*keep_wishes)(struct db *db, int64_t after, size_t max, bool all,
                           struct keep_wishes *out, size_t *n, struct err *err);

    /* The event times of rows, microseconds, into at_us[n]; 0 where there is no such row. */
    enum rc (*revisions_times)(struct db *db, const int64_t *seqs, size_t n, int64_t *at_us,
                               struct err *err);

    /* Seq of the last revision at or before a time (microseconds); 0: there is none. `last`: the
     * last seq that counts. */
    enum rc (*revisions_at)(struct db *db, int64_t at_us, int64_t last, int64_t *seq,
                            struct err *err);

    /* Keys of the entries of v->feed_ids in the order of a view by date, at most `max`, into the
     * arrays seqs and iris of that length. v->len and v->skip do not count, and entries that share
     * an id all appear. Of the filter only its end counts, and only in a VIEW_NEWEST. */
    enum rc (*newest_keys)(struct db *db, const struct view *v, size_t max, struct arena *scratch,
                           int64_t *seqs, int64_t *iris, size_t *n_out, struct err *err);

    /* Keys of a view's rows in its order, which is not by date, at most `max`, into the
     * array seqs of that length. v->len and v->skip do not count. */
    enum rc (*view_keys)(struct db *db, const struct view *v, size_t max, struct arena *scratch,
                         int64_t *seqs, size_t *n_out, struct err *err);

    /* ---- the index of words (storage/index.h) ---- */

    /* How far it is filled. */
    enum rc (*index_place)(struct db *db, struct index_place *out, struct err *err);

    /* Is the index, which is at this place, so large because of revisions that are gone that it
     * should be made anew? It counts all revisions. NULL: it loses their rows when they go. */
    enum rc (*index_is_waste)(struct db *db, const struct index_place *place, bool *out,
                              struct err *err);

    /* Revisions between two numbers, both exclusive, whose terms meet the condition: in any order,
     * at most `max`, into the array seqs of that length. Some of them may be gone. */
    enum rc (*terms_find)(struct db *db, const struct term_query *q, int64_t after, int64_t before,
                          size_t max, struct arena *scratch, int64_t *seqs, size_t *n_out,
                          struct err *err);

    /* Which of these revisions meet it: out[n]. The engine may stop to look when it takes long: the
     * rest of them are said to meet it. */
    enum rc (*terms_among)(struct db *db, const struct term_query *q, const int64_t *seqs, size_t n,
                           struct arena *scratch, bool *out, struct err *err);

    /* What is known of these revisions without their texts: out[n]; seq 0: it is gone. */
    enum rc (*revision_keys)(struct db *db, const int64_t *seqs, size_t n, struct revision_key *out,
                             struct err *err);

    /* ---- mirrored files ---- */

    /* As reader_mirrors() and the others of storage/mirrors.h. */
    enum rc (*mirrors_of)(struct db *db, const struct str *keys, size_t n, struct arena *a,
                          struct mirrored **out, size_t *n_out, struct err *err);
    enum rc (*mirrors_first)(struct db *db, enum mirror_list list, int64_t until, size_t skip, size_t max,
                             struct arena *a, struct mirrored **out, size_t *n_out,
                             struct err *err);
    enum rc (*mirrors_file)(struct db *db, struct str sha256, struct arena *a, struct mirrored *out,
                            struct err *err);
    enum rc (*mirrors_place)(struct db *db, int64_t *seq, int64_t *bytes, struct err *err);
    enum rc (*mirrors_entries)(struct db *db, int64_t after, int64_t to, struct arena *a,
                               struct mirror_entry **out, size_t *n_out, struct err *err);
    enum rc (*mirrors_wish)(struct db *db, struct str key, struct arena *a, struct mirror_wish *out,
                            struct err *err);
    enum rc (*mirrors_looks)(struct db *db, struct str after, size_t max, struct arena *a,
                             struct mirror_look **out, size_t *n_out, struct err *err);

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

    /* As reader_deleted_since(). */
    enum rc (*deletions_since)(struct db *db, const int64_t *feed_ids, size_t n_feeds, int64_t seq,
                               bool *out, struct err *err);

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

    /* The same, as reader_feeds_shown(). */
    enum rc (*feeds_shown)(struct db *db, const int64_t *ids, size_t n, struct arena *a,
                           struct feed **out, size_t *n_out, struct err *err);

    /* As reader_listed(). */
    enum rc (*feeds_listed)(struct db *db, const int64_t *ids, size_t n, struct arena *a,
                            struct feed_summary **out, size_t *n_out, struct err *err);

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

    /* The same of the next feeds after `after`, ascending, at most `max`. */
    enum rc (*briefs_after)(struct db *db, int64_t after, size_t max, struct arena *a,
                            struct directory_feed *out, size_t *n_out, struct err *err);

    /* The newest keys of these feeds, at most `max` (<= DIRECTORY_KEYS) of each: out[i] is that of
     * ids[i]. */
    enum rc (*briefs_keys)(struct db *db, const int64_t *ids, size_t n, size_t max,
                           struct key_run *out, struct err *err);

    /* As reader_host_rests(). */
    enum rc (*host_rests)(struct db *db, struct arena *a, struct host_rest **out, size_t *n_out,
                          struct err *err);

    /* ---- subscriptions ---- */

    /* As reader_subs(), reader_subs_after() and reader_subs_listed(). Arena. */
    enum rc (*subs_by_id)(struct db *db, const int64_t *ids, size_t n, struct arena *a,
                          struct subscription **out, size_t *n_out, struct err *err);
    enum rc (*subs_after)(struct db *db, int64_t after_id, size_t max, struct arena *a,
                          struct subscription **out, size_t *n_out, struct err *err);
    enum rc (*subs_listed)(struct db *db, int64_t after_id, size_t max, struct arena *a,
                           struct sub_summary **out, size_t *n_out, struct err *err);

    /* As reader_followers(). */
    enum rc (*subs_of_list)(struct db *db, int64_t feed_id, struct arena *a,
                            struct list_followers *out, struct err *err);

    /* As reader_asking(). Arena. */
    enum rc (*subs_asking)(struct db *db, struct arena *a, int64_t **out, size_t *n_out,
                           struct err *err);

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
    enum rc (*dead_counts)(struct db *db, int64_t first, int64_t last, struct arena *a,
                           struct dead_count **out, size_t *n_out, struct err *err);

    /* ---- hubs ---- */

    /* As reader_hub_intents(), reader_hub_lease(), reader_upstreams() and reader_upstreams_of(). */
    enum rc (*hub_intents_after)(struct db *db, int64_t id, size_t max, struct arena *a,
                                 struct hub_intent **out, size_t *n_out, struct err *err);
    enum rc (*hub_lease)(struct db *db, int64_t sub_id, struct arena *a, struct hub_lease *out,
                         struct err *err);
    enum rc (*upstreams)(struct db *db, struct arena *a, struct upstream **out, size_t *n_out,
                         struct err *err);
    enum rc (*upstreams_of)(struct db *db, const struct str *tokens, size_t n_tokens,
                            struct arena *a, struct upstream **out, size_t *n_out, struct err *err);

    /* As reader_tokens(). */
    enum rc (*tokens)(struct db *db, struct arena *a, struct token **out, size_t *n_out,
                      struct err *err);

    /* As reader_views(). */
    enum rc (*views)(struct db *db, struct arena *a, struct named_view **out, size_t *n_out,
                     struct err *err);
};

/* ---- writing ---------------------------------------------------------------------------------
 */

/* What a log knows of itself (schema.sql, table meta). */
struct log_facts {
    struct str log_id, secret; /* SECRET */
    int64_t last_seq, last_at_us, version;
};

/* Whom writes->run() calls. */
struct group_calls {
    void *ctx;

    /* Read what a transaction means for others. Only an engine that has one writer calls this,
     * before the commit. It may be called again when the transaction is repeated; the last call
     * counts. */
    enum rc (*read_news)(void *ctx, struct txn *t, struct err *err);

    /* A transaction with these operations is on disk, and the numbers of its notes are those of the
     * log: tell others of it. With an engine that has several writers this may fail, and is to be
     * called again. */
    enum rc (*stored)(void *ctx, struct txn *t, struct op **ops, size_t n, struct err *err);

    /* These operations are done: rc, err and result of each are set. They are given. */
    void (*answer)(void *ctx, struct op **ops, size_t n);
};

/* What two feeds that became one leave to be noted. */
struct merged_feeds {
    int64_t *subs; /* the subscriptions of the feed that is gone; arena */
    size_t n_subs;
    int64_t n_entries, n_items; /* as in struct feed, of the feed that stays; and so is the next */
    int n_subscriptions;
    int64_t loser; /* a third feed, of which the page of *from was an alias; 0: of none */
};

/* The oldest revisions of a feed. Arena. */
struct old_revisions {
    struct old_revision *rows; /* ascending by seq */
    size_t n;
    int64_t needed_after; /* what comes after it some subscription may not have been given yet */
};

/* The storer's connection. Only health() and stop() may be called by other threads. */
struct writes {
    /* The address by which readers open the same database. Borrowed. */
    const char *(*address)(const struct db *db);

    /* The facts of the log. Arena. */
    enum rc (*facts)(struct db *db, struct arena *a, struct log_facts *out, struct err *err);

    /* Seal the secrets of feeds that are in plain (base/seal.h), in one transaction. A daemon that
     * gets a key for the first time does it before it reads anything, and notes which key that was. RC_DENIED: some
     * are sealed with another key, or another one is noted. What came now would be sealed with this one, and no key
     * would open all. NULL: this daemon has none, so the note of a
     * key is taken away, unless other nodes are alive. */
    enum rc (*seal)(struct db *db, const struct seal_key *key, struct err *err);

    /* Carry out operations, as many as possible in one transaction, in their order. If the database
     * refuses one, only that one fails. All are answered. `t` has the numbers given out so far, and
     * no notes; nor has it any after the call. A database that is not within reach is waited for.
     * False: the wait was stopped; operations that were not stored have failed. */
    bool (*run)(struct db *db, struct txn *t, struct op **ops, size_t n,
                const struct group_calls *calls);

    /* Add rows to the index of words, in a transaction of its own. RC_CONFLICT: it is at another
     * place. RC_AGAIN, RC_UNAVAILABLE: the database is not within reach, and is not waited for. */
    enum rc (*index)(struct db *db, const struct index_group *g, struct err *err);

    /* Store what became of mirrored files, in the same way. RC_CONFLICT: as store_mirror(). */
    enum rc (*mirror)(struct db *db, const struct mirror_change *c, struct err *err);

    /* Give some of what is free in the file back to the file system, a step that takes
     * milliseconds, in the same way: *n bytes. NULL: nothing is ever free (reads->size()). */
    enum rc (*give_back)(struct db *db, int64_t *n, struct err *err);

    /* There was nothing to write for some seconds. */
    void (*rest)(struct db *db);

    /* As store_health(). */
    enum rc (*health)(struct db *db, struct err *err);

    /* End what run() and rest() wait for, for good. */
    void (*stop)(struct db *db);

    /* What an operation does in the middle of a transaction (storage/txn.h). load() holds the rows
     * that are wanted and not held yet, of which all changes must have been written. write() writes
     * the rows that were changed, so that statements see them. */
    enum rc (*load)(struct db *db, struct rows *r, const struct wants *w, struct err *err);
    enum rc (*write)(struct db *db, struct txn *t, struct err *err);

    /* The feed *from is the same as *to: give its subscriptions, events, past, entries, revisions
     * and aliases to *to, and delete it; its URL and the URL of its page become aliases. Where both
     * feeds have an entry, that of *from is deleted with its revisions. The heads of *from go along
     * if `with_heads`. What the rows themselves say is not changed. What the transaction has
     * changed must have been written, and no other row may be held. */
    enum rc (*merge_feeds)(struct db *db, const struct feed *from, const struct feed *to,
                           bool with_heads, struct arena *a, struct merged_feeds *out,
                           struct err *err);

    /* Delete feeds that have no entries and no subscriptions, with all that is known of them. The
     * same holds as for merge_feeds(). */
    enum rc (*drop_feeds)(struct db *db, const int64_t *ids, size_t n, struct err *err);

    /* Delete a feed with its entries, its revisions and all else that it has, and take it out of
     * all subscriptions: *subs are their ids. The same holds as for merge_feeds(). Arena. */
    enum rc (*forget_feed)(struct db *db, int64_t id, struct arena *a, int64_t **subs,
                           size_t *n_subs, struct err *err);

    /* The revisions of a feed after `after` up to `limit`, at most `max`. Arena. */
    enum rc (*old_revisions)(struct db *db, int64_t feed_id, int64_t after, int64_t limit,
                             size_t max, struct arena *a, struct old_revisions *out,
                             struct err *err);

    /* Delete these revisions of a feed, and of its events and heads those that only what was taken
     * up to now had. The entries stay as what is known of them: they are gone since `now`. The same
     * holds as for merge_feeds(). */
    enum rc (*take_revisions)(struct db *db, int64_t feed_id, const struct taken *what, int64_t now,
                              struct err *err);

    /* Entries of a feed that are gone since `before` or longer, after *after, at most `max`, in the
     * order of that time and their ids. Arena. */
    enum rc (*gone_entries)(struct db *db, int64_t feed_id, const struct gone_entry *after,
                            int64_t before, size_t max, struct arena *a, struct gone_entry **out,
                            size_t *n, struct err *err);

    /* Delete the entries that end, and note that the others were shown at `now`. The same holds as
     * for merge_feeds(). */
    enum rc (*end_entries)(struct db *db, int64_t feed_id, const struct ended *what, int64_t now,
                           struct err *err);
};

/* ---- following the commits of other nodes --------------------------------------------------- */

struct follows {
    /* Wait until another node has committed, or wake() was called, for `ms` at most. Without a
     * connection it waits a while, and connects: *err says why it could not. RC_CLOSED: stop() was
     * called. What was committed while there was no connection is told by nobody. */
    enum rc (*wait)(struct db *db, int64_t ms, struct err *err);

    /* Delete notices that are so old that nobody waits for them, and rests of hosts that are over,
     * at most a few thousand. *more: there may be others. */
    enum rc (*prune)(struct db *db, bool *more, struct err *err);

    /* End wait() now; end it, and all else that the connection waits for, for good. Any thread. */
    void (*wake)(struct db *db);
    void (*stop)(struct db *db);
};

/* A copy of the database which a server keeps up to date, a little late. */
struct replica_cfg {
    const char *address;         /* borrowed, as long as the reader lives */
    struct str log_id;           /* what is in the copy must be the same log; borrowed, too */
    int64_t (*known)(void *ctx); /* the notice that a copy must have; any thread */
    void *ctx;
};

struct engine {
    const char *name;

    /* Could this be the address of a database? Nothing is made, locked or connected to; call it while
     * this process has no database open. RC_INPUT: no; *err says why. */
    enum rc (*judge)(const char *address, struct err *err);

    /* Open a connection for reading only. A writer has made the database before. */
    enum rc (*open_reader)(const char *address, struct db **out, struct err *err);

    /* A reader that was just opened may also read from a copy, when reads->allow_replica() says so.
     * The copy need not be within reach. RC_INPUT: the address is not understood; RC_CONFLICT: it
     * is another log. NULL: the engine has no copies. */
    enum rc (*use_replica)(struct db *db, const struct replica_cfg *cfg, struct err *err);

    /* Open the connection that writes, with a database that is ready: made if there was none,
     * locked for this process, its schema up to date. `check`: look at
     * all of it for damage first. `is_shared`: other processes may have it, too, if the engine can
     * have several writers. It is closed after all others. Errors: as store_open(). */
    enum rc (*open_writer)(const char *address, bool check, bool is_shared, struct db **out,
                           struct err *err);

    /* Open a connection that follows the commits of all but this writer, which stays the caller's.
     * It reads, too. NULL: the engine has one writer. */
    enum rc (*open_follower)(struct db *writer, struct db **out, struct err *err);

    const struct node_calls *nodes; /* NULL: only one daemon works on a database */

    /* Care of a database by this program (storage/upkeep.h). */
    const struct upkeep_calls *upkeep;
};

extern const struct engine engine_sqlite, engine_postgresql;

/* The engine of an address, by its scheme: a path is SQLite's. RC_UNSUPPORTED: it is not there. */
enum rc engine_of(struct str address, const struct engine **out, struct err *err) NODISCARD;

/* storage/store_reads.h - readers, and all typed reads: a part of storage/store.h, which everybody includes.
 */
#pragma once

#include "storage/store.h"

/* Run fn(ctx, reader) on a reader thread; the reader is valid during the call. RC_FULL: too many
 * jobs wait, so the caller must do less. RC_CLOSED: the store is closing. In both cases fn does not
 * run. Any thread. */
typedef void store_read_fn(void *ctx, struct reader *r);
enum rc store_read(struct store *s, store_read_fn *fn, void *ctx) NODISCARD;

/* Open a reader for the calling thread only, and close it before the store is closed. NULL: it
 * failed, and the log says why.
 *
 * All calls that follow take a reader, and are made on its thread. They may take milliseconds, so
 * an event loop must not make them. Besides the errors that they name, they give RC_IO. "Arena":
 * the result is in the arena. */
struct reader *reader_open(struct store *s);
void reader_close(struct reader **rp);

/* Between these two, all calls see one state of the database: that of the first call that looks at
 * it. What the directory knows is newer. Soon: the write-ahead log grows meanwhile. */
enum rc reader_state_begin(struct reader *r, struct err *err) NODISCARD;
void reader_state_end(struct reader *r);

/* Readings with a filter may have to judge all that the feeds have. Between reader_by_steps(r, h)
 * and reader_by_steps(r, NULL), reader_rows() judges about `step` rows of such a view, and gives
 * RC_TIMEOUT if there may be more; called again with the same view, it goes on from there, also
 * with another reader. Its rows then live as long as `h`, and what came into the view between two
 * steps may be missing or not. The view's feeds, filter and so on must stay where they are. */
struct hunts;
struct hunts *hunts_new(size_t step);
void hunts_free(struct hunts **hp);
bool hunts_are_cut(const struct hunts *h); /* did a reading end so? */
void reader_by_steps(struct reader *r, struct hunts *hunts);

/* The rows of a view, in its order. Arena. When several feeds have entries with the same absolute
 * IRI as id, a view by date has only the first of these entries in its order. after_seq and
 * before_seq limit the seq by which the view is ordered: in a VIEW_CREATED and a VIEW_RECEIVED, the
 * seq of the entry's first revision; in the others, the row's own. In a VIEW_RECEIVED or
 * VIEW_CHANGED the bounds of a filter's dates are times at which revisions came in. RC_LIMIT: more
 * than a million rows must be shown or skipped.
 *
 * With a filter, only what matches is shown, and `len` and `skip` count after it. If the view has
 * deletions, it also has rows of the kind REV_LEFT, and deletions only of what matched before: in a
 * VIEW_LOG, if the revision before it matched; in views of current revisions, if any earlier one
 * did. An entry with very many revisions may be told to have left although it never was there. So
 * whoever follows such a view has what matches, and nothing else. Fewer rows than `len`: there are
 * no more up to the end of the view. */
enum rc reader_rows(struct reader *r, const struct view *v, struct arena *a, struct revision **out,
                    size_t *n_out, struct err *err) NODISCARD;

/* Remove the rows that a merged view of the newest entries would not show. `rows` are a
 * VIEW_MODIFIED of these feeds after `after_seq`. Of several entries with the same id, only the
 * newest is kept. It is removed, too, if a client that has everything up to `after_seq` has already
 * seen that version. Deletions are always kept. */
enum rc reader_without_doubles(struct reader *r, const int64_t *feed_ids, size_t n_feeds,
                               int64_t after_seq, struct revision *rows, size_t *n_rows,
                               struct err *err) NODISCARD;

/* One feed, with its head. RC_NOT_FOUND. Arena. */
enum rc reader_feed(struct reader *r, int64_t id, struct arena *a, struct feed **out,
                    struct err *err) NODISCARD;

/* The feeds with these ids, in the order of `ids`, without those that are missing. `ids` NULL: all
 * feeds, in order of their ids. Arena. */
enum rc reader_feeds(struct reader *r, const int64_t *ids, size_t n, struct arena *a,
                     struct feed **out, size_t *n_out, struct err *err) NODISCARD;

/* The same, but only what documents show of a feed is sure to be there: its head, and the members
 * that FEED_SHOWN (storage/tables.h) lists. A feed has many more columns, and a merge reads many
 * feeds. */
enum rc reader_feeds_shown(struct reader *r, const int64_t *ids, size_t n, struct arena *a,
                           struct feed **out, size_t *n_out, struct err *err) NODISCARD;

/* What a list of feeds shows of each of these, in order of their ids, without those that are
 * missing. Arena. */
struct feed_summary {
    int64_t id;
    struct str url, title, last_error; /* as in struct feed, like the rest */
    enum feed_state state;
    bool is_paused, is_list;
    int level;
    int64_t period_s, last_check_at, last_change_at, next_fetch_at;
    enum fetch_reason next_reason;
    int last_status, n_errors;
    int64_t n_entries;
    int n_subscriptions;
};
enum rc reader_listed(struct reader *r, const int64_t *ids, size_t n, struct arena *a,
                      struct feed_summary **out, size_t *n_out, struct err *err) NODISCARD;

/* The same feeds with the url, title, site_url, head and ext that they had when the log ended with
 * `seq`. With them a document of old revisions never changes. A feed that did not exist then has
 * its first ones. With `seq` 0 all feeds have their first ones; permanent ids are made from these.
 */
enum rc reader_feeds_at(struct reader *r, const int64_t *ids, size_t n, int64_t seq,
                        struct arena *a, struct feed **out, size_t *n_out,
                        struct err *err) NODISCARD;

/* out[i]: the feed of rows[i], with the url, title, site_url, head and ext that it had when the row
 * came; id 0: the feed is gone. Arena. */
enum rc reader_sources(struct reader *r, const struct revision *rows, size_t n, struct arena *a,
                       struct feed **out, struct err *err) NODISCARD;

/* Write to out[i] when the entry of rows[i] was first seen, in microseconds since 1970. */
enum rc reader_created(struct reader *r, const struct revision *rows, size_t n, int64_t *out,
                       struct err *err) NODISCARD;

/* Write to out[i]: does another of these feeds have an entry with the same uid that came before the
 * entry of rows[i]? This takes one look-up for each row and feed. */
enum rc reader_elders(struct reader *r, const int64_t *ids, size_t n_ids,
                      const struct revision *rows, size_t n, bool *out, struct err *err) NODISCARD;

/* Of the entries of these feeds that have this uid, the one that came first: the seq of its first
 * and of its newest revision; 0: there is none. */
enum rc reader_oldest_of_uid(struct reader *r, const int64_t *ids, size_t n, struct str uid,
                             int64_t *first_seq, int64_t *seq, struct err *err) NODISCARD;

/* How many entries these feeds have together, deleted ones included or not. */
enum rc reader_count(struct reader *r, const int64_t *ids, size_t n, bool with_deleted,
                     int64_t *out, struct err *err) NODISCARD;

/* How many entries of these feeds have a seq between `from` and `to`, both included: that of their
 * newest revision, or of their first (`by_creation`). Counted to `max`. Deleted ones count. */
enum rc reader_count_between(struct reader *r, const int64_t *ids, size_t n, bool by_creation,
                             int64_t from, int64_t to, int64_t max, int64_t *out,
                             struct err *err) NODISCARD;

/* The log of a set of feeds is divided into pages of `size` revisions of every kind, in the order
 * in which they were added. Pages are numbered from 0. All pages but the newest are full and never
 * change, so they can be archive documents. (When two feeds merge, the pages of the feed that is
 * gone end, and the revisions of the other feed may move to other pages.) */
struct log_page {
    int64_t n;       /* its number */
    int64_t n_pages; /* how many there are; with a filter perhaps more, if three follow */
    int64_t first_seq, last_seq; /* of its rows */
    size_t n_rows;
};

struct page_set {
    const int64_t *ids; /* of feeds: ascending, without doubles */
    size_t n_ids;
    size_t size;                 /* revisions of a page */
    const struct filter *filter; /* only the revisions that match, and what has left; or NULL */
};

/* Find page `n`; n < 0: the newest page. RC_NOT_FOUND: there is no such page, or the log of the set
 * is empty. With a filter all revisions up to the page are judged, once; RC_TIMEOUT: a part of them
 * was, and the next call goes on. */
enum rc reader_page(struct reader *r, const struct page_set *set, int64_t n, struct log_page *out,
                    struct err *err) NODISCARD;

/* sort_at of the oldest entry of a feed that is not deleted; TIME_UNKNOWN: it has none. */
enum rc reader_oldest(struct reader *r, int64_t feed_id, int64_t *at, struct err *err) NODISCARD;

/* The metadata record of a feed whose content must be requested next. entry_id 0: none is due now.
 * Arena. */
struct pending_content {
    int64_t entry_id, seq;
    int form; /* which of its alternates to ask for, as feed/lists/metadata.h orders them */
    struct str doc, ext;
};
enum rc reader_pending_content(struct reader *r, int64_t feed_id, int64_t now, struct arena *a,
                               struct pending_content *out, struct err *err) NODISCARD;

/* Call fn for each feed that has metadata records without content, due or not. */
typedef void reader_content_fn(void *ctx, int64_t feed_id);
enum rc reader_content_feeds(struct reader *r, reader_content_fn *fn, void *ctx,
                             struct err *err) NODISCARD;

/* *n: how many entries of these feeds have their newest revision at or after `seq`. *n_deleted: how
 * many of these are deleted. */
enum rc reader_changed_since(struct reader *r, const int64_t *ids, size_t n_ids, int64_t seq,
                             int64_t *n, int64_t *n_deleted, struct err *err) NODISCARD;

/* *out: was an entry of these feeds deleted by a revision at or after `seq`, and is it still? */
enum rc reader_deleted_since(struct reader *r, const int64_t *ids, size_t n_ids, int64_t seq,
                             bool *out, struct err *err) NODISCARD;

/* The entries of a feed that have one of these uids or one of these keys (marks_keys()), each entry
 * once. Of the entries with the same key, only the newest IDENTITY_CANDIDATES are returned. This
 * takes one look-up for each uid and key. Arena. */
struct known_entry {
    struct identity_known identity;
    int64_t id;
    bool deleted;
    int64_t first_seq, seq;     /* of its first and newest revision */
    unsigned char doc_hash[16]; /* digest_content() of doc and ext, one after the other */
    int64_t sort_at;            /* of an undated entry: when this version of it came in */
};
enum rc reader_known(struct reader *r, int64_t feed_id, const struct str *uids, size_t n_uids,
                     const int64_t *keys, size_t n_keys, struct arena *a, struct known_entry **out,
                     size_t *n_out, struct err *err) NODISCARD;

/* Find a subscription by its sink, its endpoint and the settings of its sink: *id, or 0. *n_owned:
 * how many of this sink have the endpoint `owner`, or one that begins with it and a slash. It looks
 * at all subscriptions. */
enum rc reader_find_sub(struct reader *r, struct str sink, struct str endpoint, struct str settings,
                        struct str owner, int64_t *id, int64_t *n_owned, struct err *err) NODISCARD;

/* One subscription, with its feeds. RC_NOT_FOUND. Arena. */
enum rc reader_sub(struct reader *r, int64_t id, struct arena *a, struct subscription **out,
                   struct err *err) NODISCARD;

/* The subscriptions with these ids, with their feeds, in the order of `ids`, without those that are
 * missing. `ids` NULL: all subscriptions, in order of their ids. Arena. */
enum rc reader_subs(struct reader *r, const int64_t *ids, size_t n, struct arena *a,
                    struct subscription **out, size_t *n_out, struct err *err) NODISCARD;

/* The ids of the subscriptions that follow something (`asks`), ascending. Arena. */
enum rc reader_asking(struct reader *r, struct arena *a, int64_t **out, size_t *n_out,
                      struct err *err) NODISCARD;

/* The next subscriptions with an id above `after_id`, in order of their ids, at most `max`.
 * Arena. */
enum rc reader_subs_after(struct reader *r, int64_t after_id, size_t max, struct arena *a,
                          struct subscription **out, size_t *n_out, struct err *err) NODISCARD;

/* The same, of each only what a list of all is searched and sorted by: much less than the subscription with its feeds. Arena. */
struct sub_summary {
    int64_t id, owner; /* as in struct subscription, like the rest */
    int64_t created_at, failing_since;
    enum sub_state state;
    struct str endpoint, sink;
    int64_t n_feeds;
};
enum rc reader_subs_listed(struct reader *r, int64_t after_id, size_t max, struct arena *a,
                           struct sub_summary **out, size_t *n_out, struct err *err) NODISCARD;

/* The subscriptions that follow this record as a list of feeds. Arena. */
struct list_followers {
    int64_t *subs; /* their ids, ascending */
    size_t n;
    size_t n_others; /* subscriptions that have it as a feed */
};
enum rc reader_followers(struct reader *r, int64_t feed_id, struct arena *a,
                         struct list_followers *out, struct err *err) NODISCARD;

/* May the calls that follow be answered by a copy of the database? It is never older than the
 * directory, but it may lack what no notice tells, such as the outcome of a delivery: so this is
 * for documents. Returns true if a copy has answered since the last call of this function. Then a
 * call that failed with RC_AGAIN may do so because of the copy, and the database itself would
 * answer. */
bool reader_allow_replica(struct reader *r, bool may);

/* Give back the memory of the reader's cache, after much was read that is not read again soon. */
void reader_shrink(struct reader *r);

/* All tokens of callers, in order of their ids. Arena. */
enum rc reader_tokens(struct reader *r, struct arena *a, struct token **out, size_t *n_out,
                      struct err *err) NODISCARD;

/* All named views, in order of their names. Arena. */
enum rc reader_views(struct reader *r, struct arena *a, struct named_view **out, size_t *n_out,
                     struct err *err) NODISCARD;

/* The hosts whose rest is not over, or was over within a day. Arena. */
enum rc reader_host_rests(struct reader *r, struct arena *a, struct host_rest **out, size_t *n_out,
                          struct err *err) NODISCARD;

/* All our subscriptions at upstream hubs and clouds. Tokens and secrets are SECRET. Arena. */
enum rc reader_upstreams(struct reader *r, struct arena *a, struct upstream **out, size_t *n_out,
                         struct err *err) NODISCARD;

/* Those of them with these tokens, in no particular order; what does not exist is left out. Found
 * by their key. Arena. */
enum rc reader_upstreams_of(struct reader *r, const struct str *tokens, size_t n_tokens,
                            struct arena *a, struct upstream **out, size_t *n_out,
                            struct err *err) NODISCARD;

/* The intents with an id above `after_id`, in order of their ids, at most `max`. They have secrets,
 * which only the notifier may use. Arena. */
enum rc reader_hub_intents(struct reader *r, int64_t after_id, size_t max, struct arena *a,
                           struct hub_intent **out, size_t *n_out, struct err *err) NODISCARD;

/* The lease of a WebSub subscription. It has a secret, so only the notifier may call this.
 * RC_NOT_FOUND. Arena. */
enum rc reader_hub_lease(struct reader *r, int64_t sub_id, struct arena *a, struct hub_lease *out,
                         struct err *err) NODISCARD;

/* The address of a feed and its title, which is null when it has none. RC_NOT_FOUND. Arena. */
enum rc reader_feed_name(struct reader *r, int64_t feed_id, struct arena *a, struct str *url,
                         struct str *title, struct err *err) NODISCARD;

/* Call fn with the due time of each scheduled feed, for the start of the sweeper. REASON_PING: the
 * feed was not fetched since the ping. */
typedef void reader_due_fn(void *ctx, int64_t feed_id, int64_t next_fetch_at,
                           enum fetch_reason reason);
enum rc reader_due(struct reader *r, reader_due_fn *fn, void *ctx, struct err *err) NODISCARD;

/* What retention has taken from these feeds; `all`: from any. It is asked after rows were read: a
 * reader whose position was not before out->seq lacked nothing. */
struct history_end {
    int64_t seq;   /* the highest revision that is gone; 0: none is */
    int64_t at_us; /* its event time */
};
enum rc reader_history_end(struct reader *r, const int64_t *ids, size_t n, bool all,
                           struct history_end *out, struct err *err) NODISCARD;

/* The seq up to which revisions of a feed are too old: `old_seq`, or what stands before its newest
 * `keep_entries` entries (0: any number). */
struct old_limit {
    int64_t limit; /* 0: nothing of it is */
    int64_t next;  /* the first of its revisions after that; INT64_MAX: there is none */
};
enum rc reader_old_limit(struct reader *r, int64_t feed_id, int64_t old_seq, int64_t keep_entries,
                         struct old_limit *out, struct err *err) NODISCARD;

/* How much is free in the database's file, bytes. */
enum rc reader_free_bytes(struct reader *r, int64_t *n, struct err *err) NODISCARD;

/* The next feeds after `after` that have entries which are gone since `before` or longer,
 * ascending, at most `max`. */
enum rc reader_gone_feeds(struct reader *r, int64_t after, int64_t before, size_t max, int64_t *ids,
                          size_t *n, struct err *err) NODISCARD;

/* How much is to be kept of the next feeds after `after`, ascending by id, at most `max`; `all`:
 * also of feeds without a wish. */
enum rc reader_keep_wishes(struct reader *r, int64_t after, size_t max, bool all,
                           struct keep_wishes *out, size_t *n, struct err *err) NODISCARD;

/* Seq of the last revision at or before a time (microseconds); 0: there is none. */
enum rc reader_seq_at(struct reader *r, int64_t at_us, int64_t *seq_out, struct err *err) NODISCARD;

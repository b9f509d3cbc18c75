/* storage/store.h - the one door to storage: typed reads, queued writes, commit notices.
 *
 * No SQL and no engine's name passes this header. Writes are operations that any thread hands over;
 * the storer (one thread) commits many in one transaction, a savepoint each, and answers after the
 * commit is on disk: what `done` was told has happened survives kill -9. Reads run on reader
 * threads, or on a thread that opened a reader of its own; they see a snapshot and never wait for
 * the storer. A seq once announced is on disk, and no lower one appears later.
 */
#pragma once

#include "base/arena.h"
#include "base/blob.h"
#include "base/err.h"
#include "base/str.h"
#include "model/feed.h"
#include "model/hub.h"
#include "model/view.h"

struct store;
struct reader;

struct store_cfg {
    struct str path;           /* database file; made with mode 0600 when missing */
    int n_readers;             /* reader threads, >= 1 */
    size_t queue_len;          /* writes that may wait; then RC_FULL */
    int batch_ops, batch_ms;   /* group commit: at most so many operations, so long */
    size_t cache_bytes;        /* in-process document cache */
    struct str memcached;      /* "HOST:PORT"; null: none */
    int64_t level_period_s[3]; /* levels 0, 1, 2: when a feed is due after its level was set */
};

/* Open or make the database, bring its schema up to date, load the directory, start the storer and
 * the readers. RC_IO; RC_UNSUPPORTED when the file is of a newer Feedmill or no Feedmill database.
 */
enum rc store_open(const struct store_cfg *cfg, struct store **out, struct err *err) NODISCARD;

/* Let queued writes finish, checkpoint, join all threads, free. */
void store_close(struct store **sp);

/* ---- commit notices ------------------------------------------------------------------------- */

struct feed_notice {
    int64_t feed_id;
    int64_t merged_into;   /* the record became part of that one and is gone; else 0 */
    int64_t next_fetch_at; /* TIME_UNKNOWN: not scheduled */
    int64_t content_at; /* the content of a record is to be asked for then; TIME_UNKNOWN: of none */
    int64_t first_seq;  /* of this commit's revisions of the feed; 0: none */
    bool is_new;        /* the record was made */
    bool is_pinged;     /* store_ping() named it */
};

struct commit_notice {
    int64_t last_seq; /* of the log */
    const struct feed_notice *feeds;
    size_t n_feeds;
    const int64_t *sub_ids; /* subscriptions made, changed or ended; by a push only when it
                               changed the state */
    size_t n_subs;
    const struct hub_settled *settled; /* requests of WebSub subscribers */
    size_t n_settled;
    bool has_hub_news; /* there is such a request, or a new lease */
};

/* Called on the storer's thread after each commit that changed a feed or a subscription, or what a
 * WebSub subscriber asked for, before the
 * operations' `done`, in commit order: be quick, post to a mailbox. At most 8 listeners, all added
 * before the first write. */
typedef void store_notice_fn(void *ctx, const struct commit_notice *notice);
void store_listen(struct store *s, store_notice_fn *fn, void *ctx);

/* ---- the directory: what is known without a query. Any thread ------------------------------- */

struct feed_brief {
    int64_t id, version;
    enum feed_state state;
    bool fetched; /* a document of it is stored */
    bool partial; /* but not all of its past that is known of */
    int64_t last_check_at, next_fetch_at, wanted_at;
    int64_t content_at; /* as in struct feed_notice */
    int last_status;
    int n_subscriptions;
};

/* The feed of a canonical URL (its own, an alias, or a page it was discovered from) with this
 * credential: the very one, or the feed's access key as user; null: none. */
bool store_find_feed(struct store *s, struct str url, struct str credential,
                     struct feed_brief *out);
bool store_brief(struct store *s, int64_t feed_id, struct feed_brief *out);

/* The access key that stands for the feed's credential in links of ours; null: it has none. */
struct str store_access_key(struct store *s, int64_t feed_id, struct arena *a);

/* The feed's credential, and the URL it was given with: of the page that led to the feed, or its
 * own. Null: it has none. SECRET. */
struct str store_credential(struct store *s, int64_t feed_id, struct arena *a,
                            struct str *given_at);

/* Feeds that have this canonical URL as their own, as an alias, page or site, whatever their
 * credential. Writes at most `max` ids, returns how many there are. */
size_t store_find_by_any_url(struct store *s, struct str url, int64_t *ids, size_t max);

/* The highest version among these feeds: the version of any view of them. */
int64_t store_version(struct store *s, const int64_t *ids, size_t n);

int64_t store_last_seq(struct store *s);

/* The newest revision of these feeds, by seq; 0: none. */
int64_t store_seq_of(struct store *s, const int64_t *ids, size_t n);

/* Identity of this log (a UUID made with the database): part of every cursor. Lives with the store.
 */
struct str store_log_id(struct store *s);

/* 64 hex digits made with the database, for signing what we hand out for our own use. SECRET. Lives
 * with the store. */
struct str store_secret(struct store *s);

/* ---- writes. Any thread. Everything is copied -------------------------------------------- */

/* RC_FULL or RC_CLOSED: refused, `done` is not called. RC_OK: `done` (may be NULL) is called once,
 * on the storer's thread. Its results are borrowed for the call. */
struct store_result {
    int64_t id; /* feed or subscription made or found; feed of an outcome */
    const struct subscription *sub;
    int64_t n_new, n_changed, n_deleted, last_seq;
    struct str next_archive; /* of an outcome: what is to be read next of the feed's past; null */
    bool wants_feed;         /* of a content that is gone: what does the feed say? */
    struct str next_cursor;  /* of an outcome: there is more behind it; null: not known of any */
    bool is_overtaken;       /* of an outcome: its piece is not the one that was next; not taken */
};
typedef void store_done_fn(void *ctx, enum rc rc, const struct store_result *res,
                           const struct err *err);

/* What is said of a feed beside its URL. All zero: nothing. */
struct feed_wish {
    bool has_level; /* then the next two count (as in struct sub_request) */
    int level;
    int64_t period_s;
    enum sanitize_setting sanitize;
    struct str name, folder, category; /* of struct sub_feed */
    struct str title, site_url;        /* what is known of a new record until it is fetched */
};

struct feed_ref {
    struct str url;        /* canonical, without credential */
    struct str credential; /* null when none */
    struct str shown_url;  /* as the caller wrote it, without credential; for subscriptions */
    struct feed_wish wish; /* for subscriptions */
};

/* Make the feed's record unless it is there (level 1, due at once). */
enum rc store_add_feed(struct store *s, const struct feed_ref *ref, store_done_fn *done,
                       void *ctx) NODISCARD;

/* Subscribe: makes records as needed; position is the end of the log unless said otherwise. */
struct sub_request {
    struct str endpoint; /* canonical URL without credential; null: nothing is pushed */
    struct str endpoint_credential;
    struct str sink; /* "xmlrpc" */
    const struct feed_ref *feeds;
    size_t n_feeds;
    int level; /* 0..2, LEVEL_EXACT, or LEVEL_KEEP; of feeds that have no wish of their own */
    int64_t period_s;
    enum sanitize_setting sanitize; /* the same */
    bool from_given;                /* from=...: what was there before, too */
    int64_t from_seq;               /* exclusive */
};
#define LEVEL_KEEP (-2)
enum rc store_subscribe(struct store *s, const struct sub_request *req, store_done_fn *done,
                        void *ctx) NODISCARD;

/* Take feeds (by canonical URL or as subscribed, with any credential) out of a subscription, or all
 * when n is 0; an empty subscription is gone. RC_NOT_FOUND: no such subscription. */
enum rc store_unsubscribe(struct store *s, int64_t sub_id, const struct str *urls, size_t n,
                          store_done_fn *done, void *ctx) NODISCARD;

/* What a push came to. */
struct push_outcome {
    int64_t sub_id;
    int64_t position; /* new position, or 0: unmoved */
    bool fault;
    int64_t n_entries; /* delivered */
    bool failed;
    struct str error;
    int64_t next_try_at; /* TIME_UNKNOWN when none is pending */
    enum sub_state state;
    bool ended; /* the subscription ends with it */
};
enum rc store_push_outcome(struct store *s, const struct push_outcome *o, store_done_fn *done,
                           void *ctx) NODISCARD;

/* Make a suspended subscription active again, or set its position (position < 0: keep it). */
enum rc store_resume(struct store *s, int64_t sub_id, int64_t position, store_done_fn *done,
                     void *ctx) NODISCARD;

/* One entry as a fetch found it: new, changed or deleted against what was known. `updated_at` of a
 * deletion is its own time; a stored entry that is dated later outlives it. */
struct entry_change {
    enum revision_kind kind;
    struct str uid;
    unsigned char essence[16];
    unsigned char old_essence[16]; /* of the known entry that was compared */
    struct entry_marks marks;      /* not for a deletion */
    int64_t published_at, updated_at;
    int64_t updated_us; /* the fraction of that second */
    struct str title, link, summary, author, doc, ext;
    bool volatile_only; /* no event: replaces document and marks in place */
    int64_t stands_at;  /* of an undated entry of the past: its place; 0: when it came in */
    bool is_record;     /* of Atom-PMH: its content is to be fetched */
    size_t place;       /* in a piece of a stream: the order of events */
};

/* A deletion of an entry that may not be known. */
struct doc_grave {
    struct str uid;
    int64_t when_us; /* microseconds */
};

/* Where a document leads, and what it says of its time. */
struct doc_past {
    struct str older; /* canonical URL of the document with what came before; null: none */
    bool whole;       /* it was read to its end: what it does not lead to is not wanted */
    bool records;     /* of Atom-PMH: older documents are read until one goes back behind ... */
    int64_t oldest, newest; /* ... the newest that was known; of its entries; TIME_UNKNOWN */
    const struct doc_grave *graves;
    size_t n_graves;
};

/* The place of a document in the stream of a Smart Feed: what is in it follows `from`. It is taken
 * when the record is still there. */
struct doc_piece {
    bool known;        /* else nothing of this counts */
    struct str from;   /* the record's cursor when it was asked for; null: it had none */
    struct str cursor; /* the record's from now on; null: the feed is not followed any more */
    bool more;         /* there is more behind it */
    bool is_refused;   /* the record's cursor was: this is the first piece of all */
};

/* What a fetch came to. Empty strings clear, null strings keep what is stored. */
struct fetch_outcome {
    int64_t feed_id;
    int64_t checked_at;
    bool ok; /* a document was understood, or 304, or the same body */
    int status;
    struct str error; /* when !ok */
    struct str url;   /* the record's URL from now on; another record that has it takes over */
    struct str page_url;
    const struct str *aliases;
    size_t n_aliases;
    struct str etag, last_modified;
    bool has_body_hash;
    unsigned char body_hash[16];
    /* Not null: this is no fetch of the feed but of this document of its past. Then feed_id,
     * checked_at, ok, past, changes and docs count, and changes only for what is unknown or of a
     * later date. */
    struct str archive;
    bool has_document; /* then the following count */
    bool complete;
    struct doc_past past;
    struct doc_piece piece;
    struct str head, head_ext, title, site_url;
    struct doc_hint_row hints;
    bool has_identity; /* then this replaces the feed's */
    struct identity_policy identity;
    const struct entry_change *changes; /* in document order */
    size_t n_changes;
    /* Holds each change's `doc`; moved on RC_OK, and empty then. NULL: all strings are copied. */
    struct arena *docs;
    enum feed_state state;
    int level; /* LEVEL_KEEP or the new one */
    int n_errors;
    int64_t next_fetch_at;
    enum fetch_reason next_reason;
    /* A hub delivered the document: entries of it are taken, nothing else of the record changes. */
    bool is_delivery;
    int trust_was, trust; /* of the record's hub, before and after this poll (struct upstream) */
    bool raw_html;        /* the setting that the document was read under */
    int64_t n_pings;      /* of the record when the fetch began: a later ping keeps the feed due */
};
enum rc store_fetch_outcome(struct store *s, const struct fetch_outcome *o, store_done_fn *done,
                            void *ctx) NODISCARD;

/* What the request for the content of a record came to. */
enum content_answer {
    ANSWER_CONTENT, /* it is there */
    ANSWER_OTHER,   /* nothing that can be taken in */
    ANSWER_GONE,    /* 403, 404, 410 */
    ANSWER_OPEN,    /* to be asked again: refused, failed, or not reached */
};
struct content_outcome {
    int64_t feed_id, entry_id;
    int64_t seq; /* of the revision that led there: a later one makes this void */
    int64_t checked_at;
    enum content_answer answer;
    int form, n_forms;     /* which alternate it was, and how many could be asked */
    int64_t retry_after_s; /* ANSWER_OPEN: the publisher asks for it; -1 */
    bool is_ours;          /* ANSWER_OPEN: nobody is charged for it */
    bool is_lone;          /* ANSWER_OPEN: it says nothing of other records */
    struct str doc, ext, summary,
        author; /* ANSWER_CONTENT: of the entry with it, as in struct entry_change */
};
/* `done` gets RC_OK also when it is void. */
enum rc store_content_outcome(struct store *s, const struct content_outcome *o, store_done_fn *done,
                              void *ctx) NODISCARD;

/* A reader asked for these feeds now: keeps them swept. Coalesced: written at most once an hour. */
void store_touch(struct store *s, const int64_t *ids, size_t n);

/* A ping named these feeds: they are due now, with REASON_PING, until a fetch that begins after it
 * has ended. Records that are gone are passed over. */
enum rc store_ping(struct store *s, const int64_t *ids, size_t n, store_done_fn *done,
                   void *ctx) NODISCARD;

/* Keep our subscription at a publisher's hub, under its token; all but trust and delivered_at. When
 * it works no more, a feed that is polled less for its sake gets its own pace again. Or forget it.
 */
enum rc store_upstream_put(struct store *s, const struct upstream *u, store_done_fn *done,
                           void *ctx) NODISCARD;
enum rc store_upstream_drop(struct store *s, struct str token) NODISCARD;

/* Set level or exact period of a feed (freq), without a subscription. */
enum rc store_set_level(struct store *s, int64_t feed_id, int level, int64_t period_s,
                        store_done_fn *done, void *ctx) NODISCARD;

/* WebSub. Keep what a subscriber has asked for until it is settled; result.id is the intent's.
 * RC_FULL from `done`: too many wait. */
enum rc store_hub_request(struct store *s, const struct hub_intent *in, store_done_fn *done,
                          void *ctx) NODISCARD;

/* The subscriber has confirmed it or not: the lease begins (or is replaced, or ends), and the
 * intent is gone. A new lease's position is the end of the log, a replaced one's stays.
 * RC_NOT_FOUND: it was settled before. */
enum rc store_hub_settle(struct store *s, struct hub_settled settled, store_done_fn *done,
                         void *ctx) NODISCARD;

/* End the leases that are over, and ask for those to be renewed (as intents). result.id: when it is
 * to be called again; TIME_UNKNOWN: when there is a new lease. */
enum rc store_hub_sweep(struct store *s, store_done_fn *done, void *ctx) NODISCARD;

/* ---- reads ------------------------------------------------------------------------------- */

/* Run fn on a reader thread. RC_FULL: too many wait, do less. */
typedef void store_read_fn(void *ctx, struct reader *r);
enum rc store_read(struct store *s, store_read_fn *fn, void *ctx) NODISCARD;

/* A reader of one's own, for a worker thread; closed before the store. */
struct reader *reader_open(struct store *s);
void reader_close(struct reader **rp);

/* The rows of a view, in its order. Arrays and strings in the arena. Merged views of several feeds
 * leave out all but the newest of entries that share an absolute IRI as id (VIEW_NEWEST). The range
 * of a view bounds the seq that orders it: the first one's for VIEW_CREATED, else the row's.
 * RC_LIMIT: more than a million rows to show or to pass over. */
enum rc reader_rows(struct reader *r, const struct view *v, struct arena *a, struct revision **out,
                    size_t *n_out, struct err *err) NODISCARD;

/* Keep of these rows (VIEW_MODIFIED of these feeds after `after_seq`; deletions always) those that
 * are news in a view of the newest: where entries of several feeds have one id, such a view shows
 * the newest of them only, and when it showed the same already, it is none. */
enum rc reader_without_doubles(struct reader *r, const int64_t *feed_ids, size_t n_feeds,
                               int64_t after_seq, struct revision *rows, size_t *n_rows,
                               struct err *err) NODISCARD;

/* Records by id (in that order, missing ones left out), or all (ids NULL, by id). */
enum rc reader_feeds(struct reader *r, const int64_t *ids, size_t n, struct arena *a,
                     struct feed_record **out, size_t *n_out, struct err *err) NODISCARD;

/* The same records as they were at a place in the log: url, title, site_url, head and ext are those
 * under which a revision with this seq appeared (a feed's first ones when it came later), so that a
 * document of old revisions never changes. At 0: the very first, from which permanent ids come. */
enum rc reader_feeds_at(struct reader *r, const int64_t *ids, size_t n, int64_t seq,
                        struct arena *a, struct feed_record **out, size_t *n_out,
                        struct err *err) NODISCARD;

/* When the entries of these rows were first seen (microseconds): out[n]. */
enum rc reader_created(struct reader *r, const struct revision *rows, size_t n, int64_t *out,
                       struct err *err) NODISCARD;

/* Which of these rows' entries came after an entry of another of the feeds with the same uid:
 * out[n]. One look-up for each row and feed. */
enum rc reader_elders(struct reader *r, const int64_t *ids, size_t n_ids,
                      const struct revision *rows, size_t n, bool *out, struct err *err) NODISCARD;

/* How many entries these feeds have together, deleted ones included or not. */
enum rc reader_count(struct reader *r, const int64_t *ids, size_t n, bool with_deleted,
                     int64_t *out, struct err *err) NODISCARD;

/* A page of the log of a set of feeds: its revisions of every kind in order of addition, `size` to
 * a page, numbered from 0. All pages but the newest are full and never change: archive documents.
 * (When records merge, those of the record that is gone end, and those of the other one may shift.)
 */
struct log_page {
    int64_t n;                   /* its number */
    int64_t n_pages;             /* how many there are */
    int64_t first_seq, last_seq; /* of its rows */
    size_t n_rows;
};

/* Page `n`, or the newest for n < 0. RC_NOT_FOUND: there is no such page, or the log of the set is
 * empty. `ids` sorted, without doubles. */
enum rc reader_page(struct reader *r, const int64_t *ids, size_t n_ids, size_t size, int64_t n,
                    struct log_page *out, struct err *err) NODISCARD;

/* The date by which the oldest of a feed's entries stands in merges; TIME_UNKNOWN: there are none.
 */
enum rc reader_oldest(struct reader *r, int64_t feed_id, int64_t *at, struct err *err) NODISCARD;

/* The record of a feed whose content is to be asked for next. entry_id 0: none, now. Arena. */
struct open_content {
    int64_t entry_id, seq;
    int form; /* which of its alternates, as feed/record.h orders them */
    struct str doc, ext;
};
enum rc reader_open_content(struct reader *r, int64_t feed_id, int64_t now, struct arena *a,
                            struct open_content *out, struct err *err) NODISCARD;

/* The feeds that have some, whenever it is to be asked for. */
typedef void reader_content_fn(void *ctx, int64_t feed_id);
enum rc reader_content_feeds(struct reader *r, reader_content_fn *fn, void *ctx,
                             struct err *err) NODISCARD;

/* The page that holds the first revision of the set at or after `seq`. */
enum rc reader_page_at(struct reader *r, const int64_t *ids, size_t n_ids, size_t size, int64_t seq,
                       struct log_page *out, struct err *err) NODISCARD;

/* Of the entries whose newest revision is at or after `seq`: how many there are, and how many of
 * them are deletions. */
enum rc reader_changed_since(struct reader *r, int64_t feed_id, int64_t seq, int64_t *n,
                             int64_t *n_deleted, struct err *err) NODISCARD;

/* What is known of a feed's entries, for the comparison: those that have one of these uids or of
 * these keys (marks_keys()), each once; of a key the newest IDENTITY_CANDIDATES. An index look-up
 * for each that is asked. Arena. */
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

/* Subscriptions by id, or all (ids NULL), with their feeds. */
enum rc reader_subs(struct reader *r, const int64_t *ids, size_t n, struct arena *a,
                    struct subscription **out, size_t *n_out, struct err *err) NODISCARD;

/* All our subscriptions at hubs, tokens and secrets included. */
enum rc reader_upstreams(struct reader *r, struct arena *a, struct upstream **out, size_t *n_out,
                         struct err *err) NODISCARD;

/* The endpoint's credential of a subscription, for the notifier only. SECRET. */
enum rc reader_endpoint_credential(struct reader *r, int64_t sub_id, struct arena *a,
                                   struct str *out, struct err *err) NODISCARD;

/* Intents after an id, ascending, at most `max`, with their secrets; for the notifier only. */
enum rc reader_hub_intents(struct reader *r, int64_t after_id, size_t max, struct arena *a,
                           struct hub_intent **out, size_t *n_out, struct err *err) NODISCARD;

/* The lease of a WebSub subscription, with its secret; for the notifier only. RC_NOT_FOUND: none.
 */
enum rc reader_hub_lease(struct reader *r, int64_t sub_id, struct arena *a, struct hub_lease *out,
                         struct err *err) NODISCARD;

/* The next push of a subscription: the revisions (new and changed) of the next fetch of one feed
 * after its position, oldest first, at most `max`; n = 0 when there is nothing, or when a commit
 * has changed `sub` since it was read (its notice follows). *shown_url is the URL it was subscribed
 * by, *skip_to a seq up to which nothing is to be pushed (may be moved to). */
enum rc reader_next_push(struct reader *r, const struct subscription *sub, size_t max,
                         struct arena *a, struct revision **out, size_t *n_out,
                         struct str *shown_url, int64_t *skip_to, struct err *err) NODISCARD;

/* Due times of all scheduled feeds, for the sweeper's start. REASON_PING: a ping has not been
 * followed by a fetch yet. */
typedef void reader_due_fn(void *ctx, int64_t feed_id, int64_t next_fetch_at,
                           enum fetch_reason reason);
enum rc reader_due(struct reader *r, reader_due_fn *fn, void *ctx, struct err *err) NODISCARD;

/* Seq of the last revision at or before a time (microseconds). */
enum rc reader_seq_at(struct reader *r, int64_t at_us, int64_t *seq_out, struct err *err) NODISCARD;

/* ---- the cache: finished documents under versioned keys ------------------------------------- */

/* A key names everything the document depends on, its version included, so nothing is ever
 * invalidated. In process first (any thread, short lock); memcached beside it, only through the
 * calls that take a reader (they may take milliseconds: never on a loop). */
struct cached_doc {
    struct str meta;   /* opaque to the cache: the API's header fields */
    struct blob *body; /* identity */
    struct blob *gzip; /* NULL: not made */
};

/* A hit fills *out with references and a copy of meta; give it, and nothing else, to
 * cached_doc_release(). */
bool cache_get(struct store *s, struct str key, struct cached_doc *out);
bool cache_get_far(struct reader *r, struct str key, struct cached_doc *out);
void cache_put(struct reader *r, struct str key, const struct cached_doc *doc);
void cached_doc_release(struct cached_doc *doc);

/* storage/store.h - the interface of storage: queued writes, typed reads, commit notices. The calls
 * about deliveries are in storage/pushes.h, those about several daemons in storage/nodes.h; nothing
 * else of storage is known outside. Reads are in storage/store_reads.h, and writes that are neither
 * subscriptions nor outcomes in storage/store_writes.h. This file includes both.
 *
 * Nothing in it depends on SQL or on the database engine.
 *
 * Writes: any thread hands over an operation. One thread, the storer, commits many of them in one
 * transaction, and calls `done` after the commit is on disk. So a result that `done` got survives
 * kill -9. When an operation fails, the other operations of its transaction are still carried out.
 *
 * Reads: they run on reader threads, or on a thread that has opened a reader of its own. Each sees
 * a snapshot and never waits for the storer.
 *
 * The log: when a seq has been announced, it is on disk, and no lower one will appear.
 *
 * Words: a "feed" is our stored row of it; "arena" means that strings and arrays of a result live
 * in the arena that was given. Times are Unix seconds unless a name ends in _us (microseconds) or
 * _ms; TIME_UNKNOWN: there is none.
 */
#pragma once

#include "base/arena.h"
#include "base/blob.h"
#include "base/err.h"
#include "base/str.h"
#include "model/access.h"
#include "model/feed.h"
#include "model/filter.h"
#include "model/hub.h"
#include "model/levels.h"
#include "model/mirror.h"
#include "model/named_view.h"
#include "model/pace.h"
#include "model/view.h"

struct store;
struct reader;

struct store_cfg {
    struct str path;         /* database file; made with mode 0600 when it is missing */
    int n_readers;           /* reader threads, >= 1 */
    size_t queue_len;        /* how many writes may wait; one more is refused (RC_FULL) */
    int batch_ops, batch_ms; /* a transaction has at most so many operations, and waits at most so
                                long for them */
    int64_t max_bytes;       /* of the database: fetching pauses when it has so many; 0: no bound */
    int64_t feed_quota;      /* new entries of a feed within a day; 0: no bound */
    struct keep keep;        /* of a feed without wishes; 0: everything (storage/keeper.h) */
    size_t cache_bytes;      /* size of the cache of documents in this process */
    struct str memcached;    /* "HOST:PORT"; null: none */
    struct str replica;      /* a copy of the database, for reading; null: none */
    struct str key_file;     /* with the key that seals secrets of feeds; null or empty: none */
    bool seals_nothing; /* it adds no secrets of feeds, so its not having a key means
                           nothing */
    bool check;         /* first check the whole database for damage */
    bool is_shared; /* others may have the database, too, if its engine can have several writers */
    struct levels levels;        /* when a feed is due after its level was set */
    filter_read_fn *read_filter; /* of subscriptions: filter_read() of feed/filter/; NULL: those
                                    with a filter cannot be read */
};

/* Open or make the database, lock it for this process, bring its schema up to date, load the
 * directory, start the storer and the readers. Close the store with store_close().
 * RC_IO           the file cannot be used, is damaged, or another process has it; or the file
 *                 of the key cannot be read
 * RC_INPUT        that file has no key
 * RC_UNSUPPORTED  it belongs to a newer Feedmill or to another program. */
enum rc store_open(const struct store_cfg *cfg, struct store **out, struct err *err) NODISCARD;

/* Start taking what is older than is to be kept; after the nodes were joined. store_close() ends
 * it. */
enum rc store_start_keeper(struct store *s, struct err *err) NODISCARD;

/* May other daemons work on this database at the same time? */
bool store_is_shared(const struct store *s);

/* Use these periods for all writes that are handed over from now on. Any thread. */
void store_reload(struct store *s, const struct levels *levels);

/* Can the store write? *err says why not. This is noticed at the next write, or within seconds. Any
 * thread.
 * RC_UNAVAILABLE  a file of the database was deleted or replaced;
 * RC_AGAIN        the database is not within reach now. */
enum rc store_health(struct store *s, struct err *err) NODISCARD;

/* Measure the size of the database, on a reader thread, unless that was done in the last ten
 * seconds: STAT_database_bytes. store_open() does it, too. Any thread. */
void store_measure(struct store *s);

/* How full the database is, compared with store_cfg.max_bytes. What is free inside does not
 * count. It is measured, unless that was done in the last 100 ms, or in twenty times as
 * long as it took. FILL_WARNS is told before FILL_FULL. Any thread. */
enum store_fill {
    FILL_ROOM,  /* or there is no bound */
    FILL_WARNS, /* it has 90 % or more */
    FILL_FULL,  /* all: nothing is to be fetched. What is stored is served and pushed */
};
enum store_fill store_fill(struct store *s);

/* By how many bytes the database may still grow, as it was measured last: below 0 beyond the bound,
 * 0 before it is measured first, INT64_MAX if there is no bound. With it, measurements are counted;
 * what was stored when so many had begun is in the size as soon as one more than these has ended.
 * Any thread; it measures as store_fill() does. */
struct store_room {
    int64_t bytes;
    int64_t n_begun, n_ended;
};
struct store_room store_room(struct store *s);

/* The bound; 0: there is none. */
int64_t store_max_bytes(const struct store *s);

/* Carry out the queued writes, move the write-ahead log into the database file, join all threads,
 * free, set to NULL. NULL is allowed. */
void store_close(struct store **sp);

/* ---- commit notices ------------------------------------------------------------------------- */

struct feed_notice {
    int64_t feed_id;
    int64_t merged_into;   /* it became part of this feed and is gone; 0: it is still there */
    bool is_gone;          /* there is no such feed any more */
    int64_t next_fetch_at; /* TIME_UNKNOWN: not scheduled */
    int64_t content_at;    /* when the content of the next metadata record is due; TIME_UNKNOWN: no
                              such content is due */
    int64_t first_seq;     /* the first revision of the feed in this commit; 0: it has none */
    bool has_event;        /* something happened to the feed itself (struct feed_event) */
    bool is_new;           /* the feed was made */
    bool is_pinged;        /* store_ping() named it */
    bool is_by_hand;       /* store_change_feed() asked for a fetch now */
    bool is_wanted;        /* store_wish() named it */
    bool is_answered;      /* store_answer_wish() named it, with this code */
    enum rc answer;
};

struct commit_notice {
    int64_t last_seq; /* of the log */
    const struct feed_notice *feeds;
    size_t n_feeds;
    const int64_t *sub_ids; /* subscriptions that were made, changed or ended. The outcome of a push
                               counts only when it changed the state */
    size_t n_subs;
    const int64_t *tried_sub_ids; /* of these, the ones that somebody has changed so that they are
                                     to be tried now: nothing that came before holds them */
    size_t n_tried_subs;
    const struct hub_settled *settled; /* requests at our hub or cloud that have been settled */
    size_t n_settled;
    bool has_hub_news;  /* a request at our hub or cloud was stored, or a lease began */
    bool has_view_news; /* a named view was made, changed or deleted */
    bool
        has_protected; /* a feed is protected that was not, or the reverse: others may see it now */
    bool is_foreign;   /* another node has committed this */
    bool is_anew;      /* all was read anew: of what was before, some may be gone */
};

/* Called after each commit that changed something a notice can report: on the storer's thread, or
 * on the one that follows other nodes. The calls come one at a time in commit order, and before
 * `done` of the operations is called. The listener must be quick, so it should only post to a
 * mailbox. There can be at most 8 listeners, and all must be added before the first write. */
typedef void store_notice_fn(void *ctx, const struct commit_notice *notice);
void store_listen(struct store *s, store_notice_fn *fn, void *ctx);

/* Several nodes may write to one log, so a node may not know yet what another has acknowledged.
 * Before it says that something does not exist, it has to catch up: `done` is called once, on any
 * thread, perhaps before the call returns.
 * RC_OK     all that was acknowledged by anybody before the call is known now;
 * RC_AGAIN  it cannot be known at this time: say "later", not "no";
 * RC_CLOSED the store is closing.
 * With an engine that has one writer this is always so, and costs nothing: store_is_current()
 * returns true. Any thread. */
typedef void store_current_fn(void *ctx, enum rc rc);
void store_catch_up(struct store *s, store_current_fn *done, void *ctx);
bool store_is_current(struct store *s);

/* ---- the directory: what is known without a query. Any thread ------------------------------- */

struct feed_brief {
    int64_t id, version;
    int64_t edition; /* grows whenever the feed's row may have changed; kept in memory only */
    enum feed_state state;
    bool fetched; /* a document of it was stored */
    bool partial; /* some documents of its past are known, but have not been read */
    int64_t last_check_at, next_fetch_at, wanted_at;
    int64_t last_change_at; /* as in struct feed, like the next one and `level` */
    int64_t period_s;
    int64_t content_at; /* as in struct feed_notice */
    int last_status;
    int level; /* 0, 1, 2 or LEVEL_EXACT */
    int n_subscriptions;
    uint16_t need_class; /* as in struct feed, of a feed of level 1 that is scheduled; else 0 */
    bool is_private;
    bool is_paused;
};

/* Find a feed by a canonical URL: its own, an alias, or the web page it was discovered from.
 * `credential`: the feed's own ("user:password"), or its access key as the user; null: look for a
 * feed without credential. store_brief() finds a feed by its id. False: there is no such feed. */
bool store_find_feed(struct store *s, struct str url, struct str credential,
                     struct feed_brief *out);
bool store_brief(struct store *s, int64_t feed_id, struct feed_brief *out);

/* Did the feed become part of another one, which is still there? */
bool store_is_merged(struct store *s, int64_t feed_id);

/* The access key that stands for the feed's credential in our own links; null: it has none. */
struct str store_access_key(struct store *s, int64_t feed_id, struct arena *a);

/* Open feed.credential, or feed.secrets: with a key (store_cfg.key_file) both are sealed on the
 * disk and in memory. RC_DENIED: with another key, or there is none now; RC_INPUT: it was changed.
 * *err says so for the administrator, without a secret. Any thread. Arena. */
enum rc store_unseal(struct store *s, struct str sealed, struct arena *a, struct str *out,
                     struct err *err) NODISCARD;

/* The feed's credential, opened; null: the feed has none, or it cannot be opened. *given_at: the
 * URL with which the credential was given. This is the web page that led to the feed, or the feed's
 * own URL. SECRET. Arena. */
struct str store_credential(struct store *s, int64_t feed_id, struct arena *a,
                            struct str *given_at);

/* What is kept of these feeds, in their order, without those that are gone: out[n]. Returns how
 * many there are. */
size_t store_briefs(struct store *s, const int64_t *ids, size_t n, struct feed_brief *out);

/* Write the ids of those feeds that have the newest revisions to out[max], the newest first.
 * Returns how many there are. */
size_t store_newest_feeds(struct store *s, const int64_t *ids, size_t n, size_t max, int64_t *out);

/* Write the ids of all feeds to *out, ascending. Returns how many there are. Arena. */
size_t store_feed_ids(struct store *s, struct arena *a, int64_t **out);

/* The feed's canonical URL, in the arena; null: there is no such feed. */
struct str store_feed_url(struct store *s, int64_t feed_id, struct arena *a);

/* Feeds of any credential that have this canonical URL as their own, as an alias, as their web page
 * or as their site. Writes at most `max` ids; returns how many there are. */
size_t store_find_by_any_url(struct store *s, struct str url, int64_t *ids, size_t max);

/* Feeds of any credential that have this canonical URL as their own, as an alias or as their web page, in this
 * order, then by id. Writes the ids of the first `max`; returns how many it wrote. */
size_t store_find_named(struct store *s, struct str url, int64_t *ids, size_t max);

/* How many feeds have a class of needs (struct feed_brief), and how many are in each:
 * fetcher/budget.h. */
int64_t store_n_needs(struct store *s);
void store_needs(struct store *s, uint32_t counts[NEED_CLASSES]);

/* A number that changes whenever store_find_feed() might find another feed than before, or find one
 * fetched that was not. Read it before looking feeds up, to know later whether they still hold. */
int64_t store_names(struct store *s);

/* A number that changes whenever store_names() or any store_version() may have. Read it before
 * these, to know later without a look at each feed that they are still the same. */
int64_t store_stamp(struct store *s);

/* The highest version among these feeds: the version of any view of them. */
int64_t store_version(struct store *s, const int64_t *ids, size_t n);

/* The highest revision that retention has taken from these feeds, as far as this process knows;
 * `all`: from any. 0: none. What a reader was not given is known by reader_history_end() alone. */
int64_t store_horizon(struct store *s, const int64_t *ids, size_t n, bool all);

/* Changes when a standby has taken over that may lack the end of the log. What never changes
 * otherwise is named by it. 0: that has never happened. */
int64_t store_fork(struct store *s);

/* The last seq that has been announced; 0: the log is empty. */
int64_t store_last_seq(struct store *s);

/* Seq of the newest revision of these feeds; 0: they have none. */
int64_t store_seq_of(struct store *s, const int64_t *ids, size_t n);

/* Identity of this log, a UUID made with the database. It is part of every cursor. Lives as long as
 * the store. */
struct str store_log_id(struct store *s);

/* 64 hex digits that were made with the database: the key with which Feedmill signs its own links.
 * SECRET. Lives as long as the store. */
struct str store_secret(struct store *s);

/* ---- writes. Any thread. Everything is copied -------------------------------------------- */

/* What became of the outcome of a delivery (storage/pushes.h). */
enum push_fate {
    PUSH_WRITTEN,
    PUSH_GONE,  /* the subscription does not exist any more: nothing was written */
    PUSH_STALE, /* another owner of the endpoint was faster: only the delivery log has it */
};

/* A writing call returns
 * RC_OK      `done` (may be NULL) will be called once, on the storer's thread;
 * RC_FULL    too many writes wait: nothing happens, and `done` is not called;
 * RC_CLOSED  the store is closing: nothing happens, and `done` is not called.
 * `done` gets RC_OK after the commit, or why the operation failed: RC_IO, RC_UNAVAILABLE (see
 * store_health()), or what the call says. Its results are borrowed for the call. */
struct store_result {
    int64_t id; /* the feed, subscription or intent that was made or found; the outcome's feed */
    const struct subscription *sub;                /* as it is now; NULL: it has ended */
    int64_t n_new, n_changed, n_deleted, last_seq; /* revisions that were added */
    bool has_more;                                 /* store_retain() */
    bool is_settled; /* store_retain(): all that may go up to its limit is gone, until the feed's
                        row changes */
    /* of outcomes: */
    int64_t
        n_counted; /* of the new entries those that count for what the feed may bring in a day */
    int64_t
        n_left_out;  /* new entries that were not stored, because that would have been too many */
    bool tells_loss; /* of those the feed's event says that they may be missed */
    struct str next_archive; /* the document of the feed's past to read next; null: none */
    struct str next_cursor;  /* the next piece of the stream is after this cursor; null: there is no
                                next piece yet */
    bool is_overtaken;       /* the outcome was not used, because the stream has moved on since the
                                request */
    bool wants_feed; /* the content of a metadata record is gone: fetch the feed to see what it says
                        now */
    const enum push_fate *fates;    /* store_push_outcomes(): of each outcome */
    int64_t created_at, changed_at; /* of the named view, as it is now */
};
typedef void store_done_fn(void *ctx, enum rc rc, const struct store_result *res,
                           const struct err *err);

/* What a caller says about a feed apart from its URL. All zero: nothing. */
struct feed_details {
    bool has_level; /* `level` and `period_s` are set; they mean what they mean in struct
                       sub_request */
    int level;
    int64_t period_s;
    enum sanitize_setting sanitize;
    struct str name, folder, category; /* as in struct sub_feed */
    struct str title, site_url;        /* shown for a new feed until it is fetched */
};

struct feed_ref {
    struct str url;              /* canonical, without credential */
    struct str credential;       /* null when none */
    struct str shown_url;        /* as the caller wrote it, without credential; for subscriptions */
    struct feed_details details; /* for subscriptions */
};

/* Make the feed, with level 1 and due at once, unless it already exists. result.id: the feed. */
enum rc store_add_feed(struct store *s, const struct feed_ref *ref, store_done_fn *done,
                       void *ctx) NODISCARD;

/* Subscribe to feeds, or to those that a list names. A feed that does not exist yet is made.
 * RC_INPUT: no feed is named, or a level is wrong. result.sub: the subscription. */
struct sub_request {
    struct str endpoint; /* canonical URL without credential; null: nothing is pushed */
    struct str endpoint_credential;
    struct str sink;          /* "xmlrpc" */
    struct str sink_settings; /* what the sink alone knows, JSON; null. SECRET */
    unsigned events;          /* bits of enum sub_event; 0: SUB_EVENTS_DEFAULT */
    int batch;                /* entries in one delivery, at most; 0: as configured */
    struct keep keep;         /* how much of its feeds is to be kept */
    struct str filter;        /* canonical (struct subscription); null: none */
    struct str asks;          /* what it follows; null: nothing. Then it may have no feeds yet */
    const struct feed_ref *feeds;
    size_t n_feeds;
    const struct feed_ref *list; /* it is due at once, and its answers name the feeds; then there
                                    are no others, and the level is that of the list; NULL: none */
    /* for feeds that have no wish of their own: */
    int level;        /* 0..2, LEVEL_EXACT, or LEVEL_KEEP */
    int64_t period_s; /* for LEVEL_EXACT */
    enum sanitize_setting sanitize;
    struct str secrets; /* fetch_secrets_text(), for all of them; empty: none from now on; null:
                           they stay. SECRET */
    int64_t mirror;  /* MIRROR_KEEP, MIRROR_OFF, or the seq from which on entries count, if the feed
                        was not mirrored before (model/mirror.h) */
    int64_t owner;   /* who makes it: the id of a token, or OWNER_... (model/access.h) */
    bool from_given; /* from=... was given: push older revisions, too; else the position is the end
                        of the log */
    int64_t from_seq; /* push the revisions after this seq */
};
#define LEVEL_KEEP (-2)
enum rc store_subscribe(struct store *s, const struct sub_request *req, store_done_fn *done,
                        void *ctx) NODISCARD;

/* Take feeds out of a subscription. `urls` names them by canonical URL or by the URL that was
 * subscribed; credentials do not matter. When n is 0, all feeds are taken out. A subscription
 * without feeds ends. RC_NOT_FOUND: there is no such subscription. result.n_deleted: how many feeds
 * were taken out. */
enum rc store_unsubscribe(struct store *s, int64_t sub_id, const struct str *urls, size_t n,
                          store_done_fn *done, void *ctx) NODISCARD;

/* What is changed of a subscription. Null strings keep what is there. RC_NOT_FOUND: there is no
 * such subscription. RC_INPUT: a level is wrong. result.sub: as it is now. */
struct sub_change {
    int64_t sub_id;
    bool has_state;       /* SUB_ACTIVE: what failed before is tried at once */
    enum sub_state state; /* SUB_ACTIVE or SUB_PAUSED */
    bool has_position;    /* push the revisions after this seq: a call in flight cannot undo it */
    int64_t position;
    bool is_skip;      /* has_position: never back; what was delivered meanwhile stays delivered */
    bool with_initial; /* has_position: those, too, that were there when a feed was first fetched */
    unsigned events;   /* 0: they stay */
    bool has_batch;
    int batch;
    struct keep keep;                         /* a change (model/keep.h) */
    struct str endpoint, endpoint_credential; /* the credential counts with an endpoint only */
    struct str sink;                          /* for a subscription that had no endpoint */
    struct str sink_settings;                 /* SECRET */
    struct str filter;                        /* canonical; empty: none from now on */
    struct str asks;                          /* what it follows; empty: nothing from now on */
    struct str name;                          /* of all its feeds, or of its list; empty: none */
    struct str folder;                        /* of all its feeds, or of its list, of which the
                                                 folders are in that one; empty: none */
    int level;                                /* of all its feeds, or of its list; LEVEL_KEEP */
    int64_t period_s;                         /* for LEVEL_EXACT */
    int64_t mirror;                           /* of all its feeds, as in struct sub_request */
};
enum rc store_change_sub(struct store *s, const struct sub_change *change, store_done_fn *done,
                         void *ctx) NODISCARD;

/* The feeds and the filter that a subscription has now by what it follows. Nothing happens if it
 * has ended, or follows something else meanwhile. Feeds that are new take the folder of the others.
 */
struct sub_following {
    int64_t sub_id;
    struct str asks;              /* for which this was found */
    struct str filter;            /* null: none */
    const struct sub_feed *feeds; /* ids, ascending, and URLs count */
    size_t n_feeds;
};
enum rc store_follow_sub(struct store *s, const struct sub_following *f, store_done_fn *done,
                         void *ctx) NODISCARD;

/* Make a suspended or paused subscription active again, or set its position (position < 0: keep
 * it). */
enum rc store_resume(struct store *s, int64_t sub_id, int64_t position, store_done_fn *done,
                     void *ctx) NODISCARD;

/* ---- outcomes: the results of the sources of news, one type each (fetcher/source.h) ---------
 *
 * The strings of an outcome are declared in a list. The code that copies them (writes.c) uses the
 * same list, so it cannot forget a string. In all outcomes a null string keeps the stored value,
 * and an empty string clears it.
 *
 * `wait_ms`: how long the caller waits for room in the storer's queue, as queue_push(): 0 on event
 * loops. RC_FULL: the queue had no room in that time; the outcome still belongs to the caller.
 */
#define OUTCOME_STRING(name) struct str name;

/* One entry as a document shows it: new, changed or deleted, compared with what was known. In a
 * deletion, `updated_at` is the time of the deletion; a stored entry with a later date is not
 * deleted. */
#define ENTRY_CHANGE_STRINGS(S) S(uid) S(title) S(link) S(summary) S(author) S(ext)
struct entry_change {
    enum revision_kind kind;
    ENTRY_CHANGE_STRINGS(OUTCOME_STRING)
    struct str doc; /* JSON; see struct entry_batch, docs */
    unsigned char essence[16];
    unsigned char old_essence[16]; /* of the stored entry with which it was compared */
    struct entry_marks marks;      /* not for a deletion */
    int64_t published_at, updated_at;
    int64_t updated_us; /* the fraction of that second */
    bool volatile_only; /* true: the change makes no revision, but replaces the stored document and
                           marks */
    int64_t stands_at;  /* of an undated entry from the past: the time by which it is sorted; 0: the
                           time when it came in */
    bool is_metadata;   /* of Atom-PMH: its content is to be fetched */
    size_t item_index;  /* in a piece of a stream: the order of events */
};

/* The entries of a document as they were found: in document order. */
struct entry_batch {
    const struct entry_change *changes;
    size_t n;
    /* The arena that holds the `doc` of each change. When the call returns RC_OK, its contents have
     * moved to the store, and it is empty. NULL: everything is copied. */
    struct arena *docs;
};

/* A deletion that a document reports. The deleted entry may be unknown. */
struct past_deletion {
    struct str uid;
    int64_t when_us; /* microseconds since 1970 */
};

/* The documents to which a document leads, and the time that it covers. */
#define DOC_PAST_STRINGS(S) S(older) /* canonical URL of the document before it; null: none */
struct doc_past {
    DOC_PAST_STRINGS(OUTCOME_STRING)
    bool whole; /* it was read to its end: documents to which it does not lead need not be read */
    bool metadata; /* of Atom-PMH: older documents are read until one has entries that are older
                      than the newest entry that was known before */
    int64_t oldest, newest; /* dates of its oldest and newest entry; TIME_UNKNOWN */
    /* of a document of the past, while the feed has a gap: it shows an entry that was stored before
     * the gap, or one that is older than all that is stored */
    bool reaches_back;
    const struct past_deletion *deletions;
    size_t n_deletions;
};

/* The position of a document in the stream of a Smart Feed. The document follows the cursor `from`.
 * It is used only if this is still the feed's cursor. */
#define DOC_PIECE_STRINGS(S)                                                                       \
    S(from)   /* the feed's cursor when the document was requested; null: it had none */           \
    S(cursor) /* the feed's cursor from now on */
struct doc_piece {
    DOC_PIECE_STRINGS(OUTCOME_STRING)
    bool more;       /* the stream goes on after this piece */
    bool is_refused; /* the server refused the feed's cursor, so this is the first piece of the
                        stream */
    bool is_lost;    /* as gone: a part of what followed it is not there any more */
};

/* The head of a document: what it says about the feed itself. */
#define DOC_HEAD_STRINGS(S)                                                                        \
    S(json) /* the feed's dict and the facts of the answer (schema.sql, feeds.head) */             \
    S(ext)  /* foreign elements, XML */                                                            \
    S(title)                                                                                       \
    S(site_url)
struct doc_head {
    DOC_HEAD_STRINGS(OUTCOME_STRING)
    bool speaks_anew; /* other authors or languages, which entries have that say none */
    struct doc_hint_row hints;
};

/* How entries of the feed are told apart from now on. */
struct new_identity {
    bool is_set; /* else the feed's policy stays */
    struct identity_policy policy;
};

/* The feed's row as the source has read it. The storer reads the row again only if the edition has
 * changed since then. */
struct loaded_feed {
    struct feed *row; /* borrowed until `done` has run; NULL: not read */
    bool fetched;     /* as in the struct feed_brief that was read before the row */
    int64_t edition;  /* the same */
};

/* The result of a request for the feed itself: the new state of the feed's row. */
#define FEED_CHECK_STRINGS(S)                                                                      \
    S(error)    /* when !ok */                                                                     \
    S(url)      /* the feed's URL from now on; another feed that has it takes over */              \
    S(page_url) /* the web page that led to it */                                                  \
    S(etag)                                                                                        \
    S(last_modified)                                                                               \
    S(validators_url) /* which URL gave these two; null: it stays */                               \
    S(pace)    /* as in struct feed; null: it stays, and so do the next two */                     \
    S(secrets) /* those of the feed when the request was made: after a change the outcome is void  \
                */
struct feed_check {
    int64_t feed_id;
    struct loaded_feed loaded;
    int64_t checked_at; /* Unix seconds */
    bool ok; /* a document was understood, or the answer was 304 or had the same body as before */
    int status; /* HTTP; 0: no answer */
    FEED_CHECK_STRINGS(OUTCOME_STRING)
    const struct str *aliases; /* other URLs that mean the feed */
    size_t n_aliases;
    enum feed_state state;
    int level; /* LEVEL_KEEP or the new one */
    uint16_t need_class;
    int64_t own_period_s; /* while it has level 1; 0: the level's */
    int n_errors;
    int n_gone; /* as in struct feed, like the next */
    int64_t gone_since;
    struct feed_move move; /* as in struct feed */
    int64_t next_fetch_at; /* TIME_UNKNOWN: not scheduled */
    enum fetch_reason next_reason;
    int trust_was, trust; /* of the feed's upstream hub, before and after (struct upstream) */
    bool raw_html;        /* the setting with which the document was read */
    int64_t n_pings; /* the feed's count of pings when the request began; after a later ping the
                        feed stays due */
    enum fetch_reason reason; /* why the request was made */
    int64_t began_at;         /* the start of the request, Unix seconds; 0: not said */
    /* last_check_at at that time, or TIME_UNKNOWN: if another node has since stored a request that
     * ended after ours began, the outcome is void; 0: not said */
    int64_t after_check_at;
};

/* The result of a request for the feed's own document. */
#define POLL_OUTCOME_STRINGS(S)                                                                    \
    S(left_cursor) /* not null: the feed was a stream before, and this was its cursor */
struct poll_outcome {
    struct feed_check check;
    bool has_document; /* then the rest counts */
    bool has_body_hash;
    unsigned char body_hash[16];
    struct doc_head head;
    struct new_identity identity;
    struct entry_batch entries;
    bool complete; /* the document says that it shows all there is (RFC 5005 section 2) */
    bool has_tombstones;
    struct str shown; /* what it shows (model/shown.h); null: only what is new */
    bool is_gap;      /* it has no entry in common with the document before it */
    struct doc_past past;
    POLL_OUTCOME_STRINGS(OUTCOME_STRING)
};
enum rc store_poll_outcome(struct store *s, const struct poll_outcome *o, int64_t wait_ms,
                           store_done_fn *done, void *ctx) NODISCARD;

/* The result of a request for a piece of a Smart Feed. */
struct stream_outcome {
    struct feed_check check;
    bool has_document; /* then the rest counts */
    struct doc_head head;
    struct new_identity identity;
    struct entry_batch entries;
    struct doc_piece piece;
};
enum rc store_stream_outcome(struct store *s, const struct stream_outcome *o, int64_t wait_ms,
                             store_done_fn *done, void *ctx) NODISCARD;

/* The result of a request for a document of the feed's past. An entry is stored only if it is
 * unknown, or has a later date than the stored entry. */
#define ARCHIVE_OUTCOME_STRINGS(S)                                                                 \
    S(url)     /* the document's */                                                                \
    S(secrets) /* as in struct feed_check */
struct archive_outcome {
    int64_t feed_id;
    struct loaded_feed loaded;
    int64_t checked_at;
    ARCHIVE_OUTCOME_STRINGS(OUTCOME_STRING)
    bool ok; /* it was understood; then the rest counts */
    struct doc_past past;
    struct entry_batch entries;
};
enum rc store_archive_outcome(struct store *s, const struct archive_outcome *o, int64_t wait_ms,
                              store_done_fn *done, void *ctx) NODISCARD;

/* What an answer of a list changes in a subscription that follows it. Nothing of this is done when
 * the subscription has ended, or follows the list in another folder now. */
struct list_sync {
    int64_t sub_id;
    struct str folder;            /* in which it follows the list; null: none */
    const struct feed_ref *added; /* feeds with what the list says of them */
    size_t n_added;
    const struct list_change {
        int64_t feed_id;
        struct str name, folder;
        enum listed listed;
    } * changed; /* feeds that it has */
    size_t n_changed;
    const int64_t *dropped;
    size_t n_dropped;
};

/* The result of a request for a list of feeds that subscriptions follow. The syncs and the state of
 * the record are stored together, so that an answer which counts as seen has had its effect. */
#define LIST_OUTCOME_STRINGS(S) S(title)
struct list_outcome {
    struct feed_check check;
    bool has_body_hash; /* the same bytes mean the same list */
    unsigned char body_hash[16];
    bool has_news; /* a subscription changes, or the title */
    LIST_OUTCOME_STRINGS(OUTCOME_STRING)
    const struct list_sync *syncs;
    size_t n_syncs;
};
enum rc store_list_outcome(struct store *s, const struct list_outcome *o, int64_t wait_ms,
                           store_done_fn *done, void *ctx) NODISCARD;

/* An upstream hub delivered entries. Apart from these entries, nothing in the feed changes. */
struct delivery_outcome {
    int64_t feed_id;
    struct loaded_feed loaded;
    int64_t received_at;
    bool metadata;  /* of Atom-PMH */
    bool has_piece; /* the feed is a stream, and this the next piece of it */
    struct doc_piece piece;
    struct new_identity identity;
    struct entry_batch entries;
};
enum rc store_delivery_outcome(struct store *s, const struct delivery_outcome *o, int64_t wait_ms,
                               store_done_fn *done, void *ctx) NODISCARD;

/* The result of a request for the content of a metadata record, from one of its alternates. */
enum content_answer {
    ANSWER_CONTENT, /* the content came */
    ANSWER_OTHER,   /* the answer has a form that cannot be stored */
    ANSWER_GONE,    /* 403, 404, 410 */
    ANSWER_OPEN,    /* refused, failed, or the server was not reached: ask again later */
};
#define CONTENT_OUTCOME_STRINGS(S) /* ANSWER_CONTENT: of the entry with its content */             \
    S(doc)                                                                                         \
    S(ext)                                                                                         \
    S(summary)                                                                                     \
    S(author)                                                                                      \
    S(secrets) /* as in struct feed_check */
struct content_outcome {
    int64_t feed_id, entry_id;
    int64_t seq; /* of the revision that led to the request; if the entry has a later revision, the
                    outcome is void */
    int64_t checked_at;
    enum content_answer answer;
    int form, n_forms;     /* the alternate that was asked, and how many alternates there are */
    int64_t retry_after_s; /* ANSWER_OPEN: from the publisher's Retry-After; -1: not given */
    bool is_ours; /* ANSWER_OPEN: the cause is on our side, so no failure is counted for the record
                     or the feed */
    bool is_lone; /* ANSWER_OPEN: the failure counts for this record only, not for the feed */
    CONTENT_OUTCOME_STRINGS(OUTCOME_STRING)
};
/* `done` gets RC_OK even if the outcome is void. */
enum rc store_content_outcome(struct store *s, const struct content_outcome *o, int64_t wait_ms,
                              store_done_fn *done, void *ctx) NODISCARD;

/* ---- the cache: finished documents under versioned keys ------------------------------------- */

/* A key names everything on which the document depends, including the version of its feeds. So a
 * document in the cache is never out of date. cache_get() looks only into the memory of this
 * process; any thread may call it. The calls that take a reader also use memcached. This may take
 * milliseconds, so an event loop must not call them. */
struct cached_doc {
    struct str meta;   /* opaque to the cache: the API's header fields */
    struct blob *body; /* identity */
    struct blob *gzip; /* NULL: not made */
};

/* Find a document. True: *out has references to the bodies and a copy of meta; release it with
 * cached_doc_release(). cache_get_far() looks only into memcached. cache_put() adds a document to
 * both caches. */
bool cache_get(struct store *s, struct str key, struct cached_doc *out);
bool cache_get_far(struct reader *r, struct str key, struct cached_doc *out);
void cache_put(struct reader *r, struct str key, const struct cached_doc *doc);
void cached_doc_release(struct cached_doc *doc);

/* ---- the parts of it that have files of their own --------------------------------------------- */

#include "storage/store_reads.h"
#include "storage/store_writes.h"

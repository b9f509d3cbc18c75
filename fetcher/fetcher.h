/* fetcher/fetcher.h - everything that brings feeds in: sweeper, monitor, work queue, fetch loop,
 * parse workers.
 *
 * Each feed has one slot in the work queue, however many reasons ask for a fetch. The slot is idle,
 * queued, in flight, or in flight and asked for again. Public calls: any thread.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "model/feed.h"
#include "model/levels.h"
#include "model/ports.h"
#include "net/guard.h"
#include "storage/store.h"

struct fetcher;

struct fetcher_cfg {
    struct store *store; /* borrowed, like the next two and, until fetcher_start(), all strings */
    struct guard *guard;
    const char *user_agent; /* "Feedmill/0.1.0 (+URL" without the closing parenthesis: the
                               subscriber count and ")" are added per feed */
    int n_workers;          /* parse workers */
    int max_transfers;      /* at once */
    int max_per_host;       /* at once per host */
    int64_t host_gap_ms;    /* between starts to one host */
    int64_t timeout_ms;     /* one document, redirects included */
    size_t max_body;        /* decoded bytes */
    int catch_up;        /* documents of a feed's past that are read after one fetch of the feed */
    int content_rate;    /* contents of metadata records per minute and host; 0: none are fetched */
    bool announced_only; /* a page's site is not searched for feeds it does not announce */
    struct levels levels;
    int64_t backoff_max_s; /* <= 1 day */
    int64_t hub_backup_s;  /* longest period of polls while a hub tells of updates */
    bool adaptive;         /* periods of level 1 follow from how feeds post */
    int64_t adaptive_budget; /* fetches a day of all these feeds; 0: there is no bound */
    struct str base_url;   /* our public origin, for hubs; empty: only local hubs reach us */
    int64_t unused_s; /* a feed without subscribers is not swept when nobody has asked for it for so
                         long */
    int64_t ping_gap_ms;            /* pings of one feed within this time count as one */
    const struct str *ping_servers; /* URLs of changes.xml files */
    size_t n_ping_servers;
    int64_t monitor_period_s;
    list_let_fn *let_unknown; /* bounds what lists of anonymous callers add; fixed at the start */
    void *let_ctx;
};

struct fetcher *fetcher_new(const struct fetcher_cfg *cfg);

/* Start threads; load what is due. RC_IO when the store cannot be read. */
enum rc fetcher_start(struct fetcher *f, struct err *err) NODISCARD;

/* Start no more transfers. Let the running ones end, for at most `ms` milliseconds. Hand the
 * answers that came in to the storer, and join the threads. */
void fetcher_stop(struct fetcher *f, int64_t ms);

/* Free it. Call it after store_close(), because the store's last commit notices still come here. */
void fetcher_free(struct fetcher **fp);

/* Ask for a fetch, and learn when it has been committed. It may be a fetch that starts now or one
 * that is in flight; of a feed that another node fetches it may be one that has ended. `done` runs
 * once, on a thread of the fetcher or of the storer. It must be quick, and should only post a
 * message to another thread. */
void fetcher_await(struct fetcher *f, int64_t feed_id, enum fetch_reason reason,
                   fetch_done_fn *done, void *ctx);

/* Fetch a document that is not stored (an OPML list). `done` runs once, as above. */
void fetcher_get(struct fetcher *f, struct str url, struct str credential, document_done_fn *done,
                 void *ctx);

/* A ping named this site or feed. Both URLs are canonical; rss_url may be null. Fetch the known
 * feeds that have these URLs; *n is their number. When *n is not 0, `done` (may be NULL) runs once,
 * on the storer's thread, after the request is in the database: from then on it survives kill -9.
 * RC_FULL or RC_CLOSED: the ping was refused, and `done` does not run. */
enum rc fetcher_ping(struct fetcher *f, struct str url, struct str rss_url, size_t *n,
                     store_done_fn *done, void *ctx) NODISCARD;

/* ---- upstream hubs and clouds, those of publishers. Any thread ---- */

/* Set the URL at which hubs on this machine reach us: "http://127.0.0.1:8080". Call it before
 * fetcher_start(). */
void fetcher_set_local_url(struct fetcher *f, struct str url);

/* Handle a hub's GET at a callback. VERDICT_PENDING: `done` gets the verdict when it is on disk.
 * VERDICT_TAKEN: the caller must echo the challenge. */
enum upstream_verdict fetcher_upstream_verify(struct fetcher *f,
                                              const struct upstream_verification *v,
                                              upstream_done_fn *done, void *ctx);

/* Handle a hub's POST at a callback. VERDICT_PENDING: `done` gets the verdict when the entries are
 * on disk, or when it is known that there are no entries to take. */
enum upstream_verdict fetcher_upstream_deliver(struct fetcher *f, const struct upstream_delivery *d,
                                               upstream_done_fn *done, void *ctx);

/* Handle a cloud's call of our handler: a challenge or test (VERDICT_TAKEN: the caller answers as
 * the cloud expects), or a notification. A notification is a ping and nothing more.
 * VERDICT_PENDING: `done` gets the verdict when the ping is on disk. */
enum upstream_verdict fetcher_upstream_notify(struct fetcher *f,
                                              const struct upstream_notification *n,
                                              upstream_done_fn *done, void *ctx);

/* Replace what a reload may change (periods, ping servers, limits). */
void fetcher_reload(struct fetcher *f, const struct fetcher_cfg *cfg);

/* ---- for tests with a clock that jumps (server/test_clock.h). Any thread ---- */

/* The clock has jumped: begin at once what is due now. */
void fetcher_clock_jumped(struct fetcher *f);

/* Is all done that is due? Then *next_at is when the fetcher begins something by itself: Unix
 * seconds, within a day. What waits for a host's pause is not due. */
bool fetcher_rests(struct fetcher *f, int64_t *next_at);

/* fetcher/fetcher.h - everything that brings feeds in: sweeper, monitor, work queue, fetch loop,
 * parse workers.
 *
 * A feed has one slot in the work queue however many reasons ask for it: idle, queued, in flight,
 * or in flight and dirty again. Public calls: any thread.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "model/feed.h"
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
    int catch_up;           /* documents of a feed's past that are read after one fetch of it */
    int content_rate;       /* contents of records a minute and host; 0: none are fetched */
    bool announced_only;    /* a page's site is not searched for feeds it does not announce */
    int64_t level_period_s[3];
    int64_t backoff_max_s; /* <= 1 day */
    int64_t hub_backup_s;  /* longest period of polls while a hub tells of updates */
    struct str base_url;   /* our public origin, for hubs; empty: only local ones reach us */
    int64_t unused_s;      /* unsubscribed feeds nobody asked for are not swept after it */
    int64_t ping_gap_ms;   /* pings of one feed within it are one */
    const struct str *ping_servers; /* URLs of changes.xml files */
    size_t n_ping_servers;
    int64_t monitor_period_s;
};

struct fetcher *fetcher_new(const struct fetcher_cfg *cfg);

/* Start threads; load what is due. RC_IO when the store cannot be read. */
enum rc fetcher_start(struct fetcher *f, struct err *err) NODISCARD;

/* Start no more, let transfers end until the deadline, hand what came in to the storer, join. */
void fetcher_stop(struct fetcher *f, int64_t ms);

/* After store_close(): the store's last commit notices still come here. */
void fetcher_free(struct fetcher **fp);

/* Ask for a fetch of a feed soon. */
void fetcher_want(struct fetcher *f, int64_t feed_id, enum fetch_reason reason);

/* What a fetch came to, for those who wait. */
struct fetch_result {
    enum rc rc;      /* RC_OK: the store holds the present document; RC_UNSUPPORTED: a page
                        without a feed, or no feed; RC_PEER, RC_TIMEOUT, RC_DENIED, RC_LIMIT */
    int64_t feed_id; /* the record after discovery and redirects */
    int status;      /* upstream's, 0: none */
    struct str url;  /* public form of what was asked */
    struct str text; /* why it failed */
};
typedef void fetch_done_fn(void *ctx, const struct fetch_result *res);

/* Ask, and be told when the next fetch of the feed (one that starts now or is in flight) has been
 * committed. `done` runs once, on some thread of the fetcher or the storer: be quick, post on. */
void fetcher_await(struct fetcher *f, int64_t feed_id, enum fetch_reason reason,
                   fetch_done_fn *done, void *ctx);

/* Fetch a document that is not stored (an OPML list). `done` as above, once. */
struct document_result {
    enum rc rc;
    int status;
    struct str body, content_type, text;
    struct str url; /* where it was in the end; null when it did not come */
};
typedef void document_done_fn(void *ctx, const struct document_result *res);
void fetcher_get(struct fetcher *f, struct str url, struct str credential, document_done_fn *done,
                 void *ctx);

/* A ping named this site or feed (canonical URLs; rss_url may be null): fetch the feeds that are
 * known by them. *n: how many. When there are any, `done` (may be NULL) runs once, on the storer's
 * thread, when the database knows: from then on the fetch survives kill -9. RC_FULL or RC_CLOSED:
 * refused, `done` does not run. */
enum rc fetcher_ping(struct fetcher *f, struct str url, struct str rss_url, size_t *n,
                     store_done_fn *done, void *ctx) NODISCARD;

/* ---- hubs of publishers (WebSub). Any thread ---- */

/* Where hubs on this machine reach us: "http://127.0.0.1:8080". Before fetcher_start(). */
void fetcher_set_local_url(struct fetcher *f, struct str url);

/* The HTTP status that a hub is to be answered with. Runs once, on some thread: be quick, post on.
 */
typedef void hub_done_fn(void *ctx, int status);

/* A hub's GET at a callback (WebSub §5.3, §5.2). Strings may be null; borrowed for the call. */
struct hub_verification {
    struct str token, mode, topic, lease, reason;
};

/* The status, or 0: `done` gives it when the answer is on disk. 200: echo the challenge. */
int fetcher_hub_verify(struct fetcher *f, const struct hub_verification *v, hub_done_fn *done,
                       void *ctx);

/* A hub's POST at a callback (WebSub §7). Null where a field is absent; borrowed for the call. */
struct hub_delivery {
    struct str token, signature;
    struct str content_type, content_coding, content_language, content_location;
    struct str body; /* as it was sent and signed */
};

/* The status, or 0: `done` gives it when the entries are on disk, or it is known that there are
 * none to take. */
int fetcher_hub_deliver(struct fetcher *f, const struct hub_delivery *d, hub_done_fn *done,
                        void *ctx);

/* Replace what a reload may change (periods, ping servers, limits). */
void fetcher_reload(struct fetcher *f, const struct fetcher_cfg *cfg);

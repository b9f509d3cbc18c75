/* api/http/config.h - the options of the API, and its ports: functions of other parts that it
 * calls.
 *
 * server/daemon.c sets both. A reload replaces the options as a whole (context.h).
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "model/levels.h"
#include "model/ports.h"
#include "storage/store.h"

struct component; /* net/component.h */
struct guard;     /* net/guard.h */
struct line_file; /* base/line_file.h */

struct api_ports {
    void *ctx;
    void (*await_feed)(void *ctx, int64_t feed_id, fetch_done_fn *done, void *done_ctx);
    void (*get_document)(void *ctx, struct str url, struct str credential, document_done_fn *done,
                         void *done_ctx);
    enum rc (*ping)(void *ctx, struct str url, struct str rss_url, size_t *n, store_done_fn *done,
                    void *done_ctx); /* as fetcher_ping() */
    /* The hub of a publisher has called us. They return the verdict. VERDICT_PENDING: `done` gets
     * it later, once. */
    enum upstream_verdict (*upstream_verify)(void *ctx, const struct upstream_verification *v,
                                             upstream_done_fn *done, void *done_ctx);
    enum upstream_verdict (*upstream_deliver)(void *ctx, const struct upstream_delivery *delivery,
                                              upstream_done_fn *done, void *done_ctx);
    /* the cloud of a publisher, in the same way */
    enum upstream_verdict (*upstream_notify)(void *ctx, const struct upstream_notification *n,
                                             upstream_done_fn *done, void *done_ctx);
    enum rc (*test_push)(void *ctx, int64_t sub_id, push_test_done_fn *done,
                         void *done_ctx);                 /* as notifier_test() */
    int64_t (*push_held)(void *ctx, struct str endpoint); /* as notifier_held() */
    void (*mirror_used)(void *ctx, struct str sha256, bool is_lost); /* as mirror_used() */
};

struct api_cfg {
    struct store *store; /* borrowed */
    struct api_ports ports;
    const struct guard *fetch_guard; /* borrowed, fixed at the start: what the fetcher may contact */
    struct str base_url;           /* public origin for links; null: taken from Host */
    const struct str *allow_hosts; /* other names of this server, for requests without a token */
    size_t n_allow_hosts;
    struct str cors_origin; /* Access-Control-Allow-Origin; null: none */
    struct str token;       /* of an admin, beside those in the database. SECRET */
    struct str anonymous;   /* the role of callers without a token: none, read or subscribe; null:
                               subscribe, if there are no tokens and the server is not exposed */
    bool is_exposed;        /* other machines can reach it */
    const struct str *xmpp_allow; /* JIDs and domains that may ask by XMPP; none: all, or with a
                                     token nobody */
    size_t n_xmpp_allow;
    struct line_file *access_log; /* borrowed, fixed at the start; NULL: none */
    struct component *component; /* borrowed, fixed at the start; NULL: no XMPP */
    bool rpc_validator;          /* offer the validator1 methods at /RPC2 */
    struct str mirror_dir;       /* where mirrored files are; null: nothing is mirrored */
    struct str demo_dir;         /* served at /demo/; null: no such path */
    int64_t fetch_wait_ms;       /* how long a first request may wait for publishers */
    struct levels levels;
    int ping_rate, ping_burst; /* pings of one source address: per second, and at once */
    int64_t unknown_rate;      /* first fetches a minute for all callers together; 0: no bound */
    int64_t list_ttl_s;        /* how long an OPML list is kept */
    size_t archive_size;       /* entries of an archive document */
    int64_t push_entries;      /* entries in one delivery, unless the subscription says otherwise */
    int64_t min_period_s;      /* the shortest period that `freq` may ask for (10) */
    int64_t event_beat_ms; /* how often a stream of /events gets a comment; fixed at the start */
    bool hub; /* offer a WebSub hub; the next three are lengths of its leases in seconds */
    int64_t lease_default_s, lease_min_s, lease_max_s;
    bool cloud; /* offer an rssCloud; the next one is the length of its registrations */
    int64_t cloud_lease_s;
};

/* api/api.h - the HTTP interface: one route table, one file a resource.
 *
 * Handlers run on the http loops and never wait: what needs a fetch or a query is held and answered
 * when it comes (net/http_server.h). The API knows neither fetcher nor notifier: server/ wires them
 * through the ports below.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "net/http_server.h"
#include "storage/store.h"

struct api;

/* What a fetch came to (as fetcher/fetcher.h has it). */
struct api_fetched {
    enum rc rc;
    int64_t feed_id;
    int status;
    struct str url, text;
};
typedef void api_fetched_fn(void *ctx, const struct api_fetched *res);
struct api_document {
    enum rc rc;
    int status;
    struct str body, content_type, text;
    struct str url; /* where it was in the end, for references in it; null: as asked */
};
typedef void api_document_fn(void *ctx, const struct api_document *res);

/* What a hub asks of a callback of ours (as fetcher/fetcher.h has it). Null: absent. */
struct api_hub_call {
    bool is_delivery;
    struct str token;
    struct str mode, topic, lease, reason; /* else */
    struct str signature, content_type, content_coding, content_language, content_location, body;
};
typedef void api_hub_fn(void *ctx, int status);

struct api_ports {
    void *ctx;
    void (*await_feed)(void *ctx, int64_t feed_id, api_fetched_fn *done, void *done_ctx);
    void (*get_document)(void *ctx, struct str url, struct str credential, api_document_fn *done,
                         void *done_ctx);
    enum rc (*ping)(void *ctx, struct str url, struct str rss_url, size_t *n, store_done_fn *done,
                    void *done_ctx); /* as fetcher_ping() */
    /* The HTTP status to answer with, or 0: `done` says it, once, on any thread. */
    int (*hub_call)(void *ctx, const struct api_hub_call *call, api_hub_fn *done, void *done_ctx);
};

/* A document for a WebSub subscriber (as notifier/sink.h has it). */
struct api_delivery {
    const char *media_type;
    struct str self, hub;
    size_t n_entries;
    int64_t position;
    bool is_last;
};

struct api_cfg {
    struct store *store; /* borrowed */
    struct api_ports ports;
    struct str base_url;           /* public origin for links; null: taken from Host */
    const struct str *allow_hosts; /* further names of this server, for requests without a token */
    size_t n_allow_hosts;
    struct str cors_origin; /* Access-Control-Allow-Origin; null: none */
    struct str token;       /* when set, requests need it (Bearer, or Basic password). SECRET */
    bool rpc_validator;     /* offer the validator1 methods at /RPC2 */
    struct str demo_dir;    /* served at /demo/; null: no such path */
    int64_t fetch_wait_ms;  /* how long a first request may wait for publishers */
    int64_t level_period_s[3];
    int ping_rate, ping_burst; /* per source address: per second, at once */
    int64_t list_ttl_s;        /* how long an OPML list is kept */
    size_t archive_size;       /* entries of an archive document */
    int64_t min_period_s;      /* least freq in seconds (10) */
    bool hub;                  /* offer a WebSub hub; the next three are its leases, in seconds */
    int64_t lease_default_s, lease_min_s, lease_max_s;
};

/* Make it, before the first write to the store: it becomes a listener of commits. The configuration
 * is copied. */
struct api *api_new(const struct api_cfg *cfg);

/* Let nobody wait for news any more: who does is answered with nothing new. Any thread. */
void api_stop(struct api *a);

/* Free it. Requests are answered from other threads, so the order of a stop is: api_stop(),
 * http_server_stop(), then whatever is behind the ports, then store_close(), then
 * http_server_free(), then this. */
void api_free(struct api **ap);

/* The handler for http_server_new(); ctx is the struct api. */
void api_handle(void *ctx, struct http_request *req);

/* Draw the document of a topic for who has everything up to `after_seq`. RC_OK without entries:
 * there is nothing new. RC_NOT_FOUND: the topic is gone. RC_LIMIT: over the body's maximum. Strings
 * in the arena. Reader threads. */
enum rc api_draw_topic(struct api *a, struct reader *r, struct str url, int64_t after_seq,
                       size_t max_entries, struct arena *arena, struct buf *body,
                       struct api_delivery *out, struct err *err) NODISCARD;

/* Replace what a reload may change: all but store and ports. Any thread. */
void api_reload(struct api *a, const struct api_cfg *cfg);

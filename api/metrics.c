/* api/metrics.c - GET /metrics: all metrics in the text format of Prometheus; GET /healthz. */
#include "api/http/handlers.h"

#include "api/http/reply.h"
#include "api/views/log_wait.h"
#include "base/metrics.h"
#include "base/stats.h"
#include "model/media_types.h"
#include "storage/nodes.h"

void metrics_get(struct request *req)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct store *store = req->ask.api->store;
    struct nodes_status nodes;

    /* gauges that are set only when they are requested */
    stats_set(STAT_log_seq, store_last_seq(store));
    nodes_status(store_nodes(store), &nodes);
    stats_set(STAT_node_slots, (int64_t)nodes.n_slots);
    stats_set(STAT_node_lease_left_seconds, nodes.lease_left_ms);
    stats_set(STAT_log_waiters, (int64_t)log_waiters_count(req->ask.api->waiters));
    metrics_write(&out);
    reply_buf(req, 200, "text/plain; version=0.0.4; charset=utf-8", &out, STR_NULL);
    store_measure(store); /* for the next time */
}

/* A database that is away comes back by itself: nothing is gained by a restart of the daemon. */
void healthz_get(struct request *req)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    enum rc rc = store_health(req->ask.api->store, NULL);
    struct problem p;

    if (rc != RC_OK && rc != RC_AGAIN) {
        problem_of_err(&p, req->ask.arena, rc, NULL);
        reply_problem(req, &p);
        return;
    }
    buf_puts(&out, "{\"status\":\"ok\"}\n");
    reply_buf(req, 200, MEDIA_JSON, &out, STR_NULL);
}

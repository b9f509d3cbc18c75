/* api/metrics.c - GET /metrics: base/stats.def in the text format of Prometheus; GET /healthz. */
#include "api/resources.h"

#include "api/log_wait.h"
#include "api/reply.h"
#include "base/stats.h"

void metrics_get(struct call *c)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    for (int i = 0; i < STAT_COUNT_; i++) {
        enum stat_id stat = (enum stat_id)i;
        const char *name = stats_name(stat);

        buf_printf(&out, "# HELP feedmill_%s %s\n# TYPE feedmill_%s %s\nfeedmill_%s %lld\n", name,
                   stats_meaning(stat), name,
                   stats_kind(stat) == STAT_KIND_GAUGE ? "gauge" : "counter", name,
                   (long long)stats_get(stat));
    }
    buf_printf(&out,
               "# HELP feedmill_log_seq the last seq of the log\n# TYPE feedmill_log_seq gauge\n"
               "feedmill_log_seq %lld\n",
               (long long)store_last_seq(c->api->store));
    buf_printf(&out,
               "# HELP feedmill_log_waiters requests waiting for new revisions\n"
               "# TYPE feedmill_log_waiters gauge\nfeedmill_log_waiters %zu\n",
               log_waiters_count(c->api->waiters));
    reply_buf(c, 200, "text/plain; version=0.0.4; charset=utf-8", &out, STR_NULL);
}

void healthz_get(struct call *c)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    buf_puts(&out, "{\"status\":\"ok\"}\n");
    reply_buf(c, 200, "application/json", &out, STR_NULL);
}

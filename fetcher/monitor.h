/* fetcher/monitor.h - watches the change logs (changes.xml) of ping servers.
 *
 * The monitor has its own thread, loop and HTTP client. Once in each period it fetches every log
 * with a conditional request. It passes on each change of a known site or feed once. Its memory
 * grows with the number of known feeds, not with the number of rows that a server lists.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "net/guard.h"

struct monitor;

/* Takes one row of a change log. Both URLs are canonical, and either may be null. Returns the
 * number of known feeds that the row names. Called on the monitor's thread. */
typedef size_t monitor_change_fn(void *ctx, struct str url, struct str rss_url);

/* Returns a number that changes whenever new feeds become known. After such a change the monitor
 * reads a log again even if the log is unchanged, because it may name one of the new feeds. Called
 * on the monitor's thread. */
typedef int64_t monitor_known_fn(void *ctx);

struct monitor_cfg {
    struct guard *guard;       /* borrowed */
    const char *user_agent;    /* complete; borrowed */
    const struct str *servers; /* URLs; copied */
    size_t n_servers;
    int64_t period_s;
    int64_t timeout_ms;
    size_t max_body;
    monitor_change_fn *change; /* fetches the feeds that the row names, if they are known */
    monitor_known_fn *known;
    bool (*may_ask)(void *ctx); /* of several nodes, one asks the servers */
    void *ctx;
};

/* Starts the thread and asks each server at once. */
struct monitor *monitor_new(const struct monitor_cfg *cfg);

/* Take over new servers and a new period. The monitor keeps what it remembers of servers that are
 * still in the list. */
void monitor_reload(struct monitor *m, const struct monitor_cfg *cfg);

/* Cancels the running calls and ends the thread. */
void monitor_free(struct monitor **mp);

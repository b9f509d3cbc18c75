/* fetcher/monitor.h - watches the change logs (changes.xml) of ping servers.
 *
 * A thread with a loop and an HTTP client of its own: the logs are asked conditionally once a
 * period, and each change of a known site or feed is passed on once. What is remembered grows with
 * the known feeds only, not with what a server lists.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "net/guard.h"

struct monitor;

/* A row of a change log, in canonical URLs (either may be null). Returns how many known feeds it
 * names. Called on the monitor's thread. */
typedef size_t monitor_change_fn(void *ctx, struct str url, struct str rss_url);

/* A number that is another whenever feeds became known: then an unchanged log may name one of them,
 * and is read once more. Called on the monitor's thread. */
typedef int64_t monitor_known_fn(void *ctx);

struct monitor_cfg {
    struct guard *guard;       /* borrowed */
    const char *user_agent;    /* complete; borrowed */
    const struct str *servers; /* URLs; copied */
    size_t n_servers;
    int64_t period_s;
    int64_t timeout_ms;
    size_t max_body;
    monitor_change_fn *change; /* is this known to anyone? and if so, fetch it */
    monitor_known_fn *known;
    void *ctx;
};

/* Starts the thread and asks each server at once. */
struct monitor *monitor_new(const struct monitor_cfg *cfg);

/* Other servers, or another period; what is remembered of servers that stay is kept. */
void monitor_reload(struct monitor *m, const struct monitor_cfg *cfg);

/* Cancels what runs, ends the thread. */
void monitor_free(struct monitor **mp);
